#include "src/tool/payoff/curve.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/rows/results.h"

const char *const gcb_pattern_names[] = {"shift", "pair", NULL};

bool gcb_bounds_hold(const double values[GCB_BOUNDS])
{
    return !(values[GCB_BOUND_LOW] < 0.0) && !(values[GCB_BOUND_LOW] > values[GCB_BOUND_HIGH]);
}

/* ---- reading times off ---- */

double gcb_bound_of(const double times[GCB_BOUNDS], enum gcb_bound bound)
{
    if (!isnan(times[bound]))
        return times[bound];
    return bound == GCB_BOUND_LOW ? 0.0 : INFINITY;
}

static double time_of(const struct gcb_curve_point *point, bool first, enum gcb_bound bound)
{
    return gcb_bound_of(first ? point->first : point->seconds, bound);
}

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

    return bytes < least && gcb_curve_at(curve, pattern, false, GCB_BOUND_MEDIAN, bytes) <
                                0.9 * gcb_curve_at(curve, pattern, false, GCB_BOUND_MEDIAN, least);
}

double gcb_curve_at(const struct gcb_curve *curve, enum gcb_pattern pattern, bool first,
                    enum gcb_bound bound, double bytes)
{
    const struct gcb_curve_line *line = line_of(curve, pattern);
    const struct gcb_curve_point *a, *b;
    double s, t;
    size_t i = 0;

    while (i < line->count && line->points[i].bytes < bytes)
        i++;
    if (i == 0)
        return time_of(&line->points[0], first, bound);
    a = &line->points[i - 1];
    s = time_of(a, first, bound);
    if (i == line->count)
        return s * bytes / a->bytes;
    b = &line->points[i];
    t = time_of(b, first, bound);
    return isinf(s) || isinf(t) ? INFINITY
                                : s + (t - s) * (bytes - a->bytes) / (b->bytes - a->bytes);
}

/* ---- making a curve ---- */

int gcb_curve_add(struct gcb_curve *curve, enum gcb_pattern pattern,
                  const struct gcb_curve_point *point, struct gcb_diag *diag)
{
    struct gcb_curve_line *line = &curve->lines[pattern];
    const double numbers[] = {point->bytes, point->first[GCB_BOUND_MEDIAN],
                              point->seconds[GCB_BOUND_MEDIAN],
                              point->bytes / point->first[GCB_BOUND_MEDIAN]};
    size_t i = line->count;

    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
        if (!(numbers[k] > 0.0) || isinf(numbers[k]))
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "sizes and times must be above 0, and their ratio finite");
    if (!gcb_bounds_hold(point->first) || !gcb_bounds_hold(point->seconds))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the lower end of an interval is negative or above the upper end");
    if (line->count == GCB_CURVE_POINTS)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "more than %d sizes: measure fewer, such as only powers of 2",
                            GCB_CURVE_POINTS);
    for (; i > 0 && line->points[i - 1].bytes >= point->bytes; i--)
        if (!(line->points[i - 1].bytes > point->bytes))
            return gcb_diag_set(
                diag, GCB_E_CORRUPT,
                "transfers of %.0f bytes twice: give the measurement of one network", point->bytes);
    memmove(&line->points[i + 1], &line->points[i], (line->count - i) * sizeof(*point));
    line->points[i] = *point;
    line->count++;
    return 0;
}

void gcb_curve_finish(struct gcb_curve *curve)
{
    const struct gcb_curve_line *line = line_of(curve, GCB_PATTERN_SHIFT);
    const struct gcb_curve_point *last = &line->points[line->count - 1];

    for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++)
        curve->bandwidth[b] =
            last->bytes / (last->first[b] > 0.0 ? last->first[b] : last->first[GCB_BOUND_MEDIAN]);
}

/* ---- link rows ---- */

static int read_row(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_curve *curve = ctx;
    const char *name = gcb_results_text(row->json, GCB_FIELD_PATTERN);
    const uint64_t workers = gcb_results_u64(row->json, GCB_FIELD_WORKERS);
    const json_t *first = gcb_results_json(row->json, GCB_FIELD_FIRST_SECONDS);
    struct gcb_curve_point point = {
        .bytes = gcb_results_real(row->json, GCB_FIELD_BYTES),
        .first = {gcb_results_real(row->json, GCB_FIELD_FIRST_SECONDS_LOW),
                  gcb_results_real(row->json, GCB_FIELD_FIRST_SECONDS),
                  gcb_results_real(row->json, GCB_FIELD_FIRST_SECONDS_HIGH)},
        .seconds = {gcb_results_real(row->json, GCB_FIELD_SECONDS_LOW),
                    gcb_results_real(row->json, GCB_FIELD_SECONDS),
                    gcb_results_real(row->json, GCB_FIELD_SECONDS_HIGH)},
    };
    int pattern = 0, err = 0;

    if (row->kind != GCB_RECORD_LINK) /* a record that this version does not know */
        return 0;
    if (!first || json_is_null(first)) /* unknown: as long as the others */
        memcpy(point.first, point.seconds, sizeof(point.first));
    while (gcb_pattern_names[pattern] && name && strcmp(gcb_pattern_names[pattern], name) != 0)
        pattern++;
    if (!name || pattern == GCB_PATTERNS)
        err = gcb_diag_set(diag, GCB_E_CORRUPT, "a link without the pattern `shift` or `pair`");
    else if (workers < 2 || workers > UINT32_MAX)
        err = gcb_diag_set(diag, GCB_E_CORRUPT, "a link needs 2 or more workers");
    else if (curve->workers && curve->workers != workers)
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "a link of %" PRIu64 " workers after one of %u: give the measurement of "
                           "one network",
                           workers, curve->workers);
    else
        err = gcb_curve_add(curve, (enum gcb_pattern)pattern, &point, diag);
    curve->workers = (unsigned)workers;
    return err ? gcb_diag_locate(diag, err, row->path, "line", row->line) : 0;
}

int gcb_curve_read(struct gcb_curve *out, const char *path, struct gcb_diag *diag)
{
    char shown[256];
    int err;

    *out = (struct gcb_curve){.path = path};
    err = gcb_results_read(path, GCB_RECORD_BIT(GCB_RECORD_LINK), read_row, out, diag);
    if (!err && out->workers == 0)
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "%s: there are no `link` rows in this file; `gcbench-mpi --calibrate -o "
                           "FILE` writes them, and --import reads logs of other tools",
                           gcb_escape(shown, sizeof(shown), path));
    if (!err)
        gcb_curve_finish(out);
    return err;
}
