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

GCB_HD float gcb_select_power(float re, float im, float scale, float weight)
{
    const float a = re * scale, b = im * scale;

    return (a * a + b * b) * weight;
}

#endif
