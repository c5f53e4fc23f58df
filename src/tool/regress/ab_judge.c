#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/measure/stats.h"
#include "src/tool/regress/ab_run.h"
#include "src/tool/rows/results.h"

#define DRAWS 10000 /* samples that the bootstrap draws */

/* ---- statistics ---- */

static double median_of(double *scratch, const double *values, size_t count)
{
    memcpy(scratch, values, count * sizeof(*values));
    gcb_sort_reals(scratch, count);
    return gcb_quantile(scratch, count, 0.5);
}

/* Tests whether an operation of a case takes the same time in both builds. `medians` is scratch
 * with room for DRAWS values, and for a value of each pair. */
static int run_test(struct gcb_ab_times *t, double *medians, struct gcb_diag *diag)
{
    const int err = gcb_resample_medians(medians, DRAWS, t->logs, t->count, GCB_AB_SEED, diag);
    size_t above = 0, below = 0;

    if (err)
        return err;
    for (size_t i = 0; i < t->count; i++) {
        above += t->logs[i] > 0.0;
        below += t->logs[i] < 0.0;
    }
    t->low = gcb_quantile(medians, DRAWS, 0.025);
    t->high = gcb_quantile(medians, DRAWS, 0.975);
    t->farthest =
        fmax(fabs(gcb_quantile(medians, DRAWS, 0.005)), fabs(gcb_quantile(medians, DRAWS, 0.995)));
    t->p = fmin(1.0, 2.0 * gcb_sign_test(above > below ? above : below, t->count));
    t->median = median_of(medians, t->logs, t->count);
    for (int build = 0; build < 2; build++)
        t->medians[build] = median_of(medians, t->seconds[build], t->count);
    return 0;
}

/* Tests all times, and adjusts the p-values for the number of tests. */
static int run_tests(struct gcb_ab_result *r, struct gcb_diag *diag)
{
    struct gcb_ab_times **tested = gcb_alloc_array(2 * r->count, sizeof(*tested));
    double *medians = gcb_alloc_array(DRAWS > r->most ? DRAWS : r->most, sizeof(*medians));
    double *p = gcb_alloc_array(2 * r->count, sizeof(*p));
    size_t count = 0;
    int err = tested && medians && p ? 0 : gcb_diag_nomem(diag, DRAWS * sizeof(*medians), "tests");

    for (size_t i = 0; !err && i < 2 * r->count; i++) {
        struct gcb_ab_case *c = &r->cases[i / 2];
        struct gcb_ab_times *t = &c->time[i % 2];

        t->tested = c->timed && !c->lost && t->count;
        if (!t->tested)
            continue;
        err = run_test(t, medians, diag);
        tested[count] = t;
        p[count++] = t->p;
    }
    if (!err)
        err = gcb_holm(p, p, count, diag);
    for (size_t i = 0; !err && i < count; i++)
        tested[i]->p = p[i];
    gcb_free(tested);
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
    if (v->kind == GCB_AMBIGUOUS &&
        !why[0]) /* without figures, so that equal causes are listed once */
        gcb_verdict_explain(out, v, "inconclusive: the interval contains the threshold of %.3g %%",
                            100.0 * v->delta);
    else if (v->kind != GCB_SAME)
        gcb_verdict_explain(out, v, "%+.1f %% (%+.1f to %+.1f %%) in %zu pairs, delta is %.1f %%%s",
                            100.0 * (v->ratio - 1.0), 100.0 * (v->low - 1.0),
                            100.0 * (v->high - 1.0), t->count, 100.0 * v->delta, why);
}

/* Returns the floor: shorter times are not judged. Kernels have no floor by default, because
 * `bench` times many calls of a kernel together. */
static double choose_floor(const struct gcb_ab_case *c, const struct gcb_ab_config *config)
{
    if (config->floor >= 0.0)
        return config->floor;
    return c->pair.base->kernel ? 0.0 : GCB_AB_FLOOR;
}

static void judge_times(struct gcb_verdicts *out, const struct gcb_ab_case *c,
                        const struct gcb_ab_config *config)
{
    for (int op = 0; op < c->pair.base->operations; op++) {
        const struct gcb_ab_times *t = &c->time[op];
        struct gcb_verdict *v = gcb_verdicts_add_time(out, &c->pair, op, t->delta);

        if (t->tested)
            judge_test(out, v, t, choose_floor(c, config));
        else
            gcb_verdict_explain(out, v,
                                c->lost ? "it failed or was missing in a process"
                                        : "no process measured its time");
    }
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

int gcb_ab_judge(struct gcb_verdicts *out, struct gcb_ab_result *r,
                 const struct gcb_ab_config *config, struct gcb_diag *diag)
{
    const int err = run_tests(r, diag);

    for (size_t i = 0; !err && i < r->count; i++) {
        const struct gcb_ab_case *c = &r->cases[i];
        const size_t from = out->count;
        const bool timed = gcb_compare_rows(out, &r->runs, &c->pair);

        judge_failures(out, c, r->pairs);
        if (c->unsteady)
            judge_unsteady(out, from);
        if (timed)
            judge_times(out, c, config);
    }
    return err ? err : gcb_verdicts_check(out, diag);
}

int gcb_ab_calibrate(struct gcb_ab_result *r, struct gcb_ab_result *aa, struct gcb_diag *diag)
{
    struct gcb_case_pair *pairs = NULL;
    size_t count = 0;
    int err = run_tests(aa, diag);

    if (!err)
        err = gcb_pair_cases(&pairs, &count, &r->runs.base, &aa->runs.base, diag);
    /* `pairs` and the cases of a run begin with the cases of its base, in their order */
    for (size_t i = 0; i < count && pairs[i].base; i++)
        for (int op = 0; pairs[i].next && op < 2; op++) {
            const struct gcb_ab_times *t = &aa->cases[pairs[i].next - aa->runs.base.items].time[op];

            if (t->tested)
                r->cases[i].time[op].delta =
                    fmax(r->cases[i].time[op].delta, exp(t->farthest) - 1.0);
        }
    gcb_free(pairs);
    return err;
}

const char *gcb_ab_same_build(const struct gcb_ab_result *r)
{
    const char *a = gcb_results_text(r->runs.base.environment, GCB_FIELD_BUILD_ID);
    const char *b = gcb_results_text(r->runs.next.environment, GCB_FIELD_BUILD_ID);

    return a && b && strcmp(a, b) == 0 ? a : NULL;
}
