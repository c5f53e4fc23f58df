#include "src/tool/run/run.h"

#include <inttypes.h>
#include <string.h>

#include "src/tool/base/host.h"
#include "src/tool/base/memory.h"
#include "src/tool/measure/bandwidth.h"

/* The overhead of a message, as a number of elements. Most tensors of a network are small, so the
 * overhead matters. */
#define OVERHEAD 32768.0

/* Most elements of a window on an input that is read again: 4 MiB. */
#define WINDOW (UINT64_C(256) * GCB_SUM_BLOCK)

/* A number of elements, rounded up so that the next message begins on a cache line. */
#define ALIGNED(elements) (((elements) + 15) / 16 * 16)

/* Messages that are in memory together: several small messages of one step and worker, or a single
 * message of any size. */
struct span {
    size_t count;
    struct gcb_trial_input in[GCB_TRIAL_GROUP];
};

struct run {
    const struct gcb_run_config *config;
    const struct gcb_run_observer *observer;
    struct gcb_run_result *result;
    struct gcb_trial_bench bench;
    struct gcb_nonfinite_scan scan;
    bool *to_scan;                /* of a shard: the tensors to scan; NULL: all */
    float *input;                 /* elements of the current span, or of a tensor to scan */
    struct gcb_original original; /* for messages that are decoded in place */
    bool spent; /* the current message was decoded in place, so its input must be read again */
    double scan_work;          /* elements to scan */
    double work;               /* for progress: scan_work and the weights of all trials */
    double done;               /* the part of `work` that is done */
    struct gcb_budget own;     /* used if config->seconds is set */
    struct gcb_budget *budget; /* points to config->budget or `own`; NULL: no limit on time */
    struct span *span;
    size_t method; /* index of the current method */
    size_t from;   /* index in the span of the first message of the current group */
    int observed;  /* error of the observer or of config->keep, not of the method */
};

/* Counts `weight` of the work as done, and reports the progress. */
static void advance(struct run *r, double weight)
{
    r->done += weight;
    if (r->work > 0.0)
        gcb_watch_show(&r->observer->watch, r->done / r->work);
}

/* True if the run must know all infinities and NaNs before the first trial. */
static bool needs_scan(const struct run *r)
{
    return r->config->nonfinite == GCB_POLICY_SKIP;
}

double gcb_run_weight(const struct gcb_message_plan *plan)
{
    return (double)plan->count + OVERHEAD;
}

/* Sums the work of the scan and of all trials. The scan has no overhead for each message. */
static void plan_work(struct run *r)
{
    const struct gcb_layout *layout = r->config->layout;
    const double methods = (double)r->config->method_count;

    for (size_t i = 0; needs_scan(r) && i < gcb_source_count(r->config->source); i++)
        if (!r->to_scan || r->to_scan[i])
            r->scan_work += (double)gcb_source_tensor(r->config->source, i)->count;
    r->work = r->scan_work;
    for (size_t i = 0; i < layout->count; i++)
        r->work += methods * gcb_run_weight(&layout->messages[i]);
}

/* Marks the tensors of a step as tensors to scan. Begins at tensor `next` of the source, which
 * lists tensors by step. Returns the first tensor of a later step. */
static size_t mark_step(struct run *r, size_t next, uint64_t step)
{
    const struct gcb_source *source = r->config->source;

    for (; next < gcb_source_count(source) && gcb_source_tensor(source, next)->step <= step; next++)
        if (gcb_source_tensor(source, next)->step == step)
            r->to_scan[next] = true;
    return next;
}

/* Chooses the tensors that a shard scans: the shard's own tensors, and with GCB_POLICY_SKIP all
 * tensors of the shard's steps, because an infinity in any tensor of a step skips the step. Raises
 * *largest to the number of elements of the largest tensor to scan. */
static void choose_tensors_to_scan(struct run *r, uint64_t *largest)
{
    const struct gcb_run_config *c = r->config;
    const size_t count = gcb_source_count(c->source);
    size_t next = 0; /* the first tensor whose step was not marked yet */

    if (!c->sharded)
        return;
    r->to_scan = gcb_must_zero(count, sizeof(*r->to_scan));
    for (size_t i = 0; i < c->layout->count; i++) {
        const struct gcb_message_plan *m = &c->layout->messages[i];

        for (size_t k = 0; k < m->piece_count; k++)
            r->to_scan[m->pieces[k].tensor] = true;
        if (c->nonfinite == GCB_POLICY_SKIP)
            next = mark_step(r, next, m->step);
    }
    for (size_t i = 0; i < count; i++)
        if (r->to_scan[i] && gcb_source_tensor(c->source, i)->count > *largest)
            *largest = gcb_source_tensor(c->source, i)->count;
}

/* Finds the steps to skip, if the policy is to skip steps. */
static int scan(struct run *r, struct gcb_diag *diag)
{
    const struct gcb_watch watch =
        gcb_watch_part(&r->observer->watch, 0.0, r->work > 0.0 ? r->scan_work / r->work : 0.0);
    int err;

    if (!needs_scan(r))
        return 0;
    err = gcb_nonfinite_scan(&r->scan, r->config->source, r->to_scan, r->input,
                             r->config->trial.compute.kernels, &watch, diag);
    r->result->skipped_steps = r->scan.step_count;
    r->result->interrupted = r->scan.stopped;
    r->done = r->scan_work;
    return err;
}

/* Returns the error of a run that must end because a message has infinities or NaNs. The text
 * counts the tensors that have them and names the first few. */
static int refuse(struct run *r, struct gcb_diag *diag)
{
    const struct gcb_watch nobody = {.stop = NULL};
    int err = gcb_nonfinite_scan(&r->scan, r->config->source, r->to_scan, r->input,
                                 r->config->trial.compute.kernels, &nobody, diag);

    if (!err)
        err = gcb_nonfinite_refuse(&r->scan, diag);
    return err ? err : gcb_diag_set(diag, GCB_E_IO, "the file changed while it was read");
}

uint64_t gcb_run_bandwidth_bytes(const struct gcb_layout *layout)
{
    const uint64_t least = UINT64_C(32) << 20, most = gcb_bandwidth_default_bytes();
    const uint64_t wanted = layout->largest <= most / 16 ? layout->largest * 16 : most;

    return wanted < least ? least : wanted;
}

bool gcb_run_in_cache(const struct gcb_layout *layout, uint64_t bandwidth_bytes)
{
    return layout->largest <= gcb_host_cache() / 12 &&
           layout->largest <= bandwidth_bytes / (2 * 12);
}

/* True if this message is decoded into the memory of its input. */
static bool is_in_place(const struct gcb_run_config *c, const struct gcb_message_plan *plan)
{
    return c->in_place && plan->count >= c->in_place && !c->trial.compute.device &&
           !c->trial.copy && gcb_original_possible(c->source, plan);
}

/* Reads a message into `data`, applies the policy for infinities and NaNs, and sets all members of
 * *in except `plan` and `env`. */
static int take_input(struct run *r, float *data, struct gcb_trial_input *in, struct gcb_diag *diag)
{
    const struct gcb_run_config *c = r->config;
    const struct gcb_message_plan *plan = in->plan;
    int err = gcb_layout_read(c->source, plan, data, diag);

    if (err)
        return err;
    in->data = data;
    if (is_in_place(r->config, plan)) {
        r->original.plan = plan;
        in->original = &r->original;
    }
    r->spent = false;
    in->nonfinite = gcb_nonfinite_count(data, plan->count, c->trial.compute.kernels);
    in->raw = in->nonfinite && c->nonfinite == GCB_POLICY_RAW;
    if (in->nonfinite && c->nonfinite == GCB_POLICY_ERROR)
        return refuse(r, diag);
    if (in->nonfinite && needs_scan(r))
        return gcb_diag_set(diag, GCB_E_IO, "the file changed while it was read");
    if (in->nonfinite && c->nonfinite == GCB_POLICY_ZERO) {
        gcb_nonfinite_zero(data, plan->count);
        r->result->zeroed += in->nonfinite;
    }
    return 0;
}

void gcb_run_total_add(struct gcb_run_total *total, const struct gcb_run_trial *t)
{
    const bool same = total->tally.messages && total->last_step == t->plan->step &&
                      total->last_worker == t->plan->worker;

    gcb_tally_merge(&total->tally, &t->tally);
    total->tally.exchanges += !same;
    total->last_step = t->plan->step;
    total->last_worker = t->plan->worker;
    for (int i = 0; i < GCB_TIMED; i++)
        gcb_sample_sums_add(&total->samples[i], &t->samples[i]);
}

/* Returns the method that encodes the message: the current method, or the method that its policy
 * chooses. */
static const struct gcb_method *method_for(const struct run *r, const struct gcb_message_plan *plan)
{
    const struct gcb_run_config *c = r->config;

    if (!c->by_tensor || !c->by_tensor[r->method])
        return &c->methods[r->method];
    return c->by_tensor[r->method][plan->pieces[0].tensor];
}

/* Adds the names of method and message to an error. Returns the error, which ends the run. With
 * carry_on, or if a plug-in failed, stores the error in the method's total instead and returns 0.
 * Ignores the failure of a plug-in in a run that the watch has stopped. */
static int fail(struct run *r, int err, struct gcb_diag *diag)
{
    const struct gcb_run_config *c = r->config;
    struct gcb_diag *failure = &r->result->totals[r->method].failure;
    const struct gcb_message_plan *plan = r->span->in[r->from + r->bench.at].plan;
    const struct gcb_method *method = method_for(r, plan);
    const bool foreign = gcb_method_caps(method) & GCB_CAP_FOREIGN;
    char spec[256];

    gcb_method_spec(spec, sizeof(spec), method, GCB_SPEC_GIVEN);
    gcb_plan_explain(err, foreign ? spec : method->name, plan, c->source, diag);
    if (foreign && gcb_watch_stopped(&r->observer->watch))
        return 0; /* the signal that stops the run has ended the plug-in */
    if (!c->carry_on && !foreign)
        return err;
    *failure = diag ? *diag : (struct gcb_diag){0};
    failure->status = err;
    r->result->totals[r->method].failed_at = plan->number;
    return 0;
}

/* Adds a trial to the totals, passes it to the observer, and gives the message of method 0 to
 * config->keep. */
static int on_trial(void *ctx, struct gcb_run_trial *t, struct gcb_diag *diag)
{
    struct run *r = ctx;
    const struct gcb_run_config *c = r->config;
    int err = 0;

    t->first = gcb_source_tensor(c->source, t->plan->pieces[0].tensor);
    t->method = r->method;
    gcb_run_total_add(&r->result->totals[t->method], t);
    if (r->observer->trial)
        err = r->observer->trial(r->observer->ctx, t, diag);
    if (!err && c->keep && t->method == 0)
        err = gcb_container_put(c->keep, c->source, t->plan, r->bench.message.data,
                                r->bench.message.len, diag);
    r->observed = err;
    return err;
}

/* Returns how many messages of the span, from r->from on, `method` encodes as one group. */
static size_t group_length(struct run *r, const struct gcb_method *method)
{
    const struct gcb_trial_input *in = &r->span->in[r->from];
    const size_t left = r->span->count - r->from;
    size_t count = 1;

    while (count < left && method_for(r, in[count].plan) == method)
        count++;
    return gcb_trial_group(&r->bench, method, in, count);
}

/* Runs the current method, unless it has failed, on the group that begins at message r->from. Sets
 * *count to the group's number of messages. */
static int run_group(struct run *r, size_t *count, struct gcb_diag *diag)
{
    const struct gcb_trial_input *in = &r->span->in[r->from];
    const struct gcb_method *method = method_for(r, in->plan);
    double weight = 0.0;
    int err;

    *count = group_length(r, method);
    for (size_t i = 0; i < *count; i++)
        weight += gcb_run_weight(in[i].plan);
    if (r->budget) {
        /* encoding and decoding each get half of the time, or with sums a share of this half */
        const double half = gcb_budget_take(r->budget, weight) / 2.0;

        r->bench.config.timing.max_time = r->config->trial.sums ? half * GCB_SUMS_OTHERS : half;
    }
    advance(r, weight);
    if (r->result->totals[r->method].failure.status)
        return 0;
    r->observed = 0;
    if (r->spent) {
        err = gcb_original_load(in->original, diag);
        if (err)
            return err;
    }
    r->spent = in->original != NULL;
    err = gcb_trial_run_group(&r->bench, method, in, *count, diag);
    return err && !r->observed ? fail(r, err, diag) : err;
}

/* Reads the messages of the span, which begins at message `first`, and runs all methods on them. */
static int run_span(struct run *r, size_t first, struct gcb_diag *diag)
{
    const struct gcb_run_config *c = r->config;
    float *data = r->input;
    size_t count = 0;
    int err = 0;

    for (size_t i = 0; !err && i < r->span->count; i++) {
        struct gcb_trial_input *in = &r->span->in[i];

        *in = (struct gcb_trial_input){.plan = &c->layout->messages[first + i]};
        err = take_input(r, data, in, diag);
        gcb_plan_env(&in->env, &c->trial.compute, c->source, in->plan, &c->output_layers);
        data += ALIGNED(in->plan->count);
    }
    for (r->method = 0; !err && r->method < c->method_count; r->method++)
        for (r->from = 0;
             !err && r->from < r->span->count && !gcb_watch_stopped(&r->observer->watch);
             r->from += count)
            err = run_group(r, &count, diag);
    return err;
}

/* Returns how many messages are in the span that begins at message `first`. */
static size_t span_length(const struct run *r, size_t first)
{
    const struct gcb_run_config *c = r->config;
    const struct gcb_message_plan *m = &c->layout->messages[first];
    const size_t left = c->layout->count - first;
    uint64_t elements = 0;
    size_t n = 0;

    if (!c->groups || !c->trial.compute.device)
        return 1;
    while (n < left && n < GCB_TRIAL_GROUP && m[n].step == m->step && m[n].worker == m->worker &&
           m[n].count <= GCB_RUN_SMALL && elements + m[n].count <= GCB_RUN_GROUP_ELEMENTS)
        elements += m[n++].count;
    return n ? n : 1;
}

/* Runs all methods on all messages, except those of skipped steps. */
static int run_messages(struct run *r, struct gcb_diag *diag)
{
    const struct gcb_layout *layout = r->config->layout;
    int err = 0;

    for (size_t i = 0; !err && i < layout->count && !r->result->interrupted; i += r->span->count) {
        r->span->count = span_length(r, i);
        if (gcb_nonfinite_has_step(&r->scan, layout->messages[i].step)) {
            r->result->skipped_messages += r->span->count;
            continue;
        }
        err = run_span(r, i, diag);
        r->result->interrupted = gcb_watch_stopped(&r->observer->watch);
    }
    if (!err && r->result->skipped_messages == layout->count && !r->config->sharded)
        err = gcb_diag_set(diag, GCB_E_NONFINITE, "every step holds infinities or NaNs: %s",
                           r->scan.text);
    return err;
}

/* With carry_on, methods whose parameters contradict each other fail before anything is read. */
static void check_methods(struct run *r)
{
    const struct gcb_run_config *c = r->config;

    for (size_t i = 0; c->carry_on && i < c->method_count; i++) {
        struct gcb_diag *failure = &r->result->totals[i].failure;

        if (gcb_method_check(&c->methods[i], failure))
            failure->status = GCB_E_UNSUPPORTED;
    }
}

static void take_totals(struct gcb_run_result *out, size_t count)
{
    out->method_count = count;
    out->totals = gcb_must_zero(count, sizeof(*out->totals));
}

/* Prepares messages that are decoded in place. Sets *largest_other to the number of elements of the
 * largest other message. */
static int prepare_in_place(struct run *r, uint64_t *largest_other, struct gcb_diag *diag)
{
    const struct gcb_run_config *c = r->config;
    const uint64_t blocks = c->in_place / GCB_SUM_BLOCK + 1;
    const uint64_t window = blocks * GCB_SUM_BLOCK < WINDOW ? blocks * GCB_SUM_BLOCK : WINDOW;
    struct gcb_original *o = &r->original;
    bool any = false;

    *largest_other = 0;
    for (size_t i = 0; i < c->layout->count; i++) {
        const struct gcb_message_plan *plan = &c->layout->messages[i];

        if (is_in_place(c, plan))
            any = true;
        else if (plan->count > *largest_other)
            *largest_other = plan->count;
    }
    if (!any)
        return 0;
    *o = (struct gcb_original){
        .source = c->source,
        .data = r->input,
        .zero = c->nonfinite == GCB_POLICY_ZERO,
        .window = gcb_alloc_array(window, sizeof(*o->window)),
        .window_elements = window,
        .kernels = c->trial.compute.kernels,
        .queue = c->trial.compute.queue,
    };
    return o->window ? 0 : gcb_diag_nomem(diag, window * sizeof(*o->window), "a window");
}

/* Allocates the buffers of the run, plans its work, and checks the methods. */
static int start(struct run *r, struct gcb_diag *diag)
{
    const struct gcb_run_config *c = r->config;
    /* elements of the largest group, with the gaps between its messages */
    const uint64_t span = c->groups ? GCB_RUN_GROUP_ELEMENTS + GCB_TRIAL_GROUP * ALIGNED(1) : 1;
    uint64_t largest = c->layout->largest > span ? c->layout->largest : span, largest_other;
    struct gcb_trial_config trial = c->trial;
    int err;

    choose_tensors_to_scan(r, &largest);
    take_totals(r->result, c->method_count);
    trial.timing.stop = r->observer->watch.stop;
    trial.timing.stop_ctx = r->observer->watch.ctx;
    trial.take = on_trial;
    trial.ctx = r;
    plan_work(r);
    check_methods(r);
    r->input = gcb_alloc_array(largest, sizeof(*r->input));
    r->span = gcb_must_zero(1, sizeof(*r->span));
    if (!r->input)
        return gcb_diag_nomem(diag, largest * sizeof(*r->input), "the largest message");
    err = prepare_in_place(r, &largest_other, diag);
    return err ? err : gcb_trial_bench_init(&r->bench, &trial, largest_other, diag);
}

int gcb_run(struct gcb_run_result *out, const struct gcb_run_config *config,
            const struct gcb_run_observer *observer, struct gcb_diag *diag)
{
    struct run r = {
        .config = config, .observer = observer, .result = out, .budget = config->budget};
    int err;

    memset(out, 0, sizeof(*out));
    err = start(&r, diag);
    if (err)
        goto out;
    err = scan(&r, diag);
    if (err || out->interrupted)
        goto out;
    if (config->seconds > 0.0) {
        gcb_budget_start(&r.own, config->seconds, r.work - r.done);
        r.budget = &r.own;
    }
    err = run_messages(&r, diag);
out:
    gcb_trial_bench_fini(&r.bench);
    gcb_nonfinite_scan_fini(&r.scan);
    gcb_free(r.original.window);
    gcb_free(r.input);
    gcb_free(r.span);
    gcb_free(r.to_scan);
    return err;
}

void gcb_run_none(struct gcb_run_result *out, const struct gcb_run_config *config,
                  const struct gcb_diag *why)
{
    memset(out, 0, sizeof(*out));
    take_totals(out, config->method_count);
    for (size_t i = 0; i < config->method_count; i++)
        if (config->methods[i].codec != gcb_copy_method.codec || config->trial.copy)
            out->totals[i].failure = *why;
}

bool gcb_run_unsupported(const struct gcb_run_total *total)
{
    return total->failure.status == GCB_E_UNSUPPORTED || total->failure.status == GCB_E_BACKEND;
}

void gcb_run_result_fini(struct gcb_run_result *r)
{
    for (size_t i = 0; r->totals && i < r->method_count; i++)
        for (int k = 0; k < GCB_TIMED; k++)
            gcb_sample_sums_fini(&r->totals[i].samples[k]);
    gcb_free(r->totals);
    memset(r, 0, sizeof(*r));
}
