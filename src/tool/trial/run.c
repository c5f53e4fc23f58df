#include "src/tool/trial/run.h"

#include <inttypes.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/base/host.h"
#include "src/tool/timing/bandwidth.h"

/* Elements that any message costs as much as: a few tensors of a network are large, most are small. */
#define SMALL_WORK 32768.0

struct run {
    const struct gcb_run_config *config;
    const struct gcb_run_observer *observer;
    struct gcb_run_result *result;
    struct gcb_trial_bench bench;
    struct gcb_nonfinite_scan scan;
    float *input;      /* the message at hand */
    double work, done; /* elements read or tried: what the bar shows */
};

static bool stopped(const struct run *r)
{
    return r->observer->stop && r->observer->stop(r->observer->ctx);
}

static void advance(struct run *r, double weight)
{
    r->done += weight;
    if (r->observer->progress && r->work > 0.0)
        r->observer->progress(r->observer->ctx, r->done / r->work);
}

static bool scanned(void *ctx, uint64_t elements)
{
    struct run *r = ctx;

    advance(r, (double)elements);
    r->result->interrupted = stopped(r);
    return !r->result->interrupted;
}

static bool needs_scan(const struct run *r)
{
    return r->config->nonfinite == GCB_POLICY_ERROR || r->config->nonfinite == GCB_POLICY_SKIP;
}

double gcb_run_weight(const struct gcb_message_plan *plan)
{
    return (double)plan->count + SMALL_WORK;
}

/* Reading counts by elements alone. */
static void plan_work(struct run *r)
{
    const struct gcb_layout *layout = r->config->layout;
    const double methods = (double)r->config->method_count;

    for (size_t i = 0; i < layout->count; i++) {
        r->work += methods * gcb_run_weight(&layout->messages[i]);
        r->work += needs_scan(r) ? (double)layout->messages[i].count : 0.0;
    }
}

static int judge_scan(struct run *r, struct gcb_diag *diag)
{
    const struct gcb_nonfinite_scan *s = &r->scan;

    r->result->skipped_steps = s->step_count;
    if (r->config->nonfinite == GCB_POLICY_SKIP || s->tensors == 0)
        return 0;
    return gcb_diag_set(diag, GCB_E_NONFINITE,
                        "%" PRIu64 " %s infinities or NaNs: %s; see --nonfinite", s->tensors,
                        s->tensors == 1 ? "tensor holds" : "tensors hold", s->text);
}

static int scan(struct run *r, struct gcb_diag *diag)
{
    const struct gcb_nonfinite_watch watch = {.progress = scanned, .ctx = r};
    int err;

    if (!needs_scan(r))
        return 0;
    err = gcb_nonfinite_scan(&r->scan, r->config->source, r->input, r->config->trial.kernels,
                             &watch, diag);
    return err || r->result->interrupted ? err : judge_scan(r, diag);
}

uint64_t gcb_run_bandwidth_bytes(const struct gcb_layout *layout)
{
    const uint64_t least = UINT64_C(32) << 20, most = gcb_bandwidth_default_bytes();
    const uint64_t wanted = layout->largest > most / 16 ? most : layout->largest * 16;

    return wanted < least ? least : wanted;
}

bool gcb_run_in_cache(const struct gcb_layout *layout, uint64_t bandwidth_bytes)
{
    const uint64_t cache = gcb_host_cache();

    return layout->largest <= cache / 12 && layout->largest <= bandwidth_bytes / 24;
}

/* Reads a message and sees to its infinities and NaNs. */
static int take_input(struct run *r, const struct gcb_message_plan *plan,
                      struct gcb_trial_input *in, struct gcb_diag *diag)
{
    const struct gcb_run_config *c = r->config;
    int err = gcb_layout_read(c->source, plan, r->input, diag);

    if (err)
        return err;
    in->nonfinite = gcb_nonfinite_count(r->input, plan->count, c->trial.kernels);
    in->raw = in->nonfinite && c->nonfinite == GCB_POLICY_RAW;
    if (in->nonfinite && needs_scan(r))
        return gcb_diag_set(diag, GCB_E_IO, "the file changed while it was read");
    if (in->nonfinite && c->nonfinite == GCB_POLICY_ZERO) {
        gcb_nonfinite_zero(r->input, plan->count);
        r->result->zeroed += in->nonfinite;
    }
    return 0;
}

static int add_total(struct run *r, const struct gcb_run_trial *t, struct gcb_diag *diag)
{
    struct gcb_run_total *total = &r->result->totals[t->method];

    gcb_tally_merge(&total->tally, &t->tally);
    if (gcb_sample_sums_add(&total->encode, t->encode) ||
        gcb_sample_sums_add(&total->decode, t->decode))
        return gcb_diag_nomem(diag, 0, "timings");
    return 0;
}

/* What a trial left behind: of memcpy, its own. */
static void take_trial(struct run *r, struct gcb_run_trial *t)
{
    const bool copy = r->config->methods[t->method].codec == gcb_copy_method.codec;

    t->encode = copy ? &r->bench.copy.encode : &r->bench.encode;
    t->decode = copy ? &r->bench.copy.decode : &r->bench.decode;
    t->decoded = copy ? r->bench.copy.back : r->bench.decoded;
}

/* A failure with its method and message: the run's end, or the method's alone. */
static int fail(struct run *r, int err, const struct gcb_run_trial *t, struct gcb_diag *diag)
{
    const struct gcb_run_config *c = r->config;
    struct gcb_diag *failure = &r->result->totals[t->method].failure;

    gcb_plan_explain(err, c->methods[t->method].name, t->plan, c->source, diag);
    if (!c->carry_on)
        return err;
    *failure = diag ? *diag : (struct gcb_diag){0};
    failure->status = err;
    return 0;
}

static int run_method(struct run *r, struct gcb_run_trial *t, const struct gcb_trial_input *in,
                      struct gcb_diag *diag)
{
    const struct gcb_run_config *c = r->config;
    const double weight = gcb_run_weight(t->plan);
    int err;

    if (c->budget) /* encode and decode each get half */
        r->bench.config.timing.max_time = gcb_budget_take(c->budget, weight) / 2.0;
    advance(r, weight);
    if (r->result->totals[t->method].failure.status)
        return 0;
    err = gcb_trial_run(&r->bench, &t->tally, &c->methods[t->method], in, diag);
    if (err)
        return fail(r, err, t, diag);
    take_trial(r, t);
    err = add_total(r, t, diag);
    if (!err)
        err = r->observer->trial(r->observer->ctx, t, diag);
    if (!err && c->keep && t->method == 0)
        err = gcb_container_put(c->keep, c->source, t->plan, r->bench.message.data,
                                r->bench.message.len, diag);
    return err;
}

static int run_message(struct run *r, const struct gcb_message_plan *plan, struct gcb_diag *diag)
{
    const struct gcb_run_config *c = r->config;
    char name[40];
    struct gcb_run_trial t = {
        .plan = plan,
        .first = gcb_source_tensor(c->source, plan->pieces[0].tensor),
        .name = gcb_plan_name(name, plan, c->source),
        .input = r->input,
    };
    struct gcb_trial_input in = {.plan = plan, .data = r->input};
    int err = take_input(r, plan, &in, diag);

    gcb_plan_env(&in.env, name, c->source, plan, &c->output_layers);
    for (t.method = 0; !err && t.method < c->method_count && !stopped(r); t.method++)
        err = run_method(r, &t, &in, diag);
    return err;
}

static int run_messages(struct run *r, struct gcb_diag *diag)
{
    const struct gcb_layout *layout = r->config->layout;
    int err = 0;

    for (size_t i = 0; !err && i < layout->count && !r->result->interrupted; i++) {
        if (gcb_nonfinite_has_step(&r->scan, layout->messages[i].step)) {
            r->result->skipped_messages++;
            continue;
        }
        err = run_message(r, &layout->messages[i], diag);
        r->result->interrupted = stopped(r);
    }
    if (!err && r->result->skipped_messages == layout->count)
        err = gcb_diag_set(diag, GCB_E_NONFINITE, "every step holds infinities or NaNs: %s",
                           r->scan.text);
    return err;
}

/* Methods whose parameters do not go together fail before anything is read. */
static void check_methods(struct run *r)
{
    const struct gcb_run_config *c = r->config;

    for (size_t i = 0; c->carry_on && i < c->method_count; i++) {
        struct gcb_diag *failure = &r->result->totals[i].failure;

        if (gcb_method_check(&c->methods[i], failure))
            failure->status = GCB_E_UNSUPPORTED;
    }
}

static int take_totals(struct gcb_run_result *out, size_t count, struct gcb_diag *diag)
{
    out->method_count = count;
    out->totals = gcb_alloc_zero(count, sizeof(*out->totals));
    return out->totals ? 0 : gcb_diag_nomem(diag, count * sizeof(*out->totals), "totals");
}

static int start(struct run *r, struct gcb_diag *diag)
{
    const struct gcb_run_config *c = r->config;
    const uint64_t largest = c->layout->largest ? c->layout->largest : 1;
    struct gcb_trial_config trial = c->trial;
    const int err = take_totals(r->result, c->method_count, diag);

    if (err)
        return err;
    trial.timing.stop = r->observer->stop;
    trial.timing.stop_ctx = r->observer->ctx;
    plan_work(r);
    check_methods(r);
    r->input = gcb_alloc_array(largest, sizeof(*r->input));
    if (!r->input)
        return gcb_diag_nomem(diag, largest * sizeof(*r->input), "the largest message");
    return gcb_trial_bench_init(&r->bench, &trial, c->layout->largest, diag);
}

int gcb_run(struct gcb_run_result *out, const struct gcb_run_config *config,
            const struct gcb_run_observer *observer, struct gcb_diag *diag)
{
    struct run r = {.config = config, .observer = observer, .result = out};
    int err;

    memset(out, 0, sizeof(*out));
    err = start(&r, diag);
    if (err)
        goto out;
    err = scan(&r, diag);
    if (err || out->interrupted)
        goto out;
    err = run_messages(&r, diag);
out:
    gcb_trial_bench_fini(&r.bench);
    gcb_nonfinite_scan_fini(&r.scan);
    gcb_free(r.input);
    return err;
}

int gcb_run_none(struct gcb_run_result *out, const struct gcb_run_config *config,
                 const struct gcb_diag *why, struct gcb_diag *diag)
{
    int err;

    memset(out, 0, sizeof(*out));
    err = take_totals(out, config->method_count, diag);
    for (size_t i = 0; !err && i < config->method_count; i++)
        if (config->methods[i].codec != gcb_copy_method.codec || config->trial.copy)
            out->totals[i].failure = *why;
    return err;
}

bool gcb_run_unsupported(const struct gcb_run_total *total)
{
    return total->failure.status == GCB_E_UNSUPPORTED || total->failure.status == GCB_E_BACKEND;
}

void gcb_run_result_fini(struct gcb_run_result *r)
{
    for (size_t i = 0; r->totals && i < r->method_count; i++) {
        gcb_sample_sums_fini(&r->totals[i].encode);
        gcb_sample_sums_fini(&r->totals[i].decode);
    }
    gcb_free(r->totals);
    memset(r, 0, sizeof(*r));
}
