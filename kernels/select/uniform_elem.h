#ifndef KERNELS_SELECT_UNIFORM_ELEM_H
#define KERNELS_SELECT_UNIFORM_ELEM_H

/*
 * Uniform quantisation with `bits` (2 to 16) bits per value, relative to the largest magnitude
 * `max`. There are s = 2^(bits-1) - 1 levels above zero, and level = floor(|x| * s / max + 1/2),
 * but at most s. A code has the level in its lower bits and, except for level 0, the sign in its
 * top bit. The magnitude of a code is max * (level / s); the quotient is computed first, so that
 * nothing overflows.
 */
#include "kernels/base/hd.h"

GCB_HD uint32_t gcb_uniform_levels(unsigned bits)
{
    return (1u << (bits - 1)) - 1;
}

/* The code of x; 0 if max is 0. Computes in double, where the product of a float and a small
 * integer is exact and no quotient overflows. */
GCB_HD uint32_t gcb_uniform_encode(float x, float max, unsigned bits)
{
    const uint32_t s = gcb_uniform_levels(bits);
    const double a = (double)gcb_float_of(gcb_magnitude(x));
    double t;
    uint32_t level;

    if (!(max > 0.0f))
        return 0;
    t = a * (double)s / (double)max + 0.5;
    level = t < (double)s ? (uint32_t)t : s;
    return level | (level ? gcb_bits_of(x) >> 31 << (bits - 1) : 0);
}

GCB_HD float gcb_uniform_decode(uint32_t code, float max, unsigned bits)
{
    const uint32_t sign = 1u << (bits - 1);
    const float value = max * ((float)(code & (sign - 1)) / (float)gcb_uniform_levels(bits));

    return code & sign ? -value : value;
}

#endif
