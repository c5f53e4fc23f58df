#include "src/tool/replay/replay.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/replay/replay_state.h"

/* The replay of one method, with sums over all steps so far. */
struct run {
    const struct gcb_replay *r;
    const struct gcb_replay_observer *observer;
    const struct gcb_method *method;
    struct gcb_replay_total *total;
    struct gcb_replay_state state;
    struct gcb_replay_step_sums step;
    double theta;   /* theta of the current step */
    bool scheduled; /* result of gcb_replay_schedules */

    struct gcb_replay_traffic traffic;
    uint64_t sent_steps;               /* steps with a message */
    double union_sum, contraction_sum; /* over these steps: union density, contraction */
    double gradient_sq;                /* largest square of a worker's gcb_replay_norms.window */
    double residual_sq; /* largest squared norm of a worker's residual after a message */
    double lost;        /* largest ||p - s||^2 / ||p||^2 of a worker, p encoded, s decoded */
    uint64_t *ages;     /* ages[a]: number of elements of the step with staleness a */
};

/* ---- opening a replay ---- */

/* Looks for infinities and NaNs, unless the policy sets them to 0. Refuses them unless the policy
 * skips their steps. */
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
    err = gcb_nonfinite_scan(&r->scan, r->config.source, NULL, buffer, r->config.compute.kernels,
                             &r->config.watch, diag);
    gcb_free(buffer);
    return err || r->config.nonfinite == GCB_POLICY_SKIP ? err
                                                         : gcb_nonfinite_refuse(&r->scan, diag);
}

int gcb_replay_open(struct gcb_replay *out, const struct gcb_replay_config *config,
                    struct gcb_diag *diag)
{
    int err;

    *out = (struct gcb_replay){.config = *config};
    if (config->nonfinite == GCB_POLICY_RAW)
        return gcb_invalid(
            diag,
            "--nonfinite raw: a residual would keep the NaN for ever; use error, skip or zero");
    err = scan_dump(out, diag);
    return err ? err
               : gcb_replay_plan_init(&out->plan, config->source, config->layout, &config->order,
                                      &out->scan, diag);
}

void gcb_replay_close(struct gcb_replay *r)
{
    gcb_free(r->plan.recorded);
    gcb_nonfinite_scan_fini(&r->scan);
    memset(r, 0, sizeof(*r));
}

bool gcb_replay_schedules(const struct gcb_replay_config *config, const struct gcb_method *method)
{
    return config->schedule.count && gcb_method_value(method, "theta", NULL);
}

/* ---- figures ---- */

/* Returns a / b. If b is 0 or NAN, returns 0 for an `a` of 0, otherwise NAN. */
static double ratio(double a, double b)
{
    if (b > 0.0)
        return a / b;
    return a == 0.0 ? 0.0 : NAN;
}

/* Returns part / whole, or NAN for a whole of 0. */
static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

/*
 * True if the memory is plain error feedback, which bounds the residual e. For gradients g and the
 * contraction d, ||e||^2 is at most 4 (1 - d) / d^2 max ||g||^2. The bound holds for any share of e
 * that the memory carries on. If a message covers several steps, g is the sum of their gradients,
 * whose norm is at most the sum of their norms. There is no bound with momentum, which adds more
 * than the gradients, nor with loco, which rounds e, nor with ef21, which has no residual.
 */
static bool is_feedback(const struct gcb_memory_params *p)
{
    switch ((enum gcb_memory_kind)p->kind) {
    case GCB_MEMORY_EF:
    case GCB_MEMORY_DEMO:
        return true;
    case GCB_MEMORY_DGC:
    case GCB_MEMORY_DELAY:
    case GCB_MEMORY_GMC:
        return p->momentum == 0.0;
    case GCB_MEMORY_LOCO:
    case GCB_MEMORY_EF21:
    case GCB_MEMORY_NONE:
        break;
    }
    return false;
}

/* Returns the smallest age such that at least `share` (above 0) of all counters are at most that
 * age, or 0 without counters. */
static uint64_t age_at(const uint64_t *ages, uint64_t counters, double share)
{
    const double wanted = ceil(share * (double)counters);
    uint64_t seen = 0;

    for (uint64_t age = 0; counters && age <= GCB_STALENESS_MAX; age++) {
        seen += ages[age];
        if ((double)seen >= wanted)
            return age;
    }
    return 0;
}

/* Counts the staleness of all elements anew, so that the percentiles are exact. */
static void measure_staleness(struct gcb_replay_figures *out, struct run *run)
{
    const struct gcb_replay_state *s = &run->state;
    uint64_t counters = 0;

    memset(run->ages, 0, (GCB_STALENESS_MAX + 1) * sizeof(*run->ages));
    for (size_t j = 0; j < s->count; j++)
        for (uint32_t w = 0; w < s->workers; w++) {
            for (uint64_t i = 0; i < s->messages[j].count; i++)
                run->ages[s->messages[j].workers[w].age[i]]++;
            counters += s->messages[j].count;
        }
    out->staleness_median = age_at(run->ages, counters, 0.5);
    out->staleness_p99 = age_at(run->ages, counters, 0.99);
    out->staleness_max = age_at(run->ages, counters, 1.0);
}

/* Computes the figures that depend only on what was sent. */
static void fill_figures(struct gcb_replay_figures *out, const struct gcb_replay_traffic *traffic)
{
    const bool sent = traffic->tally.messages > 0;
    struct gcb_fidelity_figures f;

    gcb_fidelity_figures(&f, &traffic->updates, 0.0);
    out->sent = *traffic;
    out->ratio = sent ? gcb_tally_ratio(&traffic->tally) : NAN;
    out->density = sent ? gcb_tally_density(&traffic->tally) : NAN;
    out->alpha = sent ? f.rel_l2 : NAN;
    out->cosine = sent ? f.cosine : NAN;
    out->second_error = traffic->again ? sqrt(ratio(traffic->again_lost, traffic->again_sum)) : NAN;
    out->overlap = share(traffic->largest_arrived, traffic->largest);
    out->dropped = traffic->sparse ? ratio(traffic->selected.dd, traffic->selected.xx) : NAN;
}

/* Fills the norms and the contraction of a step, and updates the sums for the bound of the
 * residual. `sent`: the step has a message. */
static void add_norms(struct run *run, struct gcb_replay_step *step, bool sent)
{
    const uint32_t workers = run->state.workers;
    double gradient = 0.0, residual = 0.0, lost = 0.0;

    for (uint32_t w = 0; w < workers; w++) {
        struct gcb_replay_norms *n = &run->step.workers[w];
        const double part = ratio(n->lost, n->encoded);

        gradient += n->gradient;
        residual += n->residual;
        lost = part > lost || isnan(part) ? part : lost;
        n->window += sqrt(n->gradient);
        run->gradient_sq = fmax(run->gradient_sq, n->window * n->window);
        if (!sent)
            continue;
        n->window = 0.0;
        run->residual_sq = fmax(run->residual_sq, n->residual);
    }
    step->figures.gradient_norm = sqrt(gradient / workers);
    step->figures.residual_norm =
        run->state.memory.kind == GCB_MEMORY_NONE || run->state.memory.kind == GCB_MEMORY_EF21
            ? NAN
            : sqrt(residual / workers);
    step->contraction = sent ? 1.0 - lost : NAN;
    if (sent)
        run->lost = fmax(run->lost, lost);
}

static void add_traffic(struct gcb_replay_traffic *sum, const struct gcb_replay_traffic *added)
{
    gcb_tally_merge(&sum->tally, &added->tally);
    gcb_fidelity_merge(&sum->updates, &added->updates);
    sum->largest += added->largest;
    sum->largest_arrived += added->largest_arrived;
    sum->input_bytes += added->input_bytes;
    sum->rounds = added->rounds > sum->rounds ? added->rounds : sum->rounds;
    for (unsigned i = 0; i < added->rounds; i++)
        sum->round_bytes[i] += added->round_bytes[i];
    sum->link_bytes += added->link_bytes;
    sum->between_bytes += added->between_bytes;
    sum->again |= added->again;
    sum->again_sum += added->again_sum;
    sum->again_lost += added->again_lost;
    sum->sparse |= added->sparse;
    gcb_fidelity_merge(&sum->selected, &added->selected);
}

/* Adds a step to the sums, and fills its figures. */
static void add_step(struct run *run, struct gcb_replay_step *step)
{
    const struct gcb_replay_step_sums *added = &run->step;
    const struct gcb_tally *tally = &added->traffic.tally;
    struct gcb_replay_total *total = run->total;
    struct gcb_replay_figures *f = &step->figures;
    const bool sent = tally->messages > 0;

    fill_figures(f, &added->traffic);
    f->union_density = sent ? share(added->touched, tally->elements / run->state.workers) : NAN;
    f->cumulative_error = sqrt(ratio(added->drift, added->owed));
    measure_staleness(f, run);
    add_norms(run, step, sent);
    add_traffic(&run->traffic, &added->traffic);
    total->steps++;
    total->figures = *f;
    total->residual_max =
        total->steps == 1 ? f->residual_norm : fmax(total->residual_max, f->residual_norm);
    if (!sent) {
        total->silent_steps++;
        total->unsent_steps++;
        return;
    }
    total->unsent_steps = 0;
    total->alpha_max = run->sent_steps ? fmax(total->alpha_max, f->alpha) : f->alpha;
    run->union_sum += f->union_density;
    run->contraction_sum += step->contraction;
    run->sent_steps++;
}

/* Computes the figures of all steps, after the last step. */
static void finish(const struct run *run)
{
    struct gcb_replay_total *total = run->total;
    const double steps = (double)run->sent_steps, d = 1.0 - run->lost;
    const bool sent = run->sent_steps > 0;

    fill_figures(&total->figures, &run->traffic);
    total->figures.union_density = sent ? run->union_sum / steps : NAN;
    total->alpha_max = sent ? total->alpha_max : NAN;
    total->contraction_min = sent ? d : NAN;
    total->contraction_mean = sent ? run->contraction_sum / steps : NAN;
    total->feedback = is_feedback(&run->state.memory);
    /* there is a bound only if the contraction is above 0 */
    total->bound_ratio = total->feedback && d > 0.0
                             ? ratio(run->residual_sq, 4.0 * run->lost / (d * d) * run->gradient_sq)
                             : NAN;
}

/* ---- the theta of a step ---- */

/* Sets the theta of all messages whose method has a theta, unless the step before had the same
 * theta. */
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

/* Before a step: sets theta if there is a schedule. Fills in step->theta. */
static int prepare_step(struct run *run, struct gcb_replay_step *step, struct gcb_diag *diag)
{
    double theta = NAN;

    gcb_method_value(run->method, "theta", &theta);
    step->theta = theta;
    if (!run->scheduled)
        return 0;
    step->theta = gcb_schedule_theta(&run->r->config.schedule, step->index, theta);
    return set_theta(run, step->theta, diag);
}

/* ---- replaying the steps ---- */

/* Starts the sums of a step: sets its number, and zeroes all else except the windows, which last
 * until the next message. */
static void clear_step(struct run *run, const struct gcb_replay_step *step)
{
    struct gcb_replay_norms *workers = run->step.workers;

    for (uint32_t w = 0; w < run->state.workers; w++)
        workers[w] = (struct gcb_replay_norms){.window = workers[w].window};
    run->step = (struct gcb_replay_step_sums){
        .at = run->r->plan.recorded[0].number + step->index,
        .workers = workers,
    };
}

/* Runs a step, which is step `at` of the plan, and reports it to the observer. A step that the
 * watch ends is not reported. */
static int run_step(struct run *run, struct gcb_replay_step *step, size_t at, struct gcb_diag *diag)
{
    const struct gcb_replay *r = run->r;
    const double all = (double)(r->config.loops ? r->config.loops : 1) * (double)r->plan.step_count;
    int err = prepare_step(run, step, diag);

    clear_step(run, step);
    for (size_t j = 0; !err && j < run->state.count; j++) {
        if (gcb_watch_stopped(&run->observer->watch)) {
            run->total->interrupted = true;
            return 0;
        }
        err = gcb_replay_send(&run->state, at, j, &run->step, diag);
        if (err && gcb_watch_stopped(&run->observer->watch)) { /* the signal ended a plug-in */
            run->total->interrupted = true;
            return 0;
        }
        gcb_watch_show(&run->observer->watch,
                       ((double)step->index + (double)(j + 1) / (double)run->state.count) / all);
    }
    if (err)
        return err;
    add_step(run, step);
    return run->observer->step(run->observer->ctx, step, diag);
}

/* Runs all steps of all repetitions. */
static int run_steps(struct run *run, struct gcb_diag *diag)
{
    const struct gcb_replay_plan *plan = &run->r->plan;
    const uint64_t loops = run->r->config.loops ? run->r->config.loops : 1;
    struct gcb_replay_step step = {.index = 0};
    int err = 0;

    for (step.loop = 0; !err && step.loop < loops; step.loop++)
        for (size_t s = 0; !err && s < plan->step_count; s++, step.index++) {
            step.step = plan->recorded[s * plan->merged].number; /* the first of the merged steps */
            err = run_step(run, &step, s, diag);
            if (run->total->interrupted)
                return err;
        }
    return err;
}

/* Allocates the sums, and makes the state of the replay. */
static int start(struct run *run, struct gcb_diag *diag)
{
    const struct gcb_replay *r = run->r;

    run->step.workers = gcb_alloc_zero(r->plan.workers, sizeof(*run->step.workers));
    run->ages = gcb_alloc_array(GCB_STALENESS_MAX + 1, sizeof(*run->ages));
    if (!run->step.workers || !run->ages)
        return gcb_diag_nomem(diag, 0, "sums");
    run->scheduled = gcb_replay_schedules(&r->config, run->method);
    gcb_method_value(run->method, "theta", &run->theta);
    return gcb_replay_state_init(&run->state, &r->config, &r->plan, run->method, diag);
}

int gcb_replay_run(const struct gcb_replay *r, const struct gcb_method *method,
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
        finish(&run);
    gcb_replay_state_fini(&run.state);
    gcb_free(run.ages);
    gcb_free(run.step.workers);
    return err;
}
