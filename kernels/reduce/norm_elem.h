#ifndef KERNELS_REDUCE_NORM_ELEM_H
#define KERNELS_REDUCE_NORM_ELEM_H

/* Norms and clipping limits from sums, computed once per bucket or tensor. sqrt is correctly
 * rounded, as IEEE 754 requires. */
#include <math.h>

#include "kernels/base/hd.h"

/* The L2 norm from the sum of squares, at most the largest finite float. */
GCB_HD float gcb_norm_of_squares(double sum_sq)
{
    const double norm = sqrt(sum_sq);

    return norm < 0x1.fffffep127 ? (float)norm : gcb_float_of(GCB_MAX_FINITE_BITS);
}

/*
 * Returns `clip` times the standard deviation, as in the code of TernGrad's authors. The variance
 * is the difference of two sums, each accurate to a relative error of 2^-40 or better. So if it is
 * at most 2^-36 of the mean square, it may be only rounding error, as it is for a constant tensor,
 * and the result is 0.
 */
GCB_HD double gcb_clip_of_sums(double clip, double sum, double sum_sq, double n)
{
    const double variance = (sum_sq - sum * sum / n) / n;

    return variance > 0x1p-36 * sum_sq / n ? clip * sqrt(variance) : 0.0;
}

/* The limit `clip` if it is positive and below the largest magnitude; otherwise the largest
 * magnitude, whose bits are max_bits. */
GCB_HD float gcb_clipped_max(double clip, uint32_t max_bits)
{
    const float max = gcb_float_of(max_bits);

    return (float)clip > 0.0f && clip < (double)max ? (float)clip : max;
}

#endif
