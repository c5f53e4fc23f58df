#include "src/tool/regress/ab_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/tool/base/clock.h"
#include "src/tool/base/memory.h"
#include "src/tool/measure/stats.h"
#include "src/tool/rows/results.h"

#define REPEAT_MOST 1000   /* most calls of each case in a process */
#define CALLS_SHARE 1.0    /* seconds of timed calls for each second of overhead of a process */
#define CALLS_LEAST 3      /* fewest calls with a useful median */
#define PLAN_SHARE 0.9     /* share of the budget that the plan uses */
#define OVER_BUDGET 2.0    /* GCB_AB_PAIRS pairs may take this multiple of the budget */
#define DRAWS 10000        /* samples that the bootstrap draws */
#define GIVE_UP 3.0        /* no pair starts after this multiple of the budget */
#define FIRST_SECONDS 60.0 /* least time limit of a process, if the caller sets none */

/* The state of a run. */
struct runner {
    const struct gcb_ab_config *config;
    unsigned repeat; /* calls of each case; 0: the command line sets them */
    double limit;    /* most seconds of a process */
    /* seconds of the last process; after run_first: of the faster process plus a link */
    double took;
    double pair;     /* seconds of the first pair */
    double slowdown; /* elapsed time / processor time of the process of `took`; at least 1 */
    double since;    /* clock when `repeat` was last chosen */
    unsigned paced;  /* pairs that were measured before `since` */
    uint64_t links;  /* number of programs linked so far; seed of the last layout */
    double linking;  /* seconds of the last link */
};

/* ---- testing the times ---- */

/* Compares the times of an operation in both builds: fills the medians, the intervals and the
 * p-value, which is not adjusted yet. `medians` is scratch. */
static void run_test(struct gcb_ab_times *t, double medians[DRAWS])
{
    size_t above = 0, below = 0;

    gcb_resample_medians(medians, DRAWS, t->logs, t->count, GCB_AB_SEED);
    for (size_t i = 0; i < t->count; i++) {
        above += t->logs[i] > 0.0;
        below += t->logs[i] < 0.0;
    }
    t->low = gcb_quantile(medians, DRAWS, 0.025);
    t->high = gcb_quantile(medians, DRAWS, 0.975);
    t->farthest =
        fmax(fabs(gcb_quantile(medians, DRAWS, 0.005)), fabs(gcb_quantile(medians, DRAWS, 0.995)));
    t->p = fmin(1.0, 2.0 * gcb_sign_test(above > below ? above : below, t->count));
    t->median = gcb_stats_make(t->logs, t->count).median;
    for (int build = 0; build < 2; build++)
        t->medians[build] = gcb_stats_make(t->seconds[build], t->count).median;
}

/* Tests all times, and adjusts the p-values for the number of tests. */
static void run_tests(struct gcb_ab_result *r)
{
    struct gcb_ab_times **tested = gcb_must_array(2 * r->count, sizeof(*tested));
    double *medians = gcb_must_array(DRAWS, sizeof(*medians));
    double *p = gcb_must_array(2 * r->count, sizeof(*p));
    size_t count = 0;

    for (size_t i = 0; i < 2 * r->count; i++) {
        struct gcb_ab_case *c = &r->cases[i / 2];
        struct gcb_ab_times *t = &c->time[i % 2];

        t->tested = c->timed && !c->lost && t->count;
        if (!t->tested)
            continue;
        run_test(t, medians);
        tested[count] = t;
        p[count++] = t->p;
    }
    gcb_holm(p, p, count);
    for (size_t i = 0; i < count; i++)
        tested[i]->p = p[i];
    gcb_free(tested);
    gcb_free(medians);
    gcb_free(p);
}

/* ---- verdicts ---- */

/* Chooses the verdict on a time. Sets *why to a static text: the reason for the verdict, or "" if
 * the interval shows the reason. */
static enum gcb_verdict_kind choose_kind(const struct gcb_verdict *v, double floor,
                                         const char **why)
{
    const enum gcb_verdict_kind kind = gcb_verdict_judge(v->low, v->high, v->delta);

    *why = "; too few pairs for a verdict";
    if (v->pairs < GCB_AB_PAIRS)
        return GCB_AMBIGUOUS;
    *why = "";
    if (kind == GCB_SAME)
        return kind;
    if (fmax(v->base, v->next) < floor) {
        *why = "; times this short are not judged (--floor)";
        return GCB_NOT_COMPARED;
    }
    if (kind != GCB_AMBIGUOUS && v->p > GCB_AB_ALPHA) {
        *why = "; not significant among so many comparisons";
        return GCB_AMBIGUOUS;
    }
    return kind;
}

/* Fills a verdict from the test of the times. */
static void judge_test(struct gcb_verdicts *out, struct gcb_verdict *v,
                       const struct gcb_ab_times *t, double floor)
{
    const char *why;

    v->base = t->medians[0];
    v->next = t->medians[1];
    v->ratio = exp(t->median);
    v->low = exp(t->low);
    v->high = exp(t->high);
    v->p = t->p;
    v->pairs = t->count;
    v->kind = choose_kind(v, floor, &why);
    /* The first text has no figure except delta, so that verdicts with the same cause are listed
     * together. */
    if (v->kind == GCB_AMBIGUOUS && !why[0])
        gcb_verdict_explain(out, v, "inconclusive: the interval contains the threshold of %.3g %%",
                            100.0 * v->delta);
    else if (v->kind != GCB_SAME)
        gcb_verdict_explain(out, v, "%+.1f %% (%+.1f to %+.1f %%) in %zu pairs, delta is %.1f %%%s",
                            100.0 * (v->ratio - 1.0), 100.0 * (v->low - 1.0),
                            100.0 * (v->high - 1.0), t->count, 100.0 * v->delta, why);
}

/* Adds the verdicts on the times of a case. */
static void judge_times(struct gcb_verdicts *out, const struct gcb_ab_case *c,
                        const struct gcb_ab_config *config)
{
    double floor = config->floor;

    /* `bench` times many calls of a kernel together, so even short kernels can be judged. */
    if (floor < 0.0)
        floor = c->pair.base->kernel ? 0.0 : GCB_AB_FLOOR;
    for (int op = 0; op < c->pair.base->operations; op++) {
        const struct gcb_ab_times *t = &c->time[op];
        struct gcb_verdict *v = gcb_verdicts_add_time(out, &c->pair, op, t->delta);

        if (t->tested)
            judge_test(out, v, t, floor);
        else
            gcb_verdict_explain(out, v,
                                c->lost ? "it failed or was missing in a process"
                                        : "no pair of processes measured both times");
    }
}

/* Makes the verdicts on sizes and errors AMBIGUOUS, from number `from` on, because one build gave
 * different values in different processes. */
static void judge_unsteady(struct gcb_verdicts *out, size_t from)
{
    for (size_t i = from; i < out->count; i++) {
        struct gcb_verdict *v = &out->items[i];

        if (v->quantity != GCB_QUANTITY_SIZE && v->quantity != GCB_QUANTITY_ERROR)
            continue;
        v->kind = GCB_AMBIGUOUS;
        gcb_verdict_explain(out, v, "sizes or errors of one build changed from process to process");
    }
}

/* Adds the verdict GONE if the case failed in a process of the new build, and in no process of the
 * base. */
static void judge_failures(struct gcb_verdicts *out, const struct gcb_ab_case *c, unsigned pairs)
{
    if (!c->failed[1] || c->failed[0])
        return;
    gcb_verdict_explain(out, gcb_verdicts_add(out, &c->pair, GCB_QUANTITY_CASE, GCB_GONE),
                        "it failed in %u of %u processes, and in none of the base%s%.200s",
                        c->failed[1], pairs, c->why ? ": " : "", c->why ? c->why : "");
}

void gcb_ab_judge(struct gcb_verdicts *out, struct gcb_ab_result *r,
                  const struct gcb_ab_config *config)
{
    run_tests(r);
    for (size_t i = 0; i < r->count; i++) {
        const struct gcb_ab_case *c = &r->cases[i];
        const size_t from = out->count;
        const bool timed = gcb_compare_rows(out, &r->runs, &c->pair);

        judge_failures(out, c, r->pairs);
        if (c->unsteady)
            judge_unsteady(out, from);
        if (timed)
            judge_times(out, c, config);
    }
}

/* Raises each delta of `r` to the difference that the A/A run `aa` shows between equal builds,
 * unless the delta is larger. The difference is the largest ratio of one build's time to the
 * other's in the 99 % interval, minus 1. */
static void calibrate(struct gcb_ab_result *r, struct gcb_ab_result *aa)
{
    size_t count;
    struct gcb_case_pair *pairs = gcb_pair_cases(&count, &r->runs.base, &aa->runs.base);

    run_tests(aa);
    /* `pairs` and the cases of a run begin with the cases of its base, in their order */
    for (size_t i = 0; i < count && pairs[i].base; i++)
        for (int op = 0; pairs[i].next && op < 2; op++) {
            const struct gcb_ab_times *t = &aa->cases[pairs[i].next - aa->runs.base.items].time[op];

            if (t->tested)
                r->cases[i].time[op].delta =
                    fmax(r->cases[i].time[op].delta, exp(t->farthest) - 1.0);
        }
    gcb_free(pairs);
}

const char *gcb_ab_same_build(const struct gcb_ab_result *r)
{
    const char *a = gcb_results_text(r->runs.base.environment, GCB_FIELD_BUILD_ID);
    const char *b = gcb_results_text(r->runs.next.environment, GCB_FIELD_BUILD_ID);

    return a && b && strcmp(a, b) == 0 ? a : NULL;
}

/* ---- one process ---- */

/* Ends a process. `err` is the status of reading its output. Returns the child's own error if the
 * child failed or reached a limit, else `err`. `bench` may exit with an error after it has written
 * rows that explain the failure. Then this function returns 0, and the rows are judged. */
static int finish_process(const struct runner *run, struct gcb_child *child,
                          const struct gcb_cases *cases, int err, struct gcb_diag *diag)
{
    const bool ended = child->late || child->stopped;
    struct gcb_diag own = {.status = 0};
    int status, meaning;

    if (err && !ended)
        child->deadline = gcb_clock() + 1.0; /* a second for the child to fail by itself */
    if (!gcb_child_finish(child, &status, &own) || (err && child->late && !ended))
        return err;
    meaning = run->config->command.failure(status);
    for (size_t i = 0; !err && status > 0 && i < cases->count; i++)
        if (cases->items[i].status == GCB_CASE_FAILED ||
            (cases->items[i].status == GCB_CASE_UNSUPPORTED && meaning == GCB_E_BACKEND))
            return 0;
    return gcb_diag_set(diag, meaning, "%s", own.text);
}

/* Sets argv[0] to the program of the build. If the build has a layout, links its program anew
 * first. */
static int choose_program(struct runner *run, int build, struct gcb_diag *diag)
{
    struct gcb_layout *layout = run->config->layouts[build];
    const double began = gcb_clock();
    int err = 0;

    if (layout)
        err = gcb_layout_link(layout, ++run->links, diag);
    run->linking = gcb_clock() - began;
    run->config->command.argv[0] =
        (char *)(uintptr_t)(layout ? gcb_layout_path(layout) : run->config->exe[build]);
    return err;
}

/* Runs one process and reads its cases. Sets took and slowdown. */
static int run_process(struct runner *run, struct gcb_cases *cases, int build,
                       struct gcb_diag *diag)
{
    const struct gcb_ab_config *config = run->config;
    const struct gcb_ab_command *command = &config->command;
    const struct gcb_child_limits limits = {
        .seconds = run->limit, .stop = config->watch.stop, .ctx = config->watch.ctx};
    const double began = gcb_clock();
    struct gcb_child child;
    int err;

    if (command->word)
        snprintf(command->word, GCB_AB_WORD, "%u", run->repeat);
    err = gcb_child_start(&child, command->argv, &limits, diag);
    if (!err) {
        err = gcb_cases_read(cases, config->exe[build], child.out, diag);
        err = finish_process(run, &child, cases, err, diag);
    }
    run->took = gcb_clock() - began;
    run->slowdown = child.cpu > 0.0 ? fmax(1.0, run->took / child.cpu) : 1.0;
    return err;
}

/* ---- the plan ---- */

/* Returns the seconds of one call of every case, except kernels, because `bench` chooses how often
 * it calls a kernel. */
static double sum_of_calls(const struct gcb_cases *cases)
{
    double sum = 0.0;

    for (size_t i = 0; i < cases->count; i++)
        for (int op = 0; op < 2 && !cases->items[i].kernel; op++)
            if (isfinite(cases->items[i].time[op].seconds))
                sum += cases->items[i].time[op].seconds;
    return sum;
}

/* Runs the first process of each build, which shows the cases and how long a process takes, and
 * labels the cases. Sets the members of `run` that make_plan uses: took and slowdown are those of
 * the faster process, and took includes the mean time of linking. */
static int run_first(struct gcb_ab_result *out, struct runner *run, struct gcb_diag *diag)
{
    const struct gcb_ab_config *c = run->config;
    struct gcb_cases *const cases[] = {&out->runs.base, &out->runs.next};
    double least = INFINITY, slowdown = 1.0, linking = 0.0;
    int err = 0;

    run->repeat = c->command.word ? 1 : 0;
    run->limit = c->timeout > 0.0 ? c->timeout : fmax(FIRST_SECONDS, c->budget);
    for (int build = 0; !err && build < 2; build++) {
        /* The first processes run the builds as they are. A program is linked only to measure how
         * long that takes. */
        err = choose_program(run, build, diag);
        run->pair += run->linking;
        linking += run->linking / 2.0;
        run->config->command.argv[0] = (char *)(uintptr_t)c->exe[build];
        if (!err)
            err = run_process(run, cases[build], build, diag);
        slowdown = run->took < least ? run->slowdown : slowdown;
        least = fmin(least, run->took);
        run->pair += run->took;
    }
    run->took = least + linking;
    run->slowdown = slowdown;
    if (!err)
        gcb_cases_label(&out->runs.base, &out->runs.next);
    return err;
}

/* Chooses the most pairs, the calls of each process and the time limit of a process, so that the
 * pairs fill the budget. Returns GCB_E_INVALID if the budget is too small. */
static int make_plan(struct gcb_ab_result *out, struct runner *run, struct gcb_diag *diag)
{
    const struct gcb_ab_config *c = run->config;
    const double most = c->pairs ? c->pairs : GCB_AB_MOST;
    const double budget = PLAN_SHARE * c->budget;
    /* Seconds of one call of every case. The median of calls does not contain the time in which a
     * process waits for other programs, so multiply by the slowdown. */
    const double calls = run->slowdown * sum_of_calls(&out->runs.base);
    /* Seconds of a process without calls: each case was called twice, once to warm up. `took` is
     * the time of the faster process. The slower process may have been disturbed, and that would
     * count as overhead, so that the plan would have too few and too long processes. */
    const double overhead = fmax(0.0, run->took - 2.0 * calls);
    const double least = GCB_AB_PAIRS * run->pair; /* seconds of the fewest pairs */
    double each = run->took;                       /* planned seconds of a process */

    if (least > OVER_BUDGET * c->budget)
        return gcb_invalid(
            diag,
            "%d pairs of processes of %.2g s take %.0f s, but the budget is %.0f s: give more time "
            "(--budget), or choose fewer cases (--method, --dataset, ...)",
            GCB_AB_PAIRS, run->pair / 2.0, least, c->budget);
    if (run->repeat && calls > 0.0) {
        /* Plan as many pairs as possible without processes that consist mostly of overhead. Plan
         * as many calls as fit into a process's part of the budget. */
        const double cheap = fmax(CALLS_LEAST, floor(CALLS_SHARE * overhead / calls));

        each = fmax(budget / (2.0 * most), overhead + (cheap + 1.0) * calls);
        each = fmax(run->took, fmin(each, budget / (2.0 * GCB_AB_PAIRS)));
        run->repeat =
            (unsigned)fmin(REPEAT_MOST, fmax(1.0, floor((each - overhead) / calls) - 1.0));
    }
    if (run->repeat && calls <= 0.0)
        run->repeat = CALLS_LEAST;
    out->most = (unsigned)fmax(most, GCB_AB_PAIRS); /* the budget may end the run sooner */
    /* a process that takes ten times as long as planned hangs */
    run->limit = c->timeout > 0.0 ? c->timeout : fmax(FIRST_SECONDS, 10.0 * fmax(each, run->pair));
    out->repeat = run->repeat;
    return 0;
}

/* Makes out->cases from the first processes. Each of the two operations of a case gets three arrays
 * of out->most values: the seconds of both builds, and the logarithms. */
static void make_cases(struct gcb_ab_result *out, double delta)
{
    struct gcb_case_pair *pairs = gcb_pair_cases(&out->count, &out->runs.base, &out->runs.next);

    out->cases = gcb_must_zero(out->count, sizeof(*out->cases));
    out->times = gcb_must_array(2 * 3 * (uint64_t)out->most * out->count, sizeof(*out->times));
    for (size_t i = 0; i < out->count; i++) {
        struct gcb_ab_case *c = &out->cases[i];

        c->pair = pairs[i];
        c->timed = c->pair.base && c->pair.next && !c->pair.base->status && !c->pair.next->status;
        for (int op = 0; op < 2; op++) {
            double *room = out->times + 3 * out->most * (2 * i + (size_t)op);

            c->time[op] = (struct gcb_ab_times){
                .seconds = {room, room + out->most}, .logs = room + 2 * out->most, .delta = delta};
        }
    }
    gcb_free(pairs);
}

/* ---- the pairs and the whole run ---- */

/* True if the case has the same size and error as in the first process, within the tolerance of
 * its method. */
static bool is_steady(const struct gcb_case *first, const struct gcb_case *now)
{
    const double tolerance = gcb_compare_tolerance(first);
    const double size = (double)first->wire_bytes;

    if (fabs((double)now->wire_bytes - size) > tolerance * size)
        return false;
    return isnan(first->errors[0]) ? isnan(now->errors[0])
                                   : fabs(now->errors[0] - first->errors[0]) <= tolerance;
}

/* Stores one process's result for the case. `now` is NULL if the process has no such case. */
static void store_case(struct gcb_ab_case *c, const struct gcb_case *now, int build, unsigned pair)
{
    const struct gcb_case *first = build ? c->pair.next : c->pair.base;

    for (int op = 0; op < 2; op++)
        c->time[op].seconds[build][pair] = now ? now->time[op].seconds : NAN;
    c->lost |= !now || now->status;
    c->unsteady |= now && !now->status && !is_steady(first, now);
    if (!now || now->status != GCB_CASE_FAILED)
        return;
    c->failed[build]++;
    if (build && !c->why && now->reason)
        c->why = gcb_must_strdup(now->reason);
}

/* Stores the cases of one process. `first` has the cases of the first process of the same build. */
static void store_process(struct gcb_ab_result *out, const struct gcb_cases *first,
                          const struct gcb_cases *now, int build)
{
    size_t count;
    struct gcb_case_pair *pairs = gcb_pair_cases(&count, first, now);

    for (size_t i = 0; i < out->count; i++) {
        struct gcb_ab_case *c = &out->cases[i];
        const struct gcb_case *wanted = build ? c->pair.next : c->pair.base;

        /* `pairs` has the order of `first` */
        if (c->timed)
            store_case(c, pairs[wanted - first->items].next, build, out->pairs);
    }
    gcb_free(pairs);
}

/* Keeps the times of each case that both processes of the pair timed, and the logarithm of their
 * ratio. */
static void close_pair(struct gcb_ab_result *out)
{
    for (size_t i = 0; i < out->count; i++)
        for (int op = 0; out->cases[i].timed && op < 2; op++) {
            struct gcb_ab_times *t = &out->cases[i].time[op];
            const double base = t->seconds[0][out->pairs], next = t->seconds[1][out->pairs];

            if (!isfinite(base) || !isfinite(next))
                continue;
            t->seconds[0][t->count] = base;
            t->seconds[1][t->count] = next;
            t->logs[t->count++] = log(next / base);
        }
    out->pairs++;
}

/* Runs a process of each build: the base first, but in every second pair the new build first. */
static int run_pair(struct gcb_ab_result *out, struct runner *run, struct gcb_diag *diag)
{
    const struct gcb_cases *const first[] = {&out->runs.base, &out->runs.next};
    int err = 0;

    for (int half = 0; !err && half < 2; half++) {
        const int build = (half + (int)(out->pairs % 2)) % 2;
        struct gcb_cases now = {.items = NULL};

        err = choose_program(run, build, diag);
        if (!err)
            err = run_process(run, &now, build, diag);
        if (!err)
            store_process(out, first[build], &now, build);
        gcb_cases_fini(&now);
    }
    if (!err)
        close_pair(out);
    return err;
}

/* True if every time is SAME, because only then may the run end early. A run that ended as soon as
 * a case looked slow would find slow cases by chance. */
static bool is_settled(struct gcb_ab_result *r, const struct gcb_ab_config *config)
{
    struct gcb_verdicts verdicts = {.items = NULL};
    bool same = true;

    gcb_ab_judge(&verdicts, r, config);
    for (size_t i = 0; i < verdicts.count; i++)
        if (gcb_quantities[verdicts.items[i].quantity].is_time)
            same &= verdicts.items[i].kind == GCB_SAME;
    gcb_verdicts_fini(&verdicts);
    return same;
}

/* Reduces the calls of a process if the rest of GCB_AB_PAIRS pairs would take longer than `left`
 * seconds at the present pace. That happens if the machine becomes slower, or if the first pair was
 * not typical. */
static void adjust_repeat(struct gcb_ab_result *out, struct runner *run, double left)
{
    const unsigned pairs = out->pairs - run->paced;
    const double now = gcb_clock();
    double need;

    if (pairs == 0 || run->repeat <= 1 || out->pairs >= GCB_AB_PAIRS)
        return;
    need = (now - run->since) / pairs * (GCB_AB_PAIRS - out->pairs);
    if (need <= left)
        return;
    run->repeat = (unsigned)fmax(1.0, floor(run->repeat * fmax(left, 0.0) / need));
    run->since = now;
    run->paced = out->pairs;
    out->repeat = run->repeat;
}

enum { CHECK_EVERY = 5 }; /* pairs between two tests whether the run may end early */

/* Runs GCB_AB_PAIRS pairs, or fewer if they take more than GIVE_UP budgets. Then runs more until
 * every time is SAME, or the budget or the number of pairs is used up. `began` is the clock at the
 * start of the run. */
static int run_pairs(struct gcb_ab_result *out, struct runner *run, double began,
                     struct gcb_diag *diag)
{
    const struct gcb_ab_config *c = run->config;
    bool settled = false;
    int err = 0;

    run->since = gcb_clock();
    while (!err && !settled && out->pairs < out->most) {
        const double used = gcb_clock() - began;
        const double next = used + used / fmax(1.0, out->pairs); /* `used` after another pair */
        const bool enough = out->pairs >= GCB_AB_PAIRS;

        gcb_watch_show(&c->watch, fmax(used / c->budget, (double)out->pairs / out->most));
        if ((enough && next > c->budget) || used > GIVE_UP * c->budget)
            break;
        adjust_repeat(out, run, c->budget - used);
        err = run_pair(out, run, diag);
        if (!err && out->pairs >= GCB_AB_PAIRS && out->pairs % CHECK_EVERY == 0)
            settled = is_settled(out, c);
    }
    out->short_of_time = out->pairs < GCB_AB_PAIRS;
    if (err && out->pairs && gcb_watch_stopped(&c->watch)) {
        out->interrupted = true;
        return 0;
    }
    return err;
}

int gcb_ab_run(struct gcb_ab_result *out, const struct gcb_ab_config *config, struct gcb_diag *diag)
{
    const double began = gcb_clock();
    struct runner run = {.config = config};
    int err;

    memset(out, 0, sizeof(*out));
    err = run_first(out, &run, diag);
    if (!err)
        err = make_plan(out, &run, diag);
    if (!err)
        make_cases(out, config->delta > 0.0 ? config->delta : GCB_AB_DELTA);
    if (!err && config->calibration)
        calibrate(out, config->calibration);
    if (!err)
        err = run_pairs(out, &run, began, diag);
    out->seconds = gcb_clock() - began;
    return err;
}

void gcb_ab_result_fini(struct gcb_ab_result *r)
{
    for (size_t i = 0; r->cases && i < r->count; i++)
        gcb_free(r->cases[i].why);
    gcb_free(r->cases);
    gcb_free(r->times);
    gcb_cases_fini(&r->runs.base);
    gcb_cases_fini(&r->runs.next);
    memset(r, 0, sizeof(*r));
}
