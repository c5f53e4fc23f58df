#include "src/tool/payoff/curve.h"

#include <stdint.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/rows/results.h"

const char *const gcb_pattern_names[] = {"shift", "pair", NULL};

/* ---- times of a transfer ---- */

/* Returns the line of `pattern`, or the line of the other pattern if `pattern` was not measured. */
static const struct gcb_curve_line *line_of(const struct gcb_curve *curve, enum gcb_pattern pattern)
{
    return &curve->lines[curve->lines[pattern].count ? pattern : GCB_PATTERNS - 1 - pattern];
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
    /* subtracts from t, so that for a measured size the result is exactly the measured time */
    return t - (t - s) * (b->bytes - bytes) / (b->bytes - a->bytes);
}

/* ---- making a curve ---- */

/* True if a size or time is in a range in which products and ratios stay finite. */
static bool is_usable(double value)
{
    return value >= 1e-30 && value <= 1e30;
}

/* Adds a point to the curve, and updates curve->bandwidth. Returns 0, or GCB_E_CORRUPT with a
 * message that does not name file and line. */
static int add_point(struct gcb_curve *curve, enum gcb_pattern pattern,
                     const struct gcb_curve_point *point, struct gcb_diag *diag)
{
    struct gcb_curve_line *line = &curve->lines[pattern];
    const struct gcb_curve_line *shifts;
    const struct gcb_curve_point *last;
    size_t i = line->count;

    if (!is_usable(point->bytes) || !is_usable(point->first) || !is_usable(point->seconds))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "expected sizes and times from 1e-30 to 1e30");
    while (i > 0 && line->points[i - 1].bytes > point->bytes)
        i--;
    if (line->count == GCB_CURVE_POINTS || (i > 0 && !(line->points[i - 1].bytes < point->bytes)))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "a size twice, or more than %d sizes: give rows of one calibration",
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
    if (!first || json_is_null(first)) /* older rows have only the time of later transfers */
        point.first = point.seconds;
    while (pattern < GCB_PATTERNS && (!name || strcmp(gcb_pattern_names[pattern], name) != 0))
        pattern++;
    if (pattern == GCB_PATTERNS || workers < 2 || workers > GCB_NETWORK_WORKERS ||
        (curve->workers && curve->workers != workers))
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "expected a link with the pattern `shift` or `pair`, of 2 to %d "
                           "workers, as many as in the rows before",
                           GCB_NETWORK_WORKERS);
    else
        err = add_point(curve, (enum gcb_pattern)pattern, &point, diag);
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
                           "no `link` rows, which `gcbench-mpi --calibrate --results FILE` writes");
        gcb_diag_locate(diag, err, path, "line", 0);
    }
    return err;
}
