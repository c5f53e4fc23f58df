#ifndef SRC_TOOL_METRIC_MOMENTS_H
#define SRC_TOOL_METRIC_MOMENTS_H

#include "kernels/kernels.h"
#include "src/lib/tensor/tensor.h"

/*
 * What values look like, gathered over any number of tensors. Infinities and NaNs are counted and enter
 * nothing else. Central moments are formed about each block's own mean and joined pairwise, in double, so
 * nothing cancels; the order of blocks is the order of calls, and threads have no part in it.
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
/* Takes all that `other` has gathered into m. */
void gcb_moments_join(struct gcb_moments *m, const struct gcb_moments *other);

/* Of the finite elements; NAN where there are none. */
double gcb_moments_mean(const struct gcb_moments *m);
double gcb_moments_max_abs(const struct gcb_moments *m);
/* Of the population (divided by the count); NAN where there are no elements or, for the kurtosis, no
 * spread. A normal distribution has kurtosis 3. */
double gcb_moments_deviation(const struct gcb_moments *m);
double gcb_moments_kurtosis(const struct gcb_moments *m);
/* Share of zeros among all elements. */
double gcb_moments_zeros(const struct gcb_moments *m);
double gcb_moments_l2(const struct gcb_moments *m);

#endif
