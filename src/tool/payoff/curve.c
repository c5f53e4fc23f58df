#include "src/tool/payoff/curve.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/measure/fit.h"
#include "src/tool/rows/results.h"

const char *const gcb_pattern_names[] = {"shift", "pair", NULL};

/* ---- times of a transfer ---- */

/* Returns the line of a pattern; if it has no points, the line of the other pattern. */
static const struct gcb_curve_line *line_of(const struct gcb_curve *curve, enum gcb_pattern pattern)
{
    return &curve->lines[curve->lines[pattern].count ? pattern : GCB_PATTERNS - 1 - pattern];
}

bool gcb_curve_reduces(const struct gcb_curve *curve, enum gcb_pattern pattern)
{
    return line_of(curve, pattern)->reduces;
}

bool gcb_curve_extrapolates(const struct gcb_curve *curve, enum gcb_pattern pattern, double bytes)
{
    const double least = line_of(curve, pattern)->least;

    return bytes < least && gcb_curve_at(curve, pattern, false, bytes) <
                                0.9 * gcb_curve_at(curve, pattern, false, least);
}

double gcb_curve_at(const struct gcb_curve *curve, enum gcb_pattern pattern, bool first,
                    double bytes)
{
    const struct gcb_curve_line *line = line_of(curve, pattern);
    const struct gcb_curve_point *a, *b = line->points, *const end = b + line->count;
    double s, t;

    while (b < end && b->bytes < bytes)
        b++;
    a = b > line->points ? b - 1 : b;
    s = first ? a->first : a->seconds;
    if (a == b)
        return s;
    if (b == end)
        return s * bytes / a->bytes;
    t = first ? b->first : b->seconds;
    /* from t down, so that rounding never makes the result larger than t */
    return t - (t - s) * (b->bytes - bytes) / (b->bytes - a->bytes);
}

/* ---- making a curve ---- */

/* True if products and ratios of such sizes and times are finite. */
static bool is_usable(double value)
{
    return value >= 1e-30 && value <= 1e30;
}

int gcb_curve_add(struct gcb_curve *curve, enum gcb_pattern pattern,
                  const struct gcb_curve_point *point, struct gcb_diag *diag)
{
    struct gcb_curve_line *line = &curve->lines[pattern];
    const struct gcb_curve_line *shifts;
    const struct gcb_curve_point *last;
    size_t i = line->count;

    if (!is_usable(point->bytes) || !is_usable(point->first) || !is_usable(point->seconds))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "expected sizes and times above 0, from 1e-30 to 1e30");
    while (i > 0 && line->points[i - 1].bytes > point->bytes)
        i--;
    if (line->count == GCB_CURVE_POINTS || (i > 0 && !(line->points[i - 1].bytes < point->bytes)))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "a size twice, or more than %d sizes: give one network's powers of 2",
                            GCB_CURVE_POINTS);
    memmove(&line->points[i + 1], &line->points[i], (line->count - i) * sizeof(*point));
    line->points[i] = *point;
    line->count++;
    shifts = line_of(curve, GCB_PATTERN_SHIFT);
    last = &shifts->points[shifts->count - 1];
    curve->bandwidth = last->bytes / last->first;
    return 0;
}

/* ---- link rows ---- */

/* Adds a row to the curve `ctx`: gcb_results_visit_fn. */
static int read_row(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_curve *curve = ctx;
    const char *name = gcb_results_text(row->json, GCB_FIELD_PATTERN);
    const uint64_t workers = gcb_results_u64(row->json, GCB_FIELD_WORKERS);
    const json_t *first = gcb_results_json(row->json, GCB_FIELD_FIRST_SECONDS);
    struct gcb_curve_point point = {
        .bytes = gcb_results_real(row->json, GCB_FIELD_BYTES),
        .first = gcb_results_real(row->json, GCB_FIELD_FIRST_SECONDS),
        .seconds = gcb_results_real(row->json, GCB_FIELD_SECONDS),
    };
    int pattern = 0, err;

    if (row->kind != GCB_RECORD_LINK) /* a record that this version does not know */
        return 0;
    if (!first || json_is_null(first)) /* then the first transfer counts as a later one */
        point.first = point.seconds;
    while (pattern < GCB_PATTERNS && (!name || strcmp(gcb_pattern_names[pattern], name) != 0))
        pattern++;
    if (pattern == GCB_PATTERNS || workers < 2 || workers > GCB_NETWORK_WORKERS ||
        (curve->workers && curve->workers != workers))
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "expected a link with the pattern `shift` or `pair`, of 2 or more "
                           "workers, as many as in the rows before");
    else
        err = gcb_curve_add(curve, (enum gcb_pattern)pattern, &point, diag);
    curve->workers = (unsigned)workers;
    return err ? gcb_diag_locate(diag, err, row->path, "line", row->line) : 0;
}

int gcb_curve_read(struct gcb_curve *out, const char *path, struct gcb_diag *diag)
{
    int err;

    *out = (struct gcb_curve){.path = path};
    err = gcb_results_read(NULL, path, GCB_RECORD_BIT(GCB_RECORD_LINK), read_row, out, diag);
    if (!err && out->workers == 0) {
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "no `link` rows, which `gcbench-mpi --calibrate --results FILE` writes; "
                           "--import reads logs of other tools");
        gcb_diag_locate(diag, err, path, "line", 0);
    }
    return err;
}

/* ---- logs of other tools ---- */

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
 * Returns the steps of an all-reduce of `bytes` bytes, or of a reduce-scatter. The steps are those
 * of the algorithm that the model takes (docs/payoff.md): the fastest one with this latency and the
 * bandwidth of the largest size. A reduce-scatter is the first half of an all-reduce by halving or
 * in a ring.
 */
static struct steps reduce_steps(enum gcb_net_test test, const struct gcb_net_table *t,
                                 double latency, double bytes)
{
    enum { DOUBLING, HALVING, RING, ALGORITHMS };
    const struct gcb_net_size *last = &t->sizes[t->count - 1];
    const double n = fmax(t->ranks, 2.0), part = (n - 1.0) / n;
    /* ranks beyond a power of two give their values to others first, and get the sum last */
    const double doubled = floor(log2(n)), power = exp2(doubled), beyond = power < n ? 1.0 : 0.0;
    const struct {
        double steps;
        double moved; /* bytes that each rank sends, in units of the size */
    } all[ALGORITHMS] = {
        [DOUBLING] = {doubled + 2.0 * beyond, doubled + 2.0 * beyond},
        [HALVING] = {2.0 * doubled + 2.0 * beyond, 2.0 * (power - 1.0) / power + 2.0 * beyond},
        [RING] = {2.0 * (n - 1.0), 2.0 * part},
    };
    const bool half = test == GCB_NET_REDUCESCATTER;
    size_t best = half ? HALVING : DOUBLING;
    /* the latency of one step: the smallest sizes take algorithm `best` */
    const double rate = 2.0 * part * last->bytes / last->seconds, step = latency / all[best].steps;

    for (size_t i = best + 1; i < ALGORITHMS; i++)
        if (all[i].steps * step + all[i].moved * bytes / rate <
            all[best].steps * step + all[best].moved * bytes / rate)
            best = i;
    return (struct steps){GCB_PATTERN_PAIR, all[best].steps / (half ? 2.0 : 1.0),
                          all[best].moved / all[best].steps * bytes};
}

/* Returns the steps of a test with `bytes` bytes. An all-gather takes the steps of Bruck's
 * algorithm. */
static struct steps find_steps(enum gcb_net_test test, const struct gcb_net_table *t,
                               double latency, double bytes)
{
    const double n = fmax(t->ranks, 2.0), steps = ceil(log2(n));

    if (test <= GCB_NET_BANDWIDTH)
        return (struct steps){GCB_PATTERN_SHIFT, 1.0, bytes};
    if (test == GCB_NET_ALLGATHER)
        return (struct steps){GCB_PATTERN_SHIFT, steps, (n - 1.0) / n * bytes / steps};
    return reduce_steps(test, t, latency, bytes);
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
    struct gcb_net_log *logs = gcb_alloc_zero(count, sizeof(*logs));
    int err = logs ? 0 : gcb_diag_nomem(diag, count * sizeof(*logs), "logs");

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
