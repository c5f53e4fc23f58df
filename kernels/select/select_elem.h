#ifndef KERNELS_SELECT_SELECT_ELEM_H
#define KERNELS_SELECT_SELECT_ELEM_H

/* Per-element arithmetic of kernels/select/select.h; vector variants use it for their tails. */
#include <stddef.h>

#include "kernels/base/hd.h"

/* Writes index to entry `have` of pos and returns the new number of entries. Without a branch,
 * because it cannot be predicted which elements pass. */
GCB_HD size_t gcb_select_append(uint32_t *pos, size_t have, float x, uint32_t index,
                                uint32_t threshold)
{
    pos[have] = index;
    return have + (gcb_magnitude(x) >= threshold);
}

/* The power of two that brings the largest part, of sign-cleared pattern `top`, near 1, so that the
 * squares of the other parts do not underflow earlier than necessary. */
GCB_HD float gcb_select_power_scale(uint32_t top)
{
    const uint32_t exponent = top >> 23;

    if (exponent == 0)
        return gcb_float_of(253u << 23); /* 2^126, for denormals and 0 */
    return gcb_float_of(exponent < 254 ? (254 - exponent) << 23 : 1u << 22);
}

GCB_HD float gcb_select_power(float re, float im, float scale, float weight)
{
    const float a = re * scale, b = im * scale;

    return (a * a + b * b) * weight;
}

/*
 * The largest exponent (of a part's bit pattern, shifted down by 23) at whose scale the same bins
 * are kept. The bins were ordered by their powers at the scale of a part `top`, and `least` (a
 * pattern) is the smallest kept power. The new scale is not larger than top's.
 *
 * Why: the scales differ by 2^-d, and the powers by 2^-2d, except for underflow. If a power is
 * 2^-96 or more after that, it is exactly scaled: the larger part's square is at least 2^-98, so it
 * is normal at both scales. The smaller part's square is normal too, or it is below 2^-126, less
 * than half a unit in the last place of the larger square, which then equals the sum at both
 * scales. A power below 2^-96 stays below 2^-95, because rounding adds at most 2^-19 of it. So if
 * all kept powers are 2^-95 or more, they are scaled exactly by 2^-2d, and so are the powers that
 * compete with them; smaller powers cannot.
 */
GCB_HD uint32_t gcb_select_power_reach(uint32_t top, uint32_t least)
{
    const uint32_t own = top >> 23 ? top >> 23 : 1, exponent = least >> 23;

    return exponent < 32 ? own : own + (exponent - 32) / 2; /* 32 is the biased exponent of 2^-95 */
}

/* ---- select=sampled ---- */

/* Accepted numbers of kept elements as shares of k, and how many times the threshold may be
 * lowered. */
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

/* The threshold to try after one that too few elements reach; never 0. */
GCB_HD uint32_t gcb_sampled_lower(uint32_t threshold)
{
    const uint32_t lower = gcb_bits_of(gcb_float_of(threshold) * (float)GCB_SAMPLED_LEAST);

    return lower ? lower : 1;
}

/* ---- select=trimmed and search ---- */

/* The search bisects the interval of ratios until it is not wider than this, which takes ten
 * steps. */
#define GCB_SEARCH_END 1e-3

/* The magnitude at a ratio between the mean and the largest magnitude. */
GCB_HD uint32_t gcb_search_threshold(double mean, float max, double ratio)
{
    const float t = (float)(mean + ratio * ((double)max - mean));

    return gcb_bits_of(t > 0.0f ? t : 0.0f);
}

#endif
