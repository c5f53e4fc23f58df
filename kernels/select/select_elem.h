#ifndef KERNELS_SELECT_SELECT_ELEM_H
#define KERNELS_SELECT_SELECT_ELEM_H

/* One element's share of the kernels in kernels/select/select.h; vector variants use it for their tails. */
#include <stddef.h>

#include "kernels/base/hd.h"

/* Writes index where entry `have` of pos belongs and returns how many entries there are now: without a
 * branch, because whether an element passes cannot be foreseen. */
GCB_HD size_t gcb_select_append(uint32_t *pos, size_t have, float x, uint32_t index,
                                uint32_t threshold)
{
    pos[have] = index;
    return have + (gcb_magnitude(x) >= threshold);
}

/* The power of two that brings the largest part, of sign-cleared pattern `top`, near 1, and no other part's square to
 * nothing before it has to be. */
GCB_HD float gcb_select_power_scale(uint32_t top)
{
    const uint32_t exponent = top >> 23;

    if (exponent == 0)
        return gcb_float_of(253u << 23); /* 2^126: denormals, and nothing but 0 */
    return gcb_float_of(exponent < 254 ? (254 - exponent) << 23 : 1u << 22);
}

GCB_HD float gcb_select_power(float re, float im, float scale, float weight)
{
    const float a = re * scale, b = im * scale;

    return (a * a + b * b) * weight;
}

/*
 * Bins that were ordered by their powers at the scale of a part `top`, the largest kept powers being `least` (a pattern)
 * and more: the largest exponent (a pattern's, shifted down by 23) of a part at whose scale, no greater than top's, the
 * same ones are kept.
 *
 * Why: the scales differ by 2^-d, the powers by 2^-2d but for underflow. Where a power is 2^-96 or more after that, it is
 * exactly so: the larger part's square is at least 2^-98, so normal at both scales; the smaller one's is too, or it is
 * below 2^-126, less than half a unit in the last place of the other, which the sum then is at both. Where it is less, it
 * stays below 2^-95: rounding adds no more than 2^-19 of it. So if all that is kept is 2^-95 or more, the kept are exactly
 * themselves times 2^-2d, and so is what competes with them, and what is not cannot.
 */
GCB_HD uint32_t gcb_select_power_reach(uint32_t top, uint32_t least)
{
    const uint32_t own = top >> 23 ? top >> 23 : 1, exponent = least >> 23;

    return exponent < 32 ? own : own + (exponent - 32) / 2; /* 32: of 2^-95 */
}

/* ---- select=sampled ---- */

/* Between these shares of k may pass the threshold, which is lowered so many times at most. */
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

/* The threshold that comes after one that too few reach; never 0. */
GCB_HD uint32_t gcb_sampled_lower(uint32_t threshold)
{
    const uint32_t lower = gcb_bits_of(gcb_float_of(threshold) * (float)GCB_SAMPLED_LEAST);

    return lower ? lower : 1;
}

/* ---- select=trimmed and search ---- */

/* Intervals of ratios are halved until they are no wider: ten times. */
#define GCB_SEARCH_END 1e-3

/* The magnitude at a ratio between mean and largest. */
GCB_HD uint32_t gcb_search_threshold(double mean, float max, double ratio)
{
    const float t = (float)(mean + ratio * ((double)max - mean));

    return gcb_bits_of(t > 0.0f ? t : 0.0f);
}

#endif
