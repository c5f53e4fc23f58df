#include "src/tool/payoff/curve_import.h"

#include <math.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/payoff/net_log.h"
#include "src/tool/timing/fit.h"

/* ---- below the smallest size ---- */

/* What the smallest size takes, without what its bytes take at 1/slower of the bandwidth of the
 * largest. */
static double without_bytes(const struct gcb_net_table *t, double slower)
{
    const struct gcb_net_size *first = &t->sizes[0], *last = &t->sizes[t->count - 1];

    return fmax(first->seconds - slower * last->seconds * first->bytes / last->bytes, 0.0);
}

/*
 * The latency of a table is where a line through its smallest sizes meets size 0. It is not above
 * the time of the smallest size, and not so small that the bytes of this size would have less than
 * an eighth of the bandwidth of the largest. Sets the ends of its 95 % interval. Its value is the
 * lower end, the least that the table supports, because noise of large sizes would make latencies
 * of milliseconds.
 */
static void find_latency(double out[GCB_BOUNDS], const struct gcb_net_table *t)
{
    static const double quantiles[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31}; /* of t */
    const double first = t->sizes[0].seconds;
    struct gcb_fit_sums sums = {.points = 0};
    struct gcb_fit fit;
    double low = without_bytes(t, 8.0), high = first;

    for (size_t i = 0; i < t->count && (i < 3 || t->sizes[i].bytes <= 16.0 * t->sizes[0].bytes);
         i++)
        gcb_fit_add(&sums, t->sizes[i].bytes, t->sizes[i].seconds);
    gcb_fit_line(&fit, &sums);
    if (fit.points > 2 && fit.good) {
        const size_t freedom = fit.points - 2;
        const double square = fit.error * fit.error * (double)fit.points / (double)freedom;
        const double spread = (freedom > 8 ? 2.3 : quantiles[freedom - 1]) *
                              sqrt(square * sums.wxx / (sums.w * sums.wxx - sums.wx * sums.wx));

        low = fmax(low, fmin(fit.fixed - spread, first));
        high = fmax(low, fmin(fit.fixed + spread, first));
    }
    out[GCB_BOUND_LOW] = out[GCB_BOUND_MEDIAN] = low;
    out[GCB_BOUND_HIGH] = high;
}

/* ---- points of the curve ---- */

/* Tables of up to three tests have one pattern, and at most 32 smaller sizes are extrapolated. */
_Static_assert(GCB_CURVE_POINTS >= 3 * GCB_NET_SIZES + 32, "all sizes of one log fit");

/* How the model does what a test measures: steps of so many bytes, which take equal parts of its
 * time. */
struct steps {
    enum gcb_pattern pattern;
    double count, bytes;
};

/*
 * All-reduces: the model takes doubling (lg n steps with all bytes, and one more without a power of
 * two workers) for small sizes and halving (2 lg n steps, which share 2 (n - 1)/n of the bytes) for
 * large ones. The latency and the bandwidth of the largest size say where it changes.
 */
static struct steps find_allreduce(const struct gcb_net_table *t, double latency, double bytes)
{
    const double n = t->ranks, lg = ceil(log2(n)), doubled = exp2(lg) > n ? lg + 1.0 : lg;
    const double part = 2.0 * (n - 1.0) / n;
    const struct gcb_net_size *last = &t->sizes[t->count - 1];
    const double rate = part * last->bytes / last->seconds;
    const double change = (2.0 * lg - doubled) * latency / doubled * rate / (doubled - part);

    if (doubled > part && bytes > change)
        return (struct steps){GCB_PATTERN_PAIR, 2.0 * lg, part * bytes / (2.0 * lg)};
    return (struct steps){GCB_PATTERN_PAIR, doubled, bytes};
}

static struct steps find_steps(enum gcb_net_test test, const struct gcb_net_table *t,
                               double latency, double bytes)
{
    const double n = t->ranks, lg = ceil(log2(n));

    if (test == GCB_NET_LATENCY || test == GCB_NET_BANDWIDTH)
        return (struct steps){GCB_PATTERN_SHIFT, 1.0, bytes};
    if (test == GCB_NET_ALLREDUCE)
        return find_allreduce(t, latency, bytes);
    return (struct steps){test == GCB_NET_ALLGATHER ? GCB_PATTERN_SHIFT : GCB_PATTERN_PAIR, lg,
                          (n - 1.0) / n * bytes / lg};
}

static int add_point(struct gcb_curve *out, const struct gcb_net_log *log,
                     const struct gcb_net_table *t, const struct steps *steps,
                     const double seconds[GCB_BOUNDS], struct gcb_diag *diag)
{
    struct gcb_curve_point point = {.bytes = steps->bytes};
    int err;

    for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++)
        point.first[b] = point.seconds[b] = seconds[b] / steps->count;
    err = gcb_curve_add(out, steps->pattern, &point, diag);
    return err ? gcb_diag_locate(diag, err, log->path, "line", t->line) : 0;
}

/* Adds what was measured. The bytes of a step must rise with the size; of osu_bw only large sizes
 * count. */
static int add_table(struct gcb_curve *out, const struct gcb_net_log *log, enum gcb_net_test test,
                     struct gcb_diag *diag)
{
    const struct gcb_net_table *t = &log->tables[test];
    const struct gcb_curve_line *shift = &out->lines[GCB_PATTERN_SHIFT];
    double most =
        test == GCB_NET_BANDWIDTH && shift->count ? shift->points[shift->count - 1].bytes : 0.0;
    char shown[256];
    int err = 0;

    if (t->ranks && out->workers && out->workers != t->ranks)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "%s: line %zu: a table of %u ranks after one of %u: give the "
                            "measurement of one network",
                            gcb_escape(shown, sizeof(shown), log->path), t->line, t->ranks,
                            out->workers);
    if (t->ranks)
        out->workers = t->ranks;
    for (size_t i = 0; !err && i < t->count; i++) {
        const double s = t->sizes[i].seconds, exact[GCB_BOUNDS] = {s, s, s};
        const struct steps steps = find_steps(test, t, without_bytes(t, 1.0), t->sizes[i].bytes);

        if (!(steps.bytes > most))
            continue;
        most = steps.bytes;
        err = add_point(out, log, t, &steps, exact, diag);
        out->lines[steps.pattern].reduces |= t->reduces;
    }
    return err;
}

/* Adds times of smaller and smaller sizes, if the smallest transfer of a line is from this table. */
static int extrapolate(struct gcb_curve *out, const struct gcb_net_log *log, enum gcb_net_test test,
                       struct gcb_diag *diag)
{
    const struct gcb_net_table *t = &log->tables[test];
    const struct gcb_net_size *first = &t->sizes[0];
    const struct steps measured = find_steps(test, t, without_bytes(t, 1.0), first->bytes);
    struct gcb_curve_line *line = &out->lines[measured.pattern];
    double latency[GCB_BOUNDS], seconds[GCB_BOUNDS];
    int err = 0;

    if (line->least > 0.0 || line->points[0].bytes < measured.bytes)
        return 0;
    line->least = measured.bytes;
    out->logged = fmax(out->logged, first->bytes);
    find_latency(latency, t);
    for (double part = 0.25; !err && part * first->bytes >= 1.0; part *= 0.25) {
        const struct steps steps =
            find_steps(test, t, latency[GCB_BOUND_MEDIAN], part * first->bytes);

        for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++)
            seconds[b] = latency[b] + (first->seconds - latency[b]) * part;
        if (steps.bytes < line->points[0].bytes)
            err = add_point(out, log, t, &steps, seconds, diag);
    }
    return err;
}

static bool has_test(const struct gcb_net_log *logs, size_t count, enum gcb_net_test test)
{
    for (size_t i = 0; i < count; i++)
        if (logs[i].tables[test].count)
            return true;
    return false;
}

/* Drops the tables of a test, and names it among those that were left out. */
static void leave_out(struct gcb_net_log *logs, size_t count, enum gcb_net_test test,
                      const char *name)
{
    for (size_t i = 0; i < count; i++) {
        struct gcb_net_log *log = &logs[i];

        if (log->tables[test].count)
            gcb_append(log->unused, sizeof(log->unused), "%s%s", *log->unused ? ", " : "", name);
        log->tables[test].count = 0;
    }
}

static int make_curve(struct gcb_curve *out, const struct gcb_net_log *logs, size_t count,
                      struct gcb_diag *diag)
{
    int (*const passes[])(struct gcb_curve *, const struct gcb_net_log *, enum gcb_net_test,
                          struct gcb_diag *) = {add_table, extrapolate};
    int err = 0;

    for (size_t pass = 0; pass < 2; pass++)
        for (enum gcb_net_test test = 0; test < GCB_NET_TESTS; test++)
            for (size_t i = 0; !err && i < count; i++)
                if (logs[i].tables[test].count)
                    err = passes[pass](out, &logs[i], test, diag);
    return err;
}

int gcb_curve_import(struct gcb_curve *out, const char *const *paths, size_t count,
                     unsigned workers, struct gcb_diag *diag)
{
    struct gcb_net_log *logs = gcb_alloc_zero(count, sizeof(*logs));
    int err = logs ? 0 : gcb_diag_nomem(diag, count * sizeof(*logs), "logs");

    *out = (struct gcb_curve){.path = paths[0]};
    for (size_t i = 0; !err && i < count; i++)
        err = gcb_net_log_read(&logs[i], paths[i], workers, diag);
    if (!err && has_test(logs, count, GCB_NET_ALLREDUCE))
        leave_out(logs, count, GCB_NET_REDUCESCATTER, "reduce_scatter_perf");
    if (!err)
        err = make_curve(out, logs, count, diag);
    for (size_t i = 0; !err && i < count; i++)
        if (*logs[i].unused && !gcb_lists(out->unused, logs[i].unused))
            gcb_append(out->unused, sizeof(out->unused), "%s%s", *out->unused ? ", " : "",
                       logs[i].unused);
    if (!err)
        gcb_curve_finish(out);
    gcb_free(logs);
    return err;
}
