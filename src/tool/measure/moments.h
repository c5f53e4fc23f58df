#ifndef SRC_TOOL_MEASURE_MOMENTS_H
#define SRC_TOOL_MEASURE_MOMENTS_H

#include <stdbool.h>

#include "kernels/kernels.h"
#include "src/lib/tensor/tensor.h"

/*
 * Statistics of values, over any number of tensors. Infinities and NaNs are only counted. Central moments are computed
 * about each block's own mean and joined in double, which avoids cancellation. Blocks are joined in the order of
 * calls, by one thread, so results are reproducible.
 */
struct gcb_moments {
    uint64_t count;     /* all elements */
    uint64_t zeros;     /* number of zeros (0 and -0) */
    uint64_t nonfinite; /* infinities and NaNs */
    double mean;
    double m2, m3, m4; /* sums of (x - mean)^2, ^3, ^4 over the finite elements */
    double max_abs;
};

/* Adds the values of x to m, which starts as a zeroed struct. */
void gcb_moments_add(struct gcb_moments *m, const struct gcb_kernels *kernels,
                     const struct gcb_view *x);
/* Adds the statistics of `other` to m. */
void gcb_moments_join(struct gcb_moments *m, const struct gcb_moments *other);

/* Figures of the finite elements; NAN, and 0 for l2, if no element is finite. */
struct gcb_moments_figures {
    double mean, max_abs, l2;
    double deviation; /* of the population: the sum is divided by the number of elements */
    double kurtosis;  /* 3 for a normal distribution; NAN if all elements are equal */
    double zeros;     /* share of zeros among all elements; NAN only without elements */
};
void gcb_moments_figures(struct gcb_moments_figures *out, const struct gcb_moments *m);

/*
 * Counts of values by sign and magnitude, with four bins for each power of two. The bins are the same for all tensors,
 * so histograms can be added. The bin of a magnitude is its bit pattern without the last 21 bits.
 */
#define GCB_HISTOGRAM_SHIFT 21
#define GCB_HISTOGRAM_BINS 1020 /* bins of one sign; larger bit patterns are inf or NaN */

struct gcb_histogram {
    /* in ascending order of their values: bins of negative values, zeros (0 and -0), bins of positive values */
    uint64_t bins[2 * GCB_HISTOGRAM_BINS + 1];
    uint64_t nonfinite;
    uint64_t count; /* number of all values */
};

/* Adds values to a histogram, which starts as a zeroed struct. */
void gcb_histogram_add(struct gcb_histogram *h, const struct gcb_view *x);
void gcb_histogram_join(struct gcb_histogram *h, const struct gcb_histogram *other);

/* Returns the number of values of both signs with a magnitude in [2^e, 2^(e+1)), for -126 <= e <= 127. e = -127 stands
 * for all subnormal values. */
uint64_t gcb_histogram_octave(const struct gcb_histogram *h, int e);

/* Gets bin i, from 0 to 2 * GCB_HISTOGRAM_BINS. A bin includes its end nearer to zero, and excludes the other end. Returns
 * false after the last bin. */
struct gcb_histogram_bin {
    double low, high;
    uint64_t count;
    double share; /* the bin's share of all values; NAN if there are no values */
};
double gcb_histogram_share(const struct gcb_histogram *h, uint64_t count);
bool gcb_histogram_bin(struct gcb_histogram_bin *out, const struct gcb_histogram *h, size_t i);

#endif
