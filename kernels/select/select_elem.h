#ifndef KERNELS_SELECT_SELECT_ELEM_H
#define KERNELS_SELECT_SELECT_ELEM_H

/* One element's share of the kernels in kernels/select/select.h; vector variants use it for their tails. */
#include <stddef.h>

#include "kernels/hd.h"

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
