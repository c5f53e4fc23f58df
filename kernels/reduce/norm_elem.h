#ifndef KERNELS_REDUCE_NORM_ELEM_H
#define KERNELS_REDUCE_NORM_ELEM_H

/* Norms and clips from sums, computed once per bucket or tensor. sqrt is correctly rounded, as IEEE
 * 754 requires. */
#include <math.h>

#include "kernels/base/hd.h"

/* The L2 norm, limited to finite floats. */
GCB_HD float gcb_norm_of_squares(double sum_sq)
{
    const double norm = sqrt(sum_sq);

    return norm < 3.4028234663852886e38 ? (float)norm : gcb_float_of(GCB_MAX_FINITE_BITS);
}

/*
 * `clip` standard deviations about the mean, as in the code of TernGrad's authors; 0 if the
 * deviation is 0. The variance is the difference of two sums, each accurate to 2^-40 or better. A
 * difference below 2^-36 of them counts as rounding error; for a constant tensor, the difference is
 * only rounding error.
 */
GCB_HD double gcb_clip_of_sums(double clip, double sum, double sum_sq, double n)
{
    const double variance = (sum_sq - sum * sum / n) / n;

    return variance > 0x1p-36 * sum_sq / n ? clip * sqrt(variance) : 0.0;
}

/* The clip if it is positive and below the largest magnitude; otherwise the largest magnitude. */
GCB_HD float gcb_clipped_max(double clip, uint32_t max_bits)
{
    const float max = gcb_float_of(max_bits);

    return (float)clip > 0.0f && clip < (double)max ? (float)clip : max;
}

#endif
