#ifndef KERNELS_DITHER_NATURAL_ELEM_H
#define KERNELS_DITHER_NATURAL_ELEM_H

#include "kernels/base/hd.h"

/*
 * Stochastic rounding to a power of two (`natural`, arXiv 1905.10988 section 2). A code is the
 * upper 9 bits of a float32: the exponent field, and the sign above it.
 *
 * x = 2^e (1 + m / 2^23) is rounded to 2^(e+1) with probability m / 2^23, otherwise to 2^e. A
 * subnormal number m / 2^23 * 2^-126 is rounded to 2^-126 with probability m / 2^23, otherwise
 * to 0. In both cases, adding 1 to the exponent field gives the power above.
 */
#define GCB_NATURAL_WIDTH 9
/* Sign-cleared pattern of 2^127: the next power of two is too large for float32. */
#define GCB_NATURAL_LARGEST 0x7f000000u

/* The code of the power of two at or below |x|, or of 0 for a subnormal x, with the sign of x. */
GCB_HD uint32_t gcb_natural_below(float x)
{
    return gcb_bits_of(x) >> 23;
}

/* The probability of the code after gcb_natural_below(x), times 2^32. An element draws a byte,
 * which decides unless it equals the top byte of this number. Then 24 more bits decide. */
GCB_HD uint32_t gcb_natural_chance(float x)
{
    return gcb_bits_of(x) << 9;
}

GCB_HD float gcb_natural_value(uint32_t code)
{
    return gcb_float_of(code << 23);
}

#endif
