#include "src/tool/payoff/curve.h"

#include <math.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/measure/fit.h"
#include "src/tool/payoff/model.h"

/* Up to three tests share a pattern. Each adds its sizes, and one point below them. */
_Static_assert(GCB_CURVE_POINTS >= 3 * (GCB_NET_SIZES + 1), "all sizes of one log fit");

/*
 * Returns the latency of a table: where a line through its smallest sizes meets size 0. The line
 * goes through the first three sizes, and through all sizes up to 16 times the smallest.
 *
 * 20 times the error of the line is subtracted, because the noise of a table with only large sizes
 * would give latencies of milliseconds. For a line through three points, the difference is the
 * lower end of the 95 % interval. The latency is at most the time of the smallest size. It is at
 * least so large that the smallest size is sent at an eighth of the bandwidth of the largest size
 * or faster.
 */
static double find_latency(const struct gcb_net_table *t)
{
    const struct gcb_net_size *first = &t->sizes[0], *last = &t->sizes[t->count - 1];
    const double slow = 8.0 * last->seconds * first->bytes / last->bytes;
    struct gcb_fit_sums sums = {.points = 0};
    struct gcb_fit fit;

    for (size_t i = 0; i < t->count && (i < 3 || t->sizes[i].bytes <= 16.0 * first->bytes); i++)
        gcb_fit_add(&sums, t->sizes[i].bytes, t->sizes[i].seconds);
    gcb_fit_line(&fit, &sums);
    if (fit.points < 3 || !fit.good)
        fit.fixed = 0.0;
    return fmax(fmin(fit.fixed - 20.0 * fit.error * first->seconds, first->seconds),
                fmax(first->seconds - slow, 0.0));
}

/* The steps into which the model divides a test. Each step takes an equal part of the test's
 * time. */
struct steps {
    enum gcb_pattern pattern;
    double count; /* number of steps */
    double bytes; /* of each step */
};

/*
 * Returns the steps of a test with `bytes` bytes: those of the algorithm that the model takes
 * (docs/payoff.md). This is the fastest one, if the smallest sizes take the one with the fewest
 * steps, and the largest size takes one that moves the fewest bytes.
 */
static struct steps find_steps(enum gcb_net_test test, const struct gcb_net_table *t,
                               double latency, double bytes)
{
    const bool gathers = test == GCB_NET_ALLGATHER;
    const double n = fmax(t->ranks, 2.0);
    const struct gcb_net_size *last = &t->sizes[t->count - 1];
    struct gcb_algorithm all[GCB_ALGORITHMS], *best = all;
    const size_t count =
        gcb_algorithms(all, gathers ? GCB_COLLECTIVE_ALLGATHER : GCB_COLLECTIVE_ALLREDUCE,
                       test == GCB_NET_REDUCESCATTER, n);
    double steps = INFINITY, moved = INFINITY, step, rate;

    if (test <= GCB_NET_BANDWIDTH)
        return (struct steps){GCB_PATTERN_SHIFT, 1.0, bytes};
    for (size_t i = 0; i < count; i++) {
        steps = fmin(steps, all[i].steps);
        moved = fmin(moved, all[i].bytes);
    }
    step = latency / steps;
    rate = moved * last->bytes / last->seconds;
    for (struct gcb_algorithm *a = all; a < all + count; a++) /* of equals, the last */
        if (a->steps * step + a->bytes * bytes / rate <=
            best->steps * step + best->bytes * bytes / rate)
            best = a;
    return (struct steps){gathers ? GCB_PATTERN_SHIFT : GCB_PATTERN_PAIR, best->steps,
                          best->bytes / best->steps * (gathers ? bytes / n : bytes)};
}

/*
 * Adds a table to the line of its pattern. Leaves out a size whose steps are not larger than the
 * steps of the size before it. A size of osu_bw must also be larger than all sizes that the line
 * had before. The first table of a line also adds a point for a size of almost 0, so that the times
 * of small sizes fall to the latency.
 */
static int add_table(struct gcb_curve *out, enum gcb_net_test test, const struct gcb_net_table *t,
                     struct gcb_diag *diag)
{
    const struct gcb_net_size *first = &t->sizes[0];
    const double latency = find_latency(t), tiny = 1e-3;
    const struct gcb_net_size below = {tiny,
                                       latency + (first->seconds - latency) * tiny / first->bytes};
    struct gcb_curve_line *line = &out->lines[find_steps(test, t, latency, tiny).pattern];
    const bool extends = line->count > 0;
    double most = test == GCB_NET_BANDWIDTH && extends ? line->points[line->count - 1].bytes : 0.0;
    int err = 0;

    if (t->ranks && out->workers && out->workers != t->ranks)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "another number of ranks than in the table before");
    out->workers = t->ranks ? t->ranks : out->workers;
    /* point 0 is the size of almost 0, which a line with points already has */
    for (size_t i = extends; !err && i <= t->count; i++) {
        const struct gcb_net_size size = i ? t->sizes[i - 1] : below;
        const struct steps steps = find_steps(test, t, latency, size.bytes);
        const double s = size.seconds / steps.count;
        const struct gcb_curve_point point = {steps.bytes, s, s};

        if (!(steps.bytes > most))
            continue;
        most = steps.bytes;
        err = gcb_curve_add(out, steps.pattern, &point, diag);
        if (i == 1) /* the first measured size */
            line->least = extends ? fmin(line->least, most) : most;
    }
    line->reduces |= t->reduces;
    return err;
}

/* Adds names of tests to out->unused, unless it has them. */
static void add_unused(struct gcb_curve *out, const char *names)
{
    if (*names && !gcb_lists(out->unused, names))
        gcb_append(out->unused, sizeof(out->unused), "%s%s", *out->unused ? ", " : "", names);
}

int gcb_curve_import(struct gcb_curve *out, const char *const *paths, size_t count,
                     unsigned workers, struct gcb_diag *diag)
{
    struct gcb_net_log *logs = gcb_must_zero(count, sizeof(*logs));
    int err = 0;

    *out = (struct gcb_curve){.path = paths[0]};
    for (size_t i = 0; !err && i < count; i++) {
        err = gcb_net_log_read(&logs[i], paths[i], workers, diag);
        add_unused(out, logs[i].unused);
    }
    for (enum gcb_net_test test = 0; test < GCB_NET_TESTS; test++) {
        const bool reduced = test == GCB_NET_REDUCESCATTER && out->lines[GCB_PATTERN_PAIR].count;

        for (size_t i = 0; !err && i < count; i++) {
            const struct gcb_net_table *t = &logs[i].tables[test];

            if (t->count && reduced) /* an all-reduce says the same */
                add_unused(out, "reduce_scatter_perf");
            else if (t->count)
                err = add_table(out, test, t, diag);
            if (err)
                gcb_diag_locate(diag, err, logs[i].path, "line", t->line);
        }
    }
    gcb_free(logs);
    return err;
}
