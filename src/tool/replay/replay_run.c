#include "src/tool/replay/replay.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/replay/replay_state.h"

/* ---- the plan ---- */

struct planner {
    struct gcb_replay_plan *plan;
    const struct gcb_source *source;
    const struct gcb_layout *layout;
    size_t in_step; /* messages in a step */
};

/* The first message of the next step; `from` is the first message of a step. */
static size_t step_end(const struct gcb_layout *layout, size_t from)
{
    size_t to = from;

    while (to < layout->count && layout->messages[to].step == layout->messages[from].step)
        to++;
    return to;
}

/* Counts the workers and messages of the first step; all other steps must have as many. */
static void measure_first(struct planner *p)
{
    const struct gcb_message_plan *m = p->layout->messages;
    size_t n = 0;

    p->in_step = step_end(p->layout, 0);
    while (n < p->in_step && m[n].worker == m[0].worker)
        n++;
    p->plan->messages = n;
    p->plan->recorded_workers = n ? (uint32_t)(p->in_step / n) : 0;
}

static bool same_message(const struct planner *p, const struct gcb_message_plan *a,
                         const struct gcb_message_plan *b)
{
    char name[2][40];

    return a->count == b->count && a->dense == b->dense && a->dtype == b->dtype &&
           strcmp(gcb_plan_name(name[0], a, p->source), gcb_plan_name(name[1], b, p->source)) == 0;
}

static int differs(const struct planner *p, const struct gcb_message_plan *m, struct gcb_diag *diag)
{
    char name[40], shown[96];

    return gcb_diag_set(diag, GCB_E_INVALID,
                        "step %" PRIu64 " worker %" PRIu32
                        " %s: all workers of all steps need the same tensors, of "
                        "the same sizes; select them with --step, --worker, --dataset",
                        m->step, m->worker,
                        gcb_escape(shown, sizeof(shown), gcb_plan_name(name, m, p->source)));
}

/* Every worker of every step must have the messages of the first worker of the first step. */
static int check_step(const struct planner *p, size_t first, size_t end, struct gcb_diag *diag)
{
    const struct gcb_message_plan *m = p->layout->messages;
    const size_t per_worker = p->plan->messages;

    for (size_t i = 0; i < end - first; i++) {
        const struct gcb_message_plan *here = &m[first + i];

        if (i >= p->in_step || here->worker != m[i].worker ||
            here->worker != m[i / per_worker * per_worker].worker ||
            !same_message(p, here, &m[i % per_worker]))
            return differs(p, here, diag);
    }
    if (end - first != p->in_step || p->in_step % per_worker)
        return differs(p, &m[end - 1], diag);
    return 0;
}

static int check_gap(const struct planner *p, size_t first, struct gcb_diag *diag)
{
    const struct gcb_message_plan *m = p->layout->messages;
    const uint64_t before = first ? m[first - 1].step : 0, here = m[first].step;

    if (first == 0 || here - before == 1)
        return 0;
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "step %" PRIu64 " follows step %" PRIu64 ": %" PRIu64 " between them %s "
                        "missing; --allow-gaps replays without them",
                        here, before, here - before - 1, here - before == 2 ? "is" : "are");
}

static int add_step(struct gcb_replay_plan *plan, size_t *cap, uint64_t number, size_t first,
                    struct gcb_diag *diag)
{
    if (gcb_grow(&plan->recorded, cap, plan->recorded_count, sizeof(*plan->recorded)))
        return gcb_diag_nomem(diag, 0, "a list of steps");
    plan->recorded[plan->recorded_count++] = (struct gcb_replay_plan_step){number, first};
    return 0;
}

/* Decides whose gradients the workers of a replayed step have. */
static int assign_workers(struct gcb_replay_plan *plan, uint32_t workers, bool split_steps,
                          struct gcb_diag *diag)
{
    const uint32_t recorded = plan->recorded_workers;

    plan->workers = workers ? workers : recorded;
    plan->merged = 1;
    plan->sources = plan->workers < recorded ? plan->workers : recorded;
    if (split_steps && plan->workers % recorded)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--split-steps: each step of the dump has %" PRIu32
                            " workers, so --workers must be a multiple of %" PRIu32,
                            recorded, recorded);
    if (split_steps) {
        plan->merged = plan->workers / recorded;
        plan->sources = plan->workers;
    }
    plan->step_count = plan->recorded_count / plan->merged;
    if (plan->step_count == 0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--split-steps: %" PRIu32 " workers need %" PRIu32
                            " steps of the dump, which has %zu; give fewer --workers",
                            plan->workers, plan->merged, plan->recorded_count);
    return 0;
}

const struct gcb_message_plan *gcb_replay_message_at(const struct gcb_replay_plan *plan,
                                                     const struct gcb_layout *layout, size_t step,
                                                     uint32_t w, size_t j)
{
    const uint32_t recorded = plan->recorded_workers;
    const size_t first = plan->recorded[step * plan->merged + w / recorded].first;

    return &layout->messages[first + w % recorded * plan->messages + j];
}

const char *gcb_replay_origin(const struct gcb_replay_plan *plan)
{
    return plan->merged > 1 ? "steps" : plan->workers > plan->sources ? "repeated" : "recorded";
}

int gcb_replay_plan_init(struct gcb_replay_plan *out, const struct gcb_replay_config *config,
                         const struct gcb_nonfinite_scan *scan, struct gcb_diag *diag)
{
    const struct gcb_layout *layout = config->layout;
    struct planner p = {.plan = out, .source = config->source, .layout = layout};
    size_t cap = 0, end;
    int err = 0;

    memset(out, 0, sizeof(*out));
    measure_first(&p);
    for (size_t first = 0; !err && first < layout->count; first = end) {
        const uint64_t number = layout->messages[first].step;

        end = step_end(layout, first);
        err = check_step(&p, first, end, diag);
        if (!err && !config->allow_gaps)
            err = check_gap(&p, first, diag);
        if (!err && !(scan && gcb_nonfinite_has_step(scan, number)))
            err = add_step(out, &cap, number, first, diag);
    }
    if (!err && out->recorded_count == 0)
        return gcb_diag_set(diag, GCB_E_NONFINITE, "every step holds infinities or NaNs%s%s",
                            scan ? ": " : "", scan ? scan->text : "");
    return err ? err : assign_workers(out, config->workers, config->split_steps, diag);
}

/* ---- opening ---- */

struct gcb_replay {
    struct gcb_replay_config config;
    struct gcb_nonfinite_scan scan;
    struct gcb_replay_plan plan;
};

/* The replay of one method. */
struct run {
    const struct gcb_replay *r;
    const struct gcb_replay_observer *observer;
    const struct gcb_method *method;
    struct gcb_replay_total *total;
    struct gcb_replay_state state;
    struct gcb_replay_step_sums step;
    struct gcb_replay_sums *sums;
    double theta; /* theta of the current step */
    bool scheduled, tunes;
};

static int scan_dump(struct gcb_replay *r, struct gcb_diag *diag)
{
    const uint64_t largest = r->config.layout->largest ? r->config.layout->largest : 1;
    float *buffer;
    int err;

    if (r->config.nonfinite == GCB_POLICY_ZERO)
        return 0;
    buffer = gcb_alloc_array(largest, sizeof(*buffer));
    if (!buffer)
        return gcb_diag_nomem(diag, largest * sizeof(*buffer), "the largest message");
    err = gcb_nonfinite_scan(&r->scan, r->config.source, NULL, buffer, r->config.kernels,
                             r->config.watch, diag);
    gcb_free(buffer);
    return err || r->config.nonfinite == GCB_POLICY_SKIP ? err
                                                         : gcb_nonfinite_refuse(&r->scan, diag);
}

int gcb_replay_open(struct gcb_replay **out, const struct gcb_replay_config *config,
                    struct gcb_diag *diag)
{
    struct gcb_replay *r = gcb_alloc_zero(1, sizeof(*r));
    int err;

    if (!r)
        return gcb_diag_nomem(diag, sizeof(*r), "a replay");
    r->config = *config;
    err = config->nonfinite == GCB_POLICY_RAW
              ? gcb_diag_set(diag, GCB_E_INVALID,
                             "--nonfinite raw: a residual would keep the NaN for ever; use error, "
                             "skip or zero")
              : scan_dump(r, diag);
    if (!err)
        err = gcb_replay_plan_init(&r->plan, config, &r->scan, diag);
    if (err) {
        gcb_replay_close(r);
        return err;
    }
    *out = r;
    return 0;
}

void gcb_replay_close(struct gcb_replay *r)
{
    if (!r)
        return;
    gcb_free(r->plan.recorded);
    gcb_nonfinite_scan_fini(&r->scan);
    gcb_free(r);
}

const struct gcb_replay_plan *gcb_replay_plan_of(const struct gcb_replay *r)
{
    return &r->plan;
}

uint64_t gcb_replay_skipped_steps(const struct gcb_replay *r)
{
    return r->scan.step_count;
}

bool gcb_replay_schedules(const struct gcb_replay_config *config, const struct gcb_method *method)
{
    return config->schedule.kind != GCB_SCHEDULE_NONE && gcb_method_value(method, "theta", NULL);
}

bool gcb_replay_tunes(const struct gcb_replay_config *config, const struct gcb_method *method)
{
    double max;

    return config->tune_steps && gcb_method_value(method, "max", &max) && max == 0.0;
}

/* ---- what changes between steps ---- */

static int set_theta(struct run *run, double theta, struct gcb_diag *diag)
{
    int err = 0;

    if (theta == run->theta)
        return 0;
    run->theta = theta;
    for (size_t j = 0; !err && j < run->state.count; j++)
        if (gcb_method_value(&run->state.messages[j].method, "theta", NULL))
            err = gcb_replay_assign(&run->state, &run->state.messages[j], "theta", theta, diag);
    return err;
}

/* Sets `max` of each message to the largest value coded so far. A message with only zeros so far
 * keeps its `max`. */
static int fix_ranges(struct run *run, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t j = 0; !err && j < run->state.count; j++) {
        struct gcb_replay_message *m = &run->state.messages[j];

        if (!(m->largest > 0.0) || !gcb_method_value(&m->method, "max", NULL))
            continue;
        err = gcb_replay_assign(&run->state, m, "max", m->largest, diag);
        m->tuned = true;
    }
    return err;
}

static int prepare_step(struct run *run, struct gcb_replay_step *step, struct gcb_diag *diag)
{
    const struct gcb_replay_config *c = &run->r->config;
    const struct gcb_schedule_step at = {c->source, step->index, step->step,
                                         run->r->plan.recorded[0].number};
    double theta = NAN;
    int err = 0;

    step->theta = step->lr = NAN;
    if (gcb_method_value(run->method, "theta", &theta))
        step->theta = theta;
    if (run->scheduled)
        err = gcb_schedule_theta(&c->schedule, &at, theta, &step->theta, &step->lr, diag);
    if (!err && run->scheduled)
        err = set_theta(run, step->theta, diag);
    if (!err && run->tunes && step->index == c->tune_steps)
        err = fix_ranges(run, diag);
    return err;
}

/* ---- steps ---- */

static void clear_step(struct run *run, const struct gcb_replay_step *step)
{
    struct gcb_replay_norms *workers = run->step.workers;

    memset(workers, 0, run->state.workers * sizeof(*workers));
    run->step = (struct gcb_replay_step_sums){
        .at = run->r->plan.recorded[0].number + step->index,
        .workers = workers,
    };
}

static void report_progress(const struct run *run, uint64_t index, size_t messages)
{
    const struct gcb_replay *r = run->r;
    const uint64_t loops = r->config.loops ? r->config.loops : 1;
    const double all = (double)loops * (double)r->plan.step_count;

    if (run->observer->progress)
        run->observer->progress(run->observer->ctx,
                                ((double)index + (double)messages / (double)run->state.count) /
                                    all);
}

static int run_step(struct run *run, struct gcb_replay_step *step, size_t at, struct gcb_diag *diag)
{
    int err = prepare_step(run, step, diag);

    clear_step(run, step);
    for (size_t j = 0; !err && j < run->state.count; j++) {
        if (run->observer->stop && run->observer->stop(run->observer->ctx)) {
            run->total->interrupted = true;
            return 0;
        }
        err = gcb_replay_send(&run->state, at, j, &run->step, diag);
        report_progress(run, step->index, j + 1);
    }
    if (err)
        return err;
    gcb_replay_add_step(run->sums, &run->state, &run->step, step, run->total);
    return run->observer->step(run->observer->ctx, step, diag);
}

static int run_steps(struct run *run, struct gcb_diag *diag)
{
    const struct gcb_replay_plan *plan = &run->r->plan;
    const uint64_t loops = run->r->config.loops ? run->r->config.loops : 1;
    struct gcb_replay_step step = {.index = 0};
    int err = 0;

    for (step.loop = 0; !err && step.loop < loops; step.loop++)
        for (size_t s = 0; !err && s < plan->step_count; s++, step.index++) {
            step.step =
                plan->recorded[s * plan->merged].number; /* the first of those that are merged */
            err = run_step(run, &step, s, diag);
            if (run->total->interrupted)
                return err;
        }
    return err;
}

static int start(struct run *run, struct gcb_diag *diag)
{
    const uint32_t workers = run->r->plan.workers;

    run->step.workers = gcb_alloc_zero(workers, sizeof(*run->step.workers));
    run->sums = gcb_alloc_zero(1, sizeof(*run->sums));
    if (!run->step.workers || !run->sums)
        return gcb_diag_nomem(diag, sizeof(*run->sums), "sums");
    run->sums->window = gcb_alloc_zero(workers, sizeof(*run->sums->window));
    if (!run->sums->window)
        return gcb_diag_nomem(diag, 0, "sums");
    run->sums->workers = workers;
    gcb_method_memory(&run->sums->memory, run->method);
    run->scheduled = gcb_replay_schedules(&run->r->config, run->method);
    run->tunes = gcb_replay_tunes(&run->r->config, run->method);
    gcb_method_value(run->method, "theta", &run->theta);
    return gcb_replay_state_init(&run->state, &run->r->config, &run->r->plan, run->method, diag);
}

int gcb_replay_run(struct gcb_replay *r, const struct gcb_method *method,
                   const struct gcb_replay_observer *observer, struct gcb_replay_total *out,
                   struct gcb_diag *diag)
{
    struct run run = {.r = r, .observer = observer, .method = method, .total = out, .theta = NAN};
    int err;

    memset(out, 0, sizeof(*out));
    err = start(&run, diag);
    if (!err)
        err = run_steps(&run, diag);
    if (!err)
        gcb_replay_finish(run.sums, out);
    gcb_replay_state_fini(&run.state);
    if (run.sums)
        gcb_free(run.sums->window);
    gcb_free(run.sums);
    gcb_free(run.step.workers);
    return err;
}
