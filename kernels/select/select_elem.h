#ifndef KERNELS_SELECT_SELECT_ELEM_H
#define KERNELS_SELECT_SELECT_ELEM_H

/* Per-element arithmetic of kernels/select/select.h, which vector variants use for their tails, and
 * of the selections sampled, search and redsync. */
#include <stddef.h>

#include "kernels/base/hd.h"

/* Appends index and x to the `have` entries of pos and value if x reaches the threshold. Returns
 * the new number of entries. Writes entry `have` in any case, because a branch would be
 * unpredictable. */
GCB_HD size_t gcb_select_append(uint32_t *pos, float *value, size_t have, float x, uint32_t index,
                                uint32_t threshold)
{
    pos[have] = index;
    value[have] = x;
    return have + (gcb_magnitude(x) >= threshold);
}

/* The power of two that brings the largest part near 1, so that the squares of the other parts do
 * not underflow earlier than necessary. `top` is the sign-cleared pattern of the largest part. */
GCB_HD float gcb_select_power_scale(uint32_t top)
{
    const uint32_t exponent = top >> 23;

    if (exponent == 0)
        return gcb_float_of(253u << 23); /* 2^126, for denormals and 0 */
    /* the factor for the largest exponent, 254, is 2^-127, a denormal */
    return gcb_float_of(exponent < 254 ? (254 - exponent) << 23 : 1u << 22);
}

/* `power` of kernels/select/select.h for one complex number. */
GCB_HD float gcb_select_power(float re, float im, float scale, float weight)
{
    const float a = re * scale, b = im * scale;

    return (a * a + b * b) * weight;
}

/*
 * Complex bins were ordered by their powers, at the scale for the largest real or imaginary part
 * `top`. All kept bins reach the power `least`. Both are bit patterns. Returns a biased exponent,
 * at least that of `top`: at the scales for all exponents between the two, the same bins are kept.
 *
 * Proof: the scales differ by 2^-d, and the powers by 2^-2d, except for underflow. Take a power
 * that is 2^-96 or more at the new scale. Its larger part's square is at least 2^-98, so it is
 * normal at both scales. Its smaller part's square is normal too, or it is below 2^-126; then it is
 * less than half a unit in the last place of the larger square, which equals the sum at both
 * scales. So such a power is scaled exactly. A power below 2^-96 stays below 2^-95, because
 * rounding adds at most 2^-19 of it. So if all kept powers are 2^-95 or more at the new scale, they
 * and all powers that could replace them are scaled exactly by 2^-2d, and their order stays.
 */
GCB_HD uint32_t gcb_select_power_reach(uint32_t top, uint32_t least)
{
    const uint32_t own = top >> 23 ? top >> 23 : 1, exponent = least >> 23;

    return exponent < 32 ? own : own + (exponent - 32) / 2; /* 32 is the biased exponent of 2^-95 */
}

/* ---- select=sampled ---- */

/* The number of kept elements may be between these shares of k. The threshold is lowered at most
 * GCB_SAMPLED_ADAPTATIONS times. */
#define GCB_SAMPLED_LEAST 0.8
#define GCB_SAMPLED_MOST 1.3
#define GCB_SAMPLED_ADAPTATIONS 10

GCB_HD int gcb_sampled_enough(uint64_t kept, uint64_t k)
{
    return (double)kept >= GCB_SAMPLED_LEAST * (double)k;
}

GCB_HD int gcb_sampled_too_many(uint64_t kept, uint64_t k)
{
    return (double)kept > GCB_SAMPLED_MOST * (double)k;
}

/* The threshold to try next if too few elements reach `threshold`; never 0. */
GCB_HD uint32_t gcb_sampled_lower(uint32_t threshold)
{
    const uint32_t lower = gcb_bits_of(gcb_float_of(threshold) * (float)GCB_SAMPLED_LEAST);

    return lower ? lower : 1;
}

/* ---- select=search and redsync (src/lib/sparse/select_redsync.c) ---- */

/* The search bisects the interval of ratios, [0, 1], until the interval is not wider than
 * GCB_SEARCH_END. That takes at most ten steps. */
#define GCB_SEARCH_END 1e-3

/* The bits of the magnitude at a ratio between the mean (0) and the largest magnitude (1). */
GCB_HD uint32_t gcb_search_threshold(double mean, float max, double ratio)
{
    const float t = (float)(mean + ratio * ((double)max - mean));

    return gcb_bits_of(t > 0.0f ? t : 0.0f);
}

#endif
