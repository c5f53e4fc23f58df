#ifndef KERNELS_REDUCE_NORM_ELEM_H
#define KERNELS_REDUCE_NORM_ELEM_H

/* What sums become, once for a bucket or a tensor. The square root is the one that IEEE 754 rounds correctly. */
#include <math.h>

#include "kernels/base/hd.h"

/* The L2 norm as a finite float. */
GCB_HD float gcb_norm_of_squares(double sum_sq)
{
    const double norm = sqrt(sum_sq);

    return norm < 3.4028234663852886e38 ? (float)norm : gcb_float_of(GCB_MAX_FINITE_BITS);
}

/*
 * `clip` standard deviations about the mean, as TernGrad's authors take them; 0 where there is none. The
 * variance is the difference of two sums, each good to 2^-40 or better: what lies below that share
 * of them is rounding, and a constant tensor's is nothing else.
 */
GCB_HD double gcb_clip_of_sums(double clip, double sum, double sum_sq, double n)
{
    const double variance = (sum_sq - sum * sum / n) / n;

    return variance > 0x1p-36 * sum_sq / n ? clip * sqrt(variance) : 0.0;
}

/* The largest magnitude or, where that is lower and not 0, the clip. */
GCB_HD float gcb_clipped_max(double clip, uint32_t max_bits)
{
    const float max = gcb_float_of(max_bits);

    return (float)clip > 0.0f && clip < (double)max ? (float)clip : max;
}

#endif
