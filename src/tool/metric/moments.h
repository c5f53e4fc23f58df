#ifndef SRC_TOOL_METRIC_MOMENTS_H
#define SRC_TOOL_METRIC_MOMENTS_H

#include "kernels/kernels.h"
#include "src/lib/tensor/tensor.h"

/*
 * Statistics of values, over any number of tensors. Infinities and NaNs are only counted. Central moments are computed
 * about each block's own mean and joined in double, which avoids cancellation. Blocks are joined in the order of calls, by
 * one thread, so results are reproducible.
 */
struct gcb_moments {
    uint64_t count;     /* all elements */
    uint64_t zeros;     /* of either sign */
    uint64_t nonfinite; /* infinities and NaNs */
    double mean;
    double m2, m3, m4; /* sums of (x - mean)^2, ^3, ^4 over the finite elements */
    double max_abs;
};

/* Starts zeroed. */
void gcb_moments_add(struct gcb_moments *m, const struct gcb_kernels *kernels,
                     const struct gcb_view *x);
/* Adds the statistics of `other` to m. */
void gcb_moments_join(struct gcb_moments *m, const struct gcb_moments *other);

/* Figures of the finite elements; NAN if there are none. */
double gcb_moments_mean(const struct gcb_moments *m);
double gcb_moments_max_abs(const struct gcb_moments *m);
/* The deviation and kurtosis of the population, that is, sums are divided by the count. The kurtosis is NAN if all elements are equal, and 3 for a normal
 * distribution. */
double gcb_moments_deviation(const struct gcb_moments *m);
double gcb_moments_kurtosis(const struct gcb_moments *m);
/* Share of zeros among all elements; NAN without elements. */
double gcb_moments_zeros(const struct gcb_moments *m);
double gcb_moments_l2(const struct gcb_moments *m);

#endif
