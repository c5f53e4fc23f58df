#include "src/tool/payoff/payoff_answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/rows/fields.h"

/* ---- one place ---- */

static bool counts(const struct gcb_payoff_point *p)
{
    return p->c && !p->verdict.doubt && !p->c->missed;
}

/* Have the points with this answer about the same error, or one target? */
static bool are_equal(const struct gcb_payoff_point *points, size_t methods, size_t stride,
                      enum gcb_payoff_answer answer)
{
    double least = INFINITY, most = 0.0, target = NAN;
    bool searched = true;

    for (size_t i = 0; i < methods; i++) {
        const struct gcb_payoff_point *p = &points[i * stride];

        if (!counts(p) || p->verdict.answer != answer)
            continue;
        least = fmin(least, p->rel_l2);
        most = fmax(most, p->rel_l2);
        searched &= p->c->searched && !(p->c->target < target) && !(p->c->target > target);
        target = p->c->target;
    }
    return searched || most <= GCB_PAYOFF_EQUAL * least;
}

/* Is the method the better one to name? */
static bool is_better(const struct gcb_payoff_place *best, const struct gcb_payoff_point *p)
{
    const double speedup = p->verdict.speedups[p->verdict.bar];

    if (!best->label || (!best->fastest && p->rel_l2 < best->rel_l2))
        return true;
    return speedup > best->speedup && (best->fastest || !(p->rel_l2 > best->rel_l2));
}

static void name(struct gcb_payoff_place *out, const struct gcb_payoff_point *p)
{
    const struct gcb_payoff_verdict *v = &p->verdict;

    out->label = p->c->label;
    out->speedup = v->speedups[v->bar];
    out->low = v->least_speedup;
    out->high = v->most_speedup;
    out->rel_l2 = p->rel_l2;
    out->enlarged = p->c->collectives & GCB_PAYOFF_LOSSY;
}

void gcb_payoff_place(struct gcb_payoff_place *out, const struct gcb_payoff_point *points,
                      size_t methods, size_t stride)
{
    *out = (struct gcb_payoff_place){.group = points->group->group,
                                     .workers = points->link.workers,
                                     .bandwidth = points->link.bandwidth,
                                     .bar = points->verdict.bar};
    for (size_t i = 0; i < methods; i++) {
        const struct gcb_payoff_point *p = &points[i * stride];

        if (!counts(p))
            continue;
        out->methods++;
        if (p->verdict.answer > out->answer)
            out->answer = p->verdict.answer;
    }
    out->fastest =
        out->answer == GCB_PAYOFF_UNDECIDED || are_equal(points, methods, stride, out->answer);
    for (size_t i = 0; i < methods; i++) {
        const struct gcb_payoff_point *p = &points[i * stride];

        if (!counts(p) || p->verdict.answer != out->answer || out->answer == GCB_PAYOFF_NO)
            continue;
        out->candidates++;
        if (is_better(out, p))
            name(out, p);
    }
}

/* ---- words ---- */

/* Which of bandwidth and workers differ between places. */
struct variety {
    bool bandwidths, workers, groups;
};

static struct variety find_variety(const struct gcb_payoff_place *places, size_t count)
{
    struct variety v = {false, false, false};

    for (size_t i = 1; i < count; i++) {
        v.bandwidths |=
            places[i].bandwidth < places->bandwidth || places[i].bandwidth > places->bandwidth;
        v.workers |= places[i].workers != places->workers;
        v.groups |= places[i].group != places->group;
    }
    return v;
}

static void say_value(char *out, size_t size, const struct gcb_payoff_place *p, bool bandwidth)
{
    char text[32];

    if (bandwidth)
        gcb_append(out, size, "%s", gcb_payoff_bandwidth_text(text, p->bandwidth));
    else
        gcb_append(out, size, "%u", p->workers);
}

#define LISTED 4 /* most values in a list */

/* Appends at which places the answer is this: "at 1 Gb/s, 10 Gb/s and 25 Gb/s", "with 8 workers" or "in 3 cases". */
static void say_where(char *out, size_t size, const struct gcb_payoff_place *places, size_t count,
                      enum gcb_payoff_answer answer, const struct variety *v)
{
    size_t n = 0, seen = 0;

    for (size_t i = 0; i < count; i++)
        n += places[i].answer == answer;
    if (v->groups || v->bandwidths == v->workers) {
        gcb_append(out, size, "in %zu case%s", n, n == 1 ? "" : "s");
        return;
    }
    gcb_append(out, size, v->bandwidths ? "at " : "with ");
    if (n > LISTED)
        gcb_append(out, size,
                   v->bandwidths ? "%zu bandwidths from " : "%zu numbers of workers from ", n);
    for (size_t i = 0; i < count; i++) {
        if (places[i].answer != answer)
            continue;
        seen++;
        if (n > LISTED && seen > 1 && seen < n)
            continue;
        if (seen > 1)
            gcb_append(out, size, n > LISTED ? " to " : seen == n ? " and " : ", ");
        say_value(out, size, &places[i], v->bandwidths);
    }
    if (!v->bandwidths && n <= LISTED)
        gcb_append(out, size, " workers");
}

static void say_place(char *out, size_t size, const struct gcb_payoff_place *p)
{
    char text[32];

    gcb_append(out, size, "at %s with %u workers", gcb_payoff_bandwidth_text(text, p->bandwidth),
               p->workers);
}

/* Appends what the method that is named gains. */
static void say_best(char *out, size_t size, const struct gcb_payoff_place *p)
{
    char error[32];

    gcb_append(out, size, "%s is %.3g times as fast as %s", p->label, p->speedup,
               gcb_baseline_names[p->bar]);
    if (p->answer == GCB_PAYOFF_YES && isfinite(p->high))
        gcb_append(out, size, " (%.3g to %.3g)", p->low, p->high);
    else if (p->answer == GCB_PAYOFF_YES)
        gcb_append(out, size, " (at least %.3g)", p->low);
    if (!isnan(p->rel_l2))
        gcb_append(out, size, ", with an error of %s%s", p->enlarged ? "more than " : "",
                   gcb_field_number(error, GCB_FIELD_REL_L2, p->rel_l2, 0));
    if (p->candidates > 1)
        gcb_append(out, size, ", the %s of %zu methods that %s",
                   p->fastest ? "fastest" : "most accurate", p->candidates,
                   p->answer == GCB_PAYOFF_YES ? "pay" : "may pay");
}

static void answer_one(char *out, size_t size, const struct gcb_payoff_place *p)
{
    if (p->answer == GCB_PAYOFF_NO) {
        gcb_append(out, size, "nothing beats %s ", gcb_baseline_names[p->bar]);
        say_place(out, size, p);
        return;
    }
    gcb_append(out, size, p->answer == GCB_PAYOFF_YES ? "compression pays " : "undecided ");
    say_place(out, size, p);
    gcb_append(
        out, size,
        p->answer == GCB_PAYOFF_YES
            ? ": "
            : ", because the intervals of the times are too wide or missing; by the medians ");
    say_best(out, size, p);
}

/* Appends for which places each answer holds. */
static void say_answers(char *out, size_t size, const struct gcb_payoff_place *places, size_t count,
                        const struct variety *v)
{
    static const char *const words[] = {"does not pay ", "is undecided ", "pays "};
    size_t counts[3] = {0, 0, 0}, left = 0;

    for (size_t i = 0; i < count; i++)
        left += counts[places[i].answer]++ == 0;
    gcb_append(out, size, "compression ");
    for (int a = GCB_PAYOFF_YES; a >= GCB_PAYOFF_NO; a--) {
        if (counts[a] == 0)
            continue;
        gcb_append(out, size, "%s", words[a]);
        say_where(out, size, places, count, (enum gcb_payoff_answer)a, v);
        left--;
        gcb_append(out, size, left > 1 ? ", " : left ? " and " : "");
    }
    if (!counts[GCB_PAYOFF_YES] && counts[GCB_PAYOFF_UNDECIDED])
        gcb_append(out, size, ", because the intervals of the times are too wide or missing");
}

/* Appends the answers, and what is gained at the last place where compression pays. */
static void answer_many(char *out, size_t size, const struct gcb_payoff_place *places, size_t count)
{
    const struct variety v = find_variety(places, count);
    const bool one =
        !v.groups && v.bandwidths != v.workers; /* only bandwidths differ, or workers */
    const struct gcb_payoff_place *last = NULL;
    char text[32];

    gcb_payoff_bandwidth_text(text, places->bandwidth);
    if (one && v.workers)
        gcb_append(out, size, "at %s ", text);
    if (one && v.bandwidths)
        gcb_append(out, size, "with %u workers ", places->workers);
    say_answers(out, size, places, count, &v);
    for (size_t i = 0; i < count; i++)
        if (places[i].answer == GCB_PAYOFF_YES)
            last = &places[i];
    if (!last)
        return;
    gcb_append(out, size, "; ");
    say_place(out, size, last);
    gcb_append(out, size, " ");
    say_best(out, size, last);
}

char *gcb_payoff_answer(char *out, size_t size, const struct gcb_payoff_place *places, size_t count)
{
    size_t methods = 0;

    out[0] = '\0';
    for (size_t i = 0; i < count; i++)
        methods += places[i].methods;
    if (methods == 0)
        gcb_append(out, size, "none, because every method is doubtful or misses its target");
    else if (count == 1)
        answer_one(out, size, places);
    else
        answer_many(out, size, places, count);
    return out;
}
