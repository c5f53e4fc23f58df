#ifndef SRC_TOOL_MEASURE_MOMENTS_H
#define SRC_TOOL_MEASURE_MOMENTS_H

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

/* The mean and the largest magnitude of the finite elements; NAN if no element is finite. */
double gcb_moments_mean(const struct gcb_moments *m);
double gcb_moments_max_abs(const struct gcb_moments *m);
/* The standard deviation and the kurtosis of the population: sums are divided by the number of elements. The kurtosis
 * is 3 for a normal distribution, and NAN if all elements are equal. */
double gcb_moments_deviation(const struct gcb_moments *m);
double gcb_moments_kurtosis(const struct gcb_moments *m);
/* Returns the share of zeros among all elements; NAN if there are no elements. */
double gcb_moments_zeros(const struct gcb_moments *m);
double gcb_moments_l2(const struct gcb_moments *m);

#endif
