#ifndef KERNELS_RANGE_RANGE_ELEM_H
#define KERNELS_RANGE_RANGE_ELEM_H

#include "kernels/base/hd.h"

/*
 * The N-bit range float of SuperNeurons (HPDC'20, section 3.3). The bit pattern of a positive
 * float, shifted right so that m mantissa bits remain, is an integer that grows with the value. Let
 * eps be the smallest positive value. The code of a positive value is the value's integer less the
 * integer of eps, plus 1. So code 0 is zero, codes 1..P are positive and P+1..2P negative, with P =
 * 2^(N-1) - 1; one of the 2^N codes is unused.
 *
 * The paper leaves some points open. Here |x| above the largest code is clamped, for both signs.
 * The paper truncates; rounding to nearest adds half a step before the shift. Below eps, rounding
 * to nearest gives eps from eps/2 on, and truncation always gives zero.
 *
 * Error bounds for |x| <= max, when truncating: if eps <= |x|, the relative error is below 2^-m; if
 * |x| < eps, the error is below eps. When rounding to nearest, errors are at most half of that.
 * There are two exceptions, at the ends of the range of floats. Steps do not shrink below 2^-126,
 * so for eps <= |x| < 2^-126 the absolute error is below 2^(-126-m), or at most half of that to
 * nearest. In the last half step below 2^128 there is no value above to round to, so rounding to
 * nearest truncates there.
 */
struct gcb_range_format {
    uint32_t bits;     /* N, 2..16 */
    uint32_t mantissa; /* m, 0..N-1 */
    uint32_t shift;    /* 23 - m */
    uint32_t half;     /* 1 << (shift - 1) to nearest, 0 to truncate */
    uint32_t base;     /* pattern of eps, shifted right; at least 1 */
    uint32_t top;      /* P, or less if a tiny max leaves codes unused; 0: everything is zero */
    uint32_t negative; /* P: added to the code of a negative value */
    uint32_t floor;    /* patterns below this become zero */
    uint32_t clamp;    /* pattern of max; patterns above it are counted as clamped */
};

/* The code of x, in 0..2P for any bit pattern. */
GCB_HD uint32_t gcb_range_encode(float x, const struct gcb_range_format *f)
{
    const uint32_t u = gcb_bits_of(x);
    const uint32_t a = u & GCB_MAGNITUDE_MASK;
    uint32_t p = (a + f->half) >> f->shift; /* fits: a and half are below 2^31 and 2^23 */
    uint32_t code;

    p = p < f->base ? f->base : p;
    code = p - f->base + 1;
    code = code > f->top ? f->top : code;
    code = a < f->floor ? 0 : code;
    return code == 0 ? 0 : code + (u >> 31) * f->negative;
}

/* The value of a code; codes above 2P decode to 0. */
GCB_HD float gcb_range_decode(uint32_t code, const struct gcb_range_format *f)
{
    const uint32_t minus = code > f->negative;
    const uint32_t c = code - minus * f->negative;

    if (c == 0 || c > f->top)
        return 0.0f;
    return gcb_float_of(minus << 31 | (c + f->base - 1) << f->shift);
}

#endif
