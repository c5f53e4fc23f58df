#include "src/tool/run/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"

struct verify {
    const struct gcb_verify_config *config;
    const struct gcb_verify_observer *observer;
    struct gcb_verify_result *result;
    float *x;          /* elements of the current message; room for the largest one */
    double start;      /* start of the run, by gcb_clock */
    double work, done; /* for progress: weight of all messages and methods, and of those done */
    struct gcb_place place; /* where coders work on config->compute.device; unused on the CPU */
    bool undelivered;       /* the observer failed, not the method or the tensor */
};

/* ---- choosing messages ---- */

static int compare_sizes(const void *a, const void *b)
{
    const struct gcb_message_plan *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Keeps only the first, the middle and the last message of a sorted list, and moves them to its
 * front. A list of fewer than three messages stays. Returns the number of messages kept. */
static size_t pick_three(struct gcb_message_plan *list, size_t count)
{
    if (count < 3)
        return count;
    list[1] = list[count / 2];
    list[2] = list[count - 1];
    return 3;
}

int gcb_verify_choose(struct gcb_layout *layout, bool all, struct gcb_diag *diag)
{
    struct gcb_message_plan *list = layout->messages;
    const uint64_t step = layout->count ? list[0].step : 0;
    const uint32_t worker = layout->count ? list[0].worker : 0;
    size_t count = 0;

    for (size_t i = 0; i < layout->count; i++) {
        const struct gcb_message_plan *m = &list[i];
        const bool first = m->step == step && m->worker == worker;

        if (m->count > 0 && !m->dense && (all || first))
            list[count++] = *m;
    }
    layout->count = count;
    if (count == 0)
        return gcb_invalid(
            diag, "no message to verify: all%s are empty, or dense (--dense, --min-elements)",
            all ? "" : " of the first step and worker");
    if (!all) {
        qsort(list, count, sizeof(*list), compare_sizes);
        layout->count = pick_three(list, count);
    }
    for (size_t i = 0; i < layout->count; i++)
        list[i].number = i;
    return 0;
}

/* ---- notes ---- */

static void send_note(struct verify *v, enum gcb_verify_event event,
                      const struct gcb_message_plan *plan, size_t method)
{
    const struct gcb_verify_note n = {
        .event = event,
        .plan = plan,
        .name = gcb_plan_name(plan, v->config->source),
        .method = method,
    };

    v->result->notes[event]++;
    if (v->observer->note)
        v->observer->note(v->observer->ctx, &n);
}

/* ---- checking messages ---- */

/* True if no further check may start: the watch has ended the run, or the budget is spent. In the
 * first case, also sets result->interrupted. */
static bool must_stop(struct verify *v)
{
    v->result->interrupted |= gcb_watch_stopped(&v->observer->watch);
    return v->result->interrupted ||
           (v->config->budget > 0.0 && gcb_clock() - v->start > v->config->budget);
}

/* Reads a message to v->x. If it holds infinities or NaNs, the policy decides: they become 0, or
 * *take becomes false and a note says that the message is left out, or the run fails. */
static int read_message(struct verify *v, const struct gcb_message_plan *plan, bool *take,
                        struct gcb_diag *diag)
{
    const struct gcb_verify_config *c = v->config;
    int err = gcb_layout_read(c->source, plan, v->x, diag);

    *take = true;
    if (err || gcb_nonfinite_count(v->x, plan->count, c->compute.kernels) == 0)
        return err;
    if (c->nonfinite == GCB_POLICY_ERROR)
        return gcb_diag_set(diag, GCB_E_NONFINITE, "%s holds infinities or NaNs; see --nonfinite",
                            gcb_show(gcb_plan_name(plan, c->source)).text);
    if (c->nonfinite == GCB_POLICY_ZERO) {
        gcb_nonfinite_zero(v->x, plan->count);
        return 0;
    }
    *take = false;
    send_note(v, GCB_VERIFY_LEFT_OUT, plan, 0);
    return 0;
}

static size_t count_promises(const struct gcb_method *m, bool on_device)
{
    const struct gcb_promise *p;
    size_t n = 0;

    for (size_t i = 0; (p = gcb_promise_at(i, on_device)); i++)
        n += gcb_promise_binds(p, m);
    return n;
}

/* Reports the progress. `more`: weight of the current method's checks that are done. */
static void show_progress(const struct verify *v, double more)
{
    gcb_watch_show(&v->observer->watch, (v->done + more) / v->work);
}

/* Checks the promises that bind the case's method, and reports each outcome. Stops early, with a
 * note, if the run must end. The caller has set the message and the method in *check. */
static int check_promises(struct verify *v, struct gcb_promise_case *c,
                          struct gcb_verify_check *check, struct gcb_diag *diag)
{
    const double weight = gcb_run_weight(check->plan);
    const bool on_device = v->config->compute.device;
    const size_t all = count_promises(c->job.method, on_device);
    size_t done = 0;
    int err = 0;

    for (size_t i = 0; !err && (check->promise = gcb_promise_at(i, on_device)); i++) {
        double start;

        if (!gcb_promise_binds(check->promise, c->job.method))
            continue;
        if (must_stop(v)) {
            send_note(v, GCB_VERIFY_UNREACHED, check->plan, check->method);
            return 0;
        }
        start = gcb_clock();
        check->promise->check(c);
        check->seconds = gcb_clock() - start;
        check->outcome = c->outcome;
        v->result->interrupted |= gcb_watch_stopped(&v->observer->watch);
        if (v->result->interrupted && check->outcome.status == GCB_PROMISE_BROKEN) {
            /* Ctrl-C ends plug-ins too, so the method may have kept its promise */
            send_note(v, GCB_VERIFY_UNREACHED, check->plan, check->method);
            return 0;
        }
        if (c->failure.status) {
            err = gcb_diag_set(diag, c->failure.status, "%s", c->failure.text);
        } else {
            v->result->checks[check->outcome.status]++;
            err = v->observer->check(v->observer->ctx, check, diag);
            v->undelivered = err != 0;
        }
        show_progress(v, weight * (double)++done / (double)all);
    }
    return err;
}

/* Reports a plug-in that makes no coder for the message: its first promise counts as broken. But
 * after an interruption, which ends plug-ins too, only a note is sent. */
static int report_no_coder(struct verify *v, struct gcb_verify_check *check, struct gcb_diag *diag)
{
    int err;

    v->result->interrupted |= gcb_watch_stopped(&v->observer->watch);
    if (v->result->interrupted) {
        send_note(v, GCB_VERIFY_UNREACHED, check->plan, check->method);
        return 0;
    }
    check->promise = gcb_promise_at(0, false);
    check->outcome = (struct gcb_promise_outcome){GCB_PROMISE_BROKEN, NAN, NAN, ""};
    snprintf(check->outcome.words, sizeof(check->outcome.words), "%.190s", diag ? diag->text : "");
    v->result->checks[GCB_PROMISE_BROKEN]++;
    err = v->observer->check(v->observer->ctx, check, diag);
    v->undelivered = err != 0;
    return err;
}

/* Checks the promises of a method on the message in v->x. */
static int check_method(struct verify *v, const struct gcb_message_plan *plan, size_t method,
                        struct gcb_diag *diag)
{
    const struct gcb_verify_config *c = v->config;
    const struct gcb_queue one = {.threads = 1};
    const struct gcb_step at = {plan->step, plan->worker};
    struct gcb_coder_config coder = {
        .place = c->compute.device ? &v->place : NULL,
        .nonfinite = GCB_NONFINITE_TRUSTED,
        .source = plan->dtype,
    };
    struct gcb_verify_check check = {
        .plan = plan,
        .file = gcb_source_tensor(c->source, plan->pieces[0].tensor)->file,
        .name = gcb_plan_name(plan, c->source),
        .method = method,
    };
    struct gcb_promise_case subject;
    int err;

    gcb_plan_env(&coder.env, &c->compute, c->source, plan, &c->output_layers);
    coder.env.queue = &one;
    err = gcb_promise_case_init(&subject, &c->methods[method], &coder, &at, v->x, NULL, diag);
    if (!err)
        err = check_promises(v, &subject, &check, diag);
    else if (gcb_method_caps(&c->methods[method]) & GCB_CAP_FOREIGN)
        err = report_no_coder(v, &check, diag);
    gcb_promise_case_fini(&subject);
    if (!err || v->undelivered)
        return err;
    return gcb_plan_explain(err, c->methods[method].name, plan, c->source, diag);
}

/* If `err` says that the device lacks the method or a library for it, sends a note and returns 0,
 * so that the other methods are still checked. Otherwise returns `err`. */
static int note_missing(struct verify *v, const struct gcb_message_plan *plan, size_t method,
                        int err, const struct gcb_diag *diag)
{
    if (!v->config->compute.device || (err != GCB_E_BACKEND && err != GCB_E_UNSUPPORTED))
        return err;
    if (!v->result->notes[GCB_VERIFY_NOT_THERE] && diag)
        v->result->missing = *diag;
    send_note(v, GCB_VERIFY_NOT_THERE, plan, method);
    return 0;
}

/* Reads a message and checks all methods on it. */
static int check_message(struct verify *v, const struct gcb_message_plan *plan,
                         struct gcb_diag *diag)
{
    bool take;
    int err = read_message(v, plan, &take, diag);

    if (err || !take)
        return err;
    v->result->messages += !must_stop(v);
    for (size_t i = 0; !err && i < v->config->method_count; i++) {
        if (must_stop(v))
            send_note(v, GCB_VERIFY_UNREACHED, plan, i);
        else
            err = note_missing(v, plan, i, check_method(v, plan, i, diag), diag);
        v->done += gcb_run_weight(plan);
        show_progress(v, 0.0);
    }
    return err;
}

/* Sums the work, and allocates memory for the largest message. */
static int prepare(struct verify *v, struct gcb_diag *diag)
{
    const struct gcb_layout *layout = v->config->layout;
    uint64_t largest = 1;

    for (size_t i = 0; i < layout->count; i++) {
        const struct gcb_message_plan *plan = &layout->messages[i];

        largest = plan->count > largest ? plan->count : largest;
        v->work += (double)v->config->method_count * gcb_run_weight(plan);
    }
    v->x = gcb_alloc_array(largest, sizeof(*v->x));
    return v->x ? 0 : gcb_diag_nomem(diag, largest * sizeof(*v->x), "the largest message");
}

int gcb_verify(struct gcb_verify_result *out, const struct gcb_verify_config *config,
               const struct gcb_verify_observer *observer, struct gcb_diag *diag)
{
    const struct gcb_layout *layout = config->layout;
    struct verify v = {.config = config,
                       .observer = observer,
                       .result = out,
                       .start = gcb_clock(),
                       .place = {.device = config->compute.device, .prefill = true}};
    int err;

    memset(out, 0, sizeof(*out));
    err = prepare(&v, diag);
    for (size_t i = 0; !err && i < layout->count; i++)
        send_note(&v, GCB_VERIFY_CHOSEN, &layout->messages[i], 0);
    for (size_t i = 0; !err && i < layout->count; i++)
        err = check_message(&v, &layout->messages[i], diag);
    gcb_place_fini(&v.place);
    gcb_free(v.x);
    return err;
}

/* ---- rows ---- */

const char *const gcb_promise_status_names[] = {"kept", "broken", "idle", NULL};

enum gcb_promise_status gcb_verify_status(const char *name)
{
    for (size_t i = 0; gcb_promise_status_names[i]; i++)
        if (strcmp(name, gcb_promise_status_names[i]) == 0)
            return (enum gcb_promise_status)i;
    return GCB_PROMISE_BROKEN;
}

void gcb_verify_row(struct gcb_row *row, const struct gcb_rows_setting *setting,
                    const struct gcb_method *method, const struct gcb_verify_check *check)
{
    const struct gcb_promise_outcome *o = &check->outcome;

    gcb_row_init(row, GCB_RECORD_PROMISE);
    gcb_row_text(row, GCB_FIELD_FILE, check->file);
    gcb_row_u64(row, GCB_FIELD_STEP, check->plan->step);
    gcb_row_u64(row, GCB_FIELD_WORKER, check->plan->worker);
    gcb_row_text(row, GCB_FIELD_TENSOR, check->name);
    gcb_rows_put_setting(row, setting, method);
    gcb_row_u64(row, GCB_FIELD_ELEMENTS, check->plan->count);
    gcb_row_text(row, GCB_FIELD_PROMISE, check->promise->name);
    gcb_row_text(row, GCB_FIELD_CLAIM, check->promise->claim);
    gcb_row_text(row, GCB_FIELD_SOURCE, check->promise->source);
    gcb_row_text(row, GCB_FIELD_STATUS, gcb_promise_status_names[o->status]);
    gcb_row_real(row, GCB_FIELD_VALUE, o->value);
    gcb_row_real(row, GCB_FIELD_LIMIT, o->limit);
    gcb_row_words(row, GCB_FIELD_REASON, o->words[0] ? o->words : NULL);
    gcb_row_real(row, GCB_FIELD_SECONDS, check->seconds);
    gcb_row_u64(row, GCB_FIELD_MESSAGE, check->plan->number);
}
