#ifndef SRC_TOOL_METRIC_HISTOGRAM_H
#define SRC_TOOL_METRIC_HISTOGRAM_H

#include <stdbool.h>

#include "src/lib/tensor/tensor.h"

/*
 * Counts of values by sign and magnitude: four bins to each power of two, the same for every tensor, so
 * histograms add up. A magnitude's bin is its bit pattern without the last 21 bits.
 */
#define GCB_HISTOGRAM_SHIFT 21
#define GCB_HISTOGRAM_BINS 1020 /* bins of one sign; what lies above is not finite */

struct gcb_histogram {
    uint64_t negative[GCB_HISTOGRAM_BINS], positive[GCB_HISTOGRAM_BINS];
    uint64_t zeros; /* of either sign; not in the bins */
    uint64_t nonfinite;
    uint64_t count; /* of everything */
};

/* Starts zeroed. */
void gcb_histogram_add(struct gcb_histogram *h, const struct gcb_view *x);
void gcb_histogram_join(struct gcb_histogram *h, const struct gcb_histogram *other);

/* Values of either sign with a magnitude in [2^e, 2^(e+1)), -126 <= e <= 127; below that, in
 * subnormal numbers, e = -127 counts all of them. */
uint64_t gcb_histogram_octave(const struct gcb_histogram *h, int e);

/* The i-th bin in rising order, 0 .. 2 * GCB_HISTOGRAM_BINS (the middle one holds the zeros): values in
 * [low, high] of which those next to zero are excluded. Returns false past the end. */
struct gcb_histogram_bin {
    double low, high;
    uint64_t count;
    double share; /* of everything; NAN of nothing */
};
double gcb_histogram_share(const struct gcb_histogram *h, uint64_t count);
bool gcb_histogram_bin(struct gcb_histogram_bin *out, const struct gcb_histogram *h, size_t i);

#endif
