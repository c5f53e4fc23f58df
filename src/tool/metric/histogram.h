#ifndef SRC_TOOL_METRIC_HISTOGRAM_H
#define SRC_TOOL_METRIC_HISTOGRAM_H

#include <stdbool.h>

#include "src/lib/tensor/tensor.h"

/*
 * Counts of values by sign and magnitude, with four bins for each power of two. The bins are the same for all tensors, so
 * histograms can be added. The bin of a magnitude is its bit pattern without the last 21 bits.
 */
#define GCB_HISTOGRAM_SHIFT 21
#define GCB_HISTOGRAM_BINS 1020 /* bins of one sign; larger bit patterns are not finite */

struct gcb_histogram {
    uint64_t negative[GCB_HISTOGRAM_BINS], positive[GCB_HISTOGRAM_BINS];
    uint64_t zeros; /* of either sign; not in the bins */
    uint64_t nonfinite;
    uint64_t count; /* of all values */
};

/* Starts zeroed. */
void gcb_histogram_add(struct gcb_histogram *h, const struct gcb_view *x);
void gcb_histogram_join(struct gcb_histogram *h, const struct gcb_histogram *other);

/* Number of values, of both signs, with a magnitude in [2^e, 2^(e+1)), -126 <= e <= 127. e = -127: all subnormal
 * values. */
uint64_t gcb_histogram_octave(const struct gcb_histogram *h, int e);

/* Bin i in ascending order, 0 to 2 * GCB_HISTOGRAM_BINS; the middle one has the zeros. The end nearer to zero belongs to the
 * bin, the other end does not. Returns false past the end. */
struct gcb_histogram_bin {
    double low, high;
    uint64_t count;
    double share; /* of all values; NAN if there are none */
};
double gcb_histogram_share(const struct gcb_histogram *h, uint64_t count);
bool gcb_histogram_bin(struct gcb_histogram_bin *out, const struct gcb_histogram *h, size_t i);

#endif
