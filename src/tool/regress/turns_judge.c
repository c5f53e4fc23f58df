#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/regress/turns.h"
#include "src/tool/rows/results.h"
#include "src/tool/timing/resample.h"
#include "src/tool/timing/stats.h"

#define DRAWS 10000 /* of the bootstrap */

/* What is tested: one operation of one case. */
struct test {
    const struct gcb_turns_case *of;
    int op;
    double middle, low, high; /* of the log of the ratio; 95 % */
    double far;               /* the farther end of its 99 % interval from 0 */
    double p;                 /* that the ratio is 1 */
};

static double median_of(double *scratch, const double *values, size_t count)
{
    memcpy(scratch, values, count * sizeof(*values));
    gcb_sort_reals(scratch, count);
    return gcb_quantile(scratch, count, 0.5);
}

/* How many ratios are above 1, or below. */
static size_t beside(const struct gcb_turns_times *t, bool above)
{
    size_t n = 0;

    for (size_t i = 0; i < t->count; i++)
        n += above ? t->logs[i] > 0.0 : t->logs[i] < 0.0;
    return n;
}

static int examine(struct test *t, double *medians, struct gcb_diag *diag)
{
    const struct gcb_turns_times *times = &t->of->time[t->op];
    const size_t n = times->count, above = beside(times, true), below = beside(times, false);
    const int err = gcb_resample_medians(medians, DRAWS, times->logs, n, GCB_TURNS_SEED, diag);

    if (err)
        return err;
    t->low = gcb_quantile(medians, DRAWS, 0.025);
    t->high = gcb_quantile(medians, DRAWS, 0.975);
    t->far =
        fmax(fabs(gcb_quantile(medians, DRAWS, 0.005)), fabs(gcb_quantile(medians, DRAWS, 0.995)));
    t->p = fmin(1.0, 2.0 * gcb_sign_test(above > below ? above : below, n));
    gcb_sort_reals(memcpy(medians, times->logs, n * sizeof(*medians)), n);
    t->middle = gcb_quantile(medians, n, 0.5);
    return 0;
}

/* The tests there are; returns how many. `out` has room for two a case. */
static size_t list(struct test *out, const struct gcb_turns *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->count; i++)
        for (int op = 0; op < 2; op++)
            if (t->cases[i].timed && !t->cases[i].lost && t->cases[i].time[op].count)
                out[n++] = (struct test){.of = &t->cases[i], .op = op};
    return n;
}

/* Intervals and adjusted p-values of all of them; none has more than `most` pairs. */
static int examine_all(struct test *tests, size_t count, size_t most, struct gcb_diag *diag)
{
    double *medians = gcb_alloc_array(DRAWS > most ? DRAWS : most, sizeof(*medians));
    double *p = gcb_alloc_array(count, sizeof(*p));
    int err = medians && p ? 0 : gcb_diag_nomem(diag, DRAWS * sizeof(*medians), "the bootstrap");

    for (size_t i = 0; !err && i < count; i++) {
        err = examine(&tests[i], medians, diag);
        p[i] = tests[i].p;
    }
    if (!err)
        err = gcb_holm(p, p, count, diag);
    for (size_t i = 0; !err && i < count; i++)
        tests[i].p = p[i];
    gcb_free(medians);
    gcb_free(p);
    return err;
}

/* The rule. *why: what it hangs on, a static text. */
static enum gcb_verdict_kind rule(const struct test *t, const struct gcb_verdict *v, double floor,
                                  const char **why)
{
    const enum gcb_verdict_kind kind = gcb_verdict_judge(v->low, v->high, v->delta);

    *why = "; too few pairs to judge by";
    if (v->pairs < GCB_TURNS_PAIRS)
        return GCB_AMBIGUOUS;
    *why = "";
    if (kind == GCB_SAME)
        return kind;
    if (fmax(v->base, v->next) < floor) {
        *why = "; so short a time is not judged (--floor)";
        return GCB_NOT_COMPARED;
    }
    if (kind != GCB_AMBIGUOUS && t->p > GCB_TURNS_ALPHA) {
        *why = "; not sure enough among so many comparisons";
        return GCB_AMBIGUOUS;
    }
    return kind;
}

static int judge_test(struct gcb_verdict *v, const struct test *t, double floor)
{
    const struct gcb_turns_times *times = &t->of->time[t->op];
    double *scratch = gcb_alloc_array(times->count, sizeof(*scratch));
    const char *why;

    if (!scratch)
        return GCB_E_NOMEM;
    v->base = median_of(scratch, times->seconds[0], times->count);
    v->next = median_of(scratch, times->seconds[1], times->count);
    gcb_free(scratch);
    v->ratio = exp(t->middle);
    v->low = exp(t->low);
    v->high = exp(t->high);
    v->delta = times->delta;
    v->p = t->p;
    v->pairs = times->count;
    v->kind = rule(t, v, floor, &why);
    if (v->kind == GCB_SAME)
        return 0;
    if (v->kind == GCB_AMBIGUOUS && !why[0]) /* no figures: the same words for all of them */
        return gcb_verdict_say(v, "the interval reaches beyond delta and is not all beyond it");
    return gcb_verdict_say(v, "%+.1f %% (%+.1f to %+.1f %%) in %zu pairs, delta is %.1f %%%s",
                           100.0 * (v->ratio - 1.0), 100.0 * (v->low - 1.0),
                           100.0 * (v->high - 1.0), times->count, 100.0 * v->delta, why);
}

/* Times of a case that has no ratio. */
static int judge_lost(struct gcb_verdict *v, const struct gcb_turns_case *c, int op)
{
    v->delta = c->time[op].delta;
    if (c->lost)
        return gcb_verdict_say(v, "it did not work in every process");
    return gcb_verdict_say(v, "no process has a time for it");
}

static int judge_times(struct gcb_verdicts *out, const struct gcb_turns_case *c,
                       const struct test **next, const struct test *end, double floor)
{
    const bool kernel = c->match.base->kernel;
    int err = 0;

    for (int op = 0; !err && op < (kernel ? 1 : 2); op++) {
        const enum gcb_quantity of = kernel ? GCB_OF_KERNEL : GCB_OF_ENCODE + (enum gcb_quantity)op;
        struct gcb_verdict *v = gcb_verdicts_add(out, &c->match, of, GCB_NOT_COMPARED);

        if (!v)
            return GCB_E_NOMEM;
        if (*next < end && (*next)->of == c && (*next)->op == op)
            err = judge_test(v, (*next)++, floor);
        else
            err = judge_lost(v, c, op);
    }
    return err;
}

/* A build that does not do the same twice cannot be compared byte for byte. */
static int judge_unsteady(struct gcb_verdicts *out, size_t from)
{
    int err = 0;

    for (size_t i = from; !err && i < out->count; i++) {
        if (out->items[i].quantity != GCB_OF_SIZE && out->items[i].quantity != GCB_OF_ERROR)
            continue;
        out->items[i].kind = GCB_AMBIGUOUS;
        err = gcb_verdict_say(&out->items[i], "sizes or errors of one build changed from process "
                                              "to process");
    }
    return err;
}

/* A build that fails now and then, where the other does not, fails. */
static int judge_failures(struct gcb_verdicts *out, const struct gcb_turns_case *c, unsigned pairs)
{
    struct gcb_verdict *v;

    if (!c->failed[1] || c->failed[0])
        return 0;
    v = gcb_verdicts_add(out, &c->match, GCB_OF_CASE, GCB_GONE);
    return v ? gcb_verdict_say(v,
                               "it failed in %u of %u processes, and in none of the base%s%.200s",
                               c->failed[1], pairs, c->why ? ": " : "", c->why ? c->why : "")
             : GCB_E_NOMEM;
}

static int judge_case(struct gcb_verdicts *out, const struct gcb_turns *t,
                      const struct gcb_turns_case *c, bool *timed, struct gcb_diag *diag)
{
    const size_t from = out->count;
    int err = gcb_compare_rows(out, &t->runs, &c->match, timed, diag);

    if (!err && judge_failures(out, c, t->pairs))
        err = gcb_diag_nomem(diag, 0, "verdicts");
    if (!err && c->unsteady && judge_unsteady(out, from))
        err = gcb_diag_nomem(diag, 0, "verdicts");
    return err;
}

/* Times below are too short to judge. One call of a kernel is a share of many. */
static double floor_of(const struct gcb_turns_case *c, const struct gcb_turns_config *config)
{
    if (config->floor >= 0.0)
        return config->floor;
    return c->match.base && c->match.base->kernel ? 0.0 : GCB_TURNS_FLOOR;
}

int gcb_turns_judge(struct gcb_verdicts *out, const struct gcb_turns *t,
                    const struct gcb_turns_config *config, struct gcb_diag *diag)
{
    struct test *tests = gcb_alloc_array(2 * t->count, sizeof(*tests));
    const struct test *next = tests, *end;
    int err;

    if (!tests)
        return gcb_diag_nomem(diag, 2 * t->count * sizeof(*tests), "tests");
    end = tests + list(tests, t);
    err = examine_all(tests, (size_t)(end - tests), t->most, diag);
    for (size_t i = 0; !err && i < t->count; i++) {
        const struct gcb_turns_case *c = &t->cases[i];
        bool timed = false;

        err = judge_case(out, t, c, &timed, diag);
        if (!err && timed && judge_times(out, c, &next, end, floor_of(c, config)))
            err = gcb_diag_nomem(diag, 0, "verdicts");
        while (next < end && next->of == c)
            next++;
    }
    gcb_free(tests);
    return err;
}

int gcb_turns_calibrate(struct gcb_turns *t, const struct gcb_turns *aa, struct gcb_diag *diag)
{
    struct test *tests = gcb_alloc_array(2 * aa->count, sizeof(*tests));
    struct gcb_match *pairs = NULL;
    size_t count = 0, matched = 0;
    int err = tests ? 0 : gcb_diag_nomem(diag, 2 * aa->count * sizeof(*tests), "tests");

    if (!err) {
        count = list(tests, aa);
        err = examine_all(tests, count, aa->most, diag);
    }
    if (!err)
        err = gcb_match_cases(&pairs, &matched, &aa->runs.base, &t->runs.base, diag);
    for (size_t i = 0; !err && i < count; i++) {
        const size_t at = (size_t)(tests[i].of->match.base - aa->runs.base.items);
        const double shown = exp(tests[i].far) - 1.0;

        for (size_t k = 0; pairs[at].next && k < t->count; k++)
            if (t->cases[k].match.base == pairs[at].next)
                t->cases[k].time[tests[i].op].delta =
                    fmax(t->cases[k].time[tests[i].op].delta, shown);
    }
    gcb_free(pairs);
    gcb_free(tests);
    return err;
}

const char *gcb_turns_same_build(const struct gcb_turns *t)
{
    const char *a = gcb_results_text(t->runs.base.environment, "build_id");
    const char *b = gcb_results_text(t->runs.next.environment, "build_id");

    return a && b && strcmp(a, b) == 0 ? a : NULL;
}
