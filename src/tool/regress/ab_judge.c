#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/measure/resample.h"
#include "src/tool/measure/stats.h"
#include "src/tool/regress/ab_run.h"
#include "src/tool/rows/results.h"

#define DRAWS 10000 /* samples that the bootstrap draws */

/* Tests whether one operation of one case takes the same time in both builds. */
struct test {
    const struct gcb_ab_case *of_case;
    int op;
    double median, low, high; /* log(new time / base time): median and 95 % interval */
    double farthest;          /* distance from 0 to the farther end of the 99 % interval */
    double p;
};

/* ---- statistics ---- */

static double median_of(double *scratch, const double *values, size_t count)
{
    memcpy(scratch, values, count * sizeof(*values));
    gcb_sort_reals(scratch, count);
    return gcb_quantile(scratch, count, 0.5);
}

/* `medians` is scratch with room for DRAWS values, and for a value of each pair. */
static int run_test(struct test *t, double *medians, struct gcb_diag *diag)
{
    const struct gcb_ab_times *times = &t->of_case->time[t->op];
    const size_t n = times->count;
    size_t above = 0, below = 0;
    const int err = gcb_resample_medians(medians, DRAWS, times->logs, n, GCB_AB_SEED, diag);

    if (err)
        return err;
    for (size_t i = 0; i < n; i++) {
        above += times->logs[i] > 0.0;
        below += times->logs[i] < 0.0;
    }
    t->low = gcb_quantile(medians, DRAWS, 0.025);
    t->high = gcb_quantile(medians, DRAWS, 0.975);
    t->farthest =
        fmax(fabs(gcb_quantile(medians, DRAWS, 0.005)), fabs(gcb_quantile(medians, DRAWS, 0.995)));
    t->p = fmin(1.0, 2.0 * gcb_sign_test(above > below ? above : below, n));
    t->median = median_of(medians, times->logs, n);
    return 0;
}

/* Tests all times, and adjusts the p-values for the number of tests. The caller releases *out
 * with gcb_free. */
static int run_tests(struct test **out, size_t *count, const struct gcb_ab_result *r,
                     struct gcb_diag *diag)
{
    const size_t most = 2 * r->count;
    struct test *tests = gcb_alloc_array(most, sizeof(*tests));
    double *medians = gcb_alloc_array(DRAWS > r->most ? DRAWS : r->most, sizeof(*medians));
    double *p = gcb_alloc_array(most, sizeof(*p));
    int err = tests && medians && p ? 0 : gcb_diag_nomem(diag, DRAWS * sizeof(*medians), "tests");

    *out = tests;
    *count = 0;
    for (size_t i = 0; !err && i < most; i++) {
        const struct gcb_ab_case *c = &r->cases[i / 2];
        struct test *t = &tests[*count];

        if (!c->timed || c->lost || !c->time[i % 2].count)
            continue;
        *t = (struct test){.of_case = c, .op = (int)(i % 2)};
        err = run_test(t, medians, diag);
        p[(*count)++] = t->p;
    }
    if (!err)
        err = gcb_holm(p, p, *count, diag);
    for (size_t i = 0; !err && i < *count; i++)
        tests[i].p = p[i];
    gcb_free(medians);
    gcb_free(p);
    return err;
}

/* ---- verdicts ---- */

/* Sets *why to the reason for the verdict if the interval does not show the reason, otherwise to
 * "". Static text. */
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

static int judge_test(struct gcb_verdicts *out, struct gcb_verdict *v, const struct test *t,
                      double floor, struct gcb_diag *diag)
{
    const struct gcb_ab_times *times = &t->of_case->time[t->op];
    double *scratch = gcb_alloc_array(times->count, sizeof(*scratch));
    const char *why;

    if (!scratch)
        return gcb_diag_nomem(diag, times->count * sizeof(*scratch), "times");
    v->base = median_of(scratch, times->seconds[0], times->count);
    v->next = median_of(scratch, times->seconds[1], times->count);
    gcb_free(scratch);
    v->ratio = exp(t->median);
    v->low = exp(t->low);
    v->high = exp(t->high);
    v->p = t->p;
    v->pairs = times->count;
    v->kind = choose_kind(v, floor, &why);
    if (v->kind == GCB_AMBIGUOUS &&
        !why[0]) /* without figures, so that equal causes are listed once */
        gcb_verdict_explain(out, v, "inconclusive: the interval contains the threshold of %.3g %%",
                            100.0 * v->delta);
    else if (v->kind != GCB_SAME)
        gcb_verdict_explain(out, v, "%+.1f %% (%+.1f to %+.1f %%) in %zu pairs, delta is %.1f %%%s",
                            100.0 * (v->ratio - 1.0), 100.0 * (v->low - 1.0),
                            100.0 * (v->high - 1.0), times->count, 100.0 * v->delta, why);
    return 0;
}

/* Returns the floor: shorter times are not judged. Kernels have no floor by default, because
 * `bench` times many calls of a kernel together. */
static double choose_floor(const struct gcb_ab_case *c, const struct gcb_ab_config *config)
{
    if (config->floor >= 0.0)
        return config->floor;
    return c->pair.base->kernel ? 0.0 : GCB_AB_FLOOR;
}

/* *next is the case's first test, if the case has any. Moves *next past the case's tests. */
static int judge_times(struct gcb_verdicts *out, const struct gcb_ab_case *c,
                       const struct test **next, const struct test *end,
                       const struct gcb_ab_config *config, struct gcb_diag *diag)
{
    const bool kernel = c->pair.base->kernel;
    int err = 0;

    for (int op = 0; !err && op < (kernel ? 1 : 2); op++) {
        const enum gcb_quantity quantity =
            kernel ? GCB_QUANTITY_KERNEL : GCB_QUANTITY_ENCODE + (enum gcb_quantity)op;
        struct gcb_verdict *v = gcb_verdicts_add(out, &c->pair, quantity, GCB_NOT_COMPARED);

        v->delta = c->time[op].delta;
        if (*next < end && (*next)->of_case == c && (*next)->op == op)
            err = judge_test(out, v, (*next)++, choose_floor(c, config), diag);
        else
            gcb_verdict_explain(out, v,
                                c->lost ? "it failed or was missing in a process"
                                        : "no process measured its time");
    }
    return err;
}

/* Marks the verdicts about sizes and errors as ambiguous, from number `from` on: they cannot be
 * compared, because one build gave different values in different processes. */
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

/* A case is GONE if it failed in any process of the new build and in none of the base. */
static void judge_failures(struct gcb_verdicts *out, const struct gcb_ab_case *c, unsigned pairs)
{
    if (!c->failed[1] || c->failed[0])
        return;
    gcb_verdict_explain(out, gcb_verdicts_add(out, &c->pair, GCB_QUANTITY_CASE, GCB_GONE),
                        "it failed in %u of %u processes, and in none of the base%s%.200s",
                        c->failed[1], pairs, c->why ? ": " : "", c->why ? c->why : "");
}

int gcb_ab_judge(struct gcb_verdicts *out, const struct gcb_ab_result *r,
                 const struct gcb_ab_config *config, struct gcb_diag *diag)
{
    struct test *tests;
    const struct test *next;
    size_t count;
    int err = run_tests(&tests, &count, r, diag);

    next = tests;
    for (size_t i = 0; !err && i < r->count; i++) {
        const struct gcb_ab_case *c = &r->cases[i];
        const size_t from = out->count;
        const bool timed = gcb_compare_rows(out, &r->runs, &c->pair);

        judge_failures(out, c, r->pairs);
        if (c->unsteady)
            judge_unsteady(out, from);
        if (timed)
            err = judge_times(out, c, &next, tests + count, config, diag);
        while (next < tests + count && next->of_case == c)
            next++;
    }
    gcb_free(tests);
    return err ? err : gcb_verdicts_check(out, diag);
}

int gcb_ab_calibrate(struct gcb_ab_result *r, const struct gcb_ab_result *aa, struct gcb_diag *diag)
{
    struct gcb_case_pair *pairs = NULL;
    struct test *tests;
    size_t count = 0, pair_count = 0;
    int err = run_tests(&tests, &count, aa, diag);

    if (!err)
        err = gcb_pair_cases(&pairs, &pair_count, &aa->runs.base, &r->runs.base, diag);
    for (size_t i = 0; !err && i < count; i++) {
        const struct gcb_case *own = pairs[tests[i].of_case->pair.base - aa->runs.base.items].next;
        const double shown = exp(tests[i].farthest) - 1.0;

        for (size_t k = 0; own && k < r->count; k++)
            if (r->cases[k].pair.base == own)
                r->cases[k].time[tests[i].op].delta =
                    fmax(r->cases[k].time[tests[i].op].delta, shown);
    }
    gcb_free(pairs);
    gcb_free(tests);
    return err;
}

const char *gcb_ab_same_build(const struct gcb_ab_result *r)
{
    const char *a = gcb_results_text(r->runs.base.environment, GCB_FIELD_BUILD_ID);
    const char *b = gcb_results_text(r->runs.next.environment, GCB_FIELD_BUILD_ID);

    return a && b && strcmp(a, b) == 0 ? a : NULL;
}
