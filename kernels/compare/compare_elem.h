#ifndef KERNELS_COMPARE_COMPARE_ELEM_H
#define KERNELS_COMPARE_COMPARE_ELEM_H

/* The terms that one pair of elements adds to a comparison, and how the accumulators of a block
 * become its result. */
#include <stddef.h>

#include "kernels/base/hd.h"
#include "kernels/compare/compare.h"
#include "kernels/reduce/reduce_elem.h"

/* The accumulators of one block; element i belongs to lane i mod GCB_SUM_LANES. A block is short
 * enough for 32-bit counts, and a vector holds twice as many 32-bit counts as 64-bit counts. */
struct gcb_compare_lanes {
    double xx[GCB_SUM_LANES], yy[GCB_SUM_LANES], xy[GCB_SUM_LANES];
    double dd[GCB_SUM_LANES], d[GCB_SUM_LANES], max_abs[GCB_SUM_LANES];
    uint32_t same_sign, zeros, zeros_kept;
};

/* The terms that a pair (x, y) adds to each sum. `size` is |x - y|; max_abs is the largest
 * `size`. */
struct gcb_compare_terms {
    double xx, yy, xy, dd, d, size;
};

GCB_HD struct gcb_compare_terms gcb_compare_terms_of(float x, float y)
{
    const double a = (double)x, b = (double)y, d = a - b;
    struct gcb_compare_terms t;

    t.xx = a * a;
    t.yy = b * b;
    t.xy = a * b;
    t.dd = d * d;
    t.d = d;
    t.size = d < 0 ? -d : d;
    return t;
}

/* Returns 1 if x and y are both zero, both positive or both negative; else 0. */
GCB_HD uint32_t gcb_compare_same_sign(float x, float y)
{
    return (uint32_t)(((x > 0) == (y > 0)) & ((x < 0) == (y < 0)));
}

/* Adds a pair to the sums and the maximum of one lane. */
GCB_HD void gcb_compare_sums(struct gcb_compare_lanes *lanes, size_t lane, float x, float y)
{
    const struct gcb_compare_terms t = gcb_compare_terms_of(x, y);

    lanes->xx[lane] += t.xx;
    lanes->yy[lane] += t.yy;
    lanes->xy[lane] += t.xy;
    lanes->dd[lane] += t.dd;
    lanes->d[lane] += t.d;
    lanes->max_abs[lane] = t.size > lanes->max_abs[lane] ? t.size : lanes->max_abs[lane];
}

/* Counts the classes of a pair. */
GCB_HD void gcb_compare_classes(struct gcb_compare_lanes *lanes, float x, float y)
{
    lanes->same_sign += gcb_compare_same_sign(x, y);
    lanes->zeros += (uint32_t)(x == 0);
    lanes->zeros_kept += (uint32_t)((x == 0) & (y == 0));
}

/* Adds the last n < GCB_SUM_LANES pairs of a block; the first of them belongs to lane 0. */
GCB_HD void gcb_compare_tail(struct gcb_compare_lanes *lanes, const float *x, const float *y,
                             size_t n)
{
    for (size_t j = 0; j < n; j++) {
        gcb_compare_sums(lanes, j, x[j], y[j]);
        gcb_compare_classes(lanes, x[j], y[j]);
    }
}

/* Joins the lanes of a block into its result. Overwrites the lanes. */
GCB_HD void gcb_compare_join(struct gcb_compare *out, struct gcb_compare_lanes *lanes)
{
    out->xx = gcb_reduce_join(lanes->xx);
    out->yy = gcb_reduce_join(lanes->yy);
    out->xy = gcb_reduce_join(lanes->xy);
    out->dd = gcb_reduce_join(lanes->dd);
    out->d = gcb_reduce_join(lanes->d);
    out->max_abs = 0;
    for (int j = 0; j < GCB_SUM_LANES; j++)
        out->max_abs = lanes->max_abs[j] > out->max_abs ? lanes->max_abs[j] : out->max_abs;
    out->same_sign = lanes->same_sign;
    out->zeros = lanes->zeros;
    out->zeros_kept = lanes->zeros_kept;
}

#endif
