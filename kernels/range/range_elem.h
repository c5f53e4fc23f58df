#ifndef KERNELS_RANGE_RANGE_ELEM_H
#define KERNELS_RANGE_RANGE_ELEM_H

#include "kernels/base/hd.h"

/*
 * The N-bit range float of SuperNeurons (HPDC'20, section 3.3): the bit pattern of a positive float,
 * shifted right to keep m mantissa bits, is a monotone integer; a code is its offset from the pattern
 * of the smallest value, eps. Code 0 is zero, 1..P the positives, P+1..2P the negatives, with
 * P = 2^(N-1) - 1 (one of the 2^N codes stays unused).
 *
 * What the paper leaves open is decided so: |x| above the largest code clamps, on both sides;
 * rounding to nearest adds half a step before the shift (the paper truncates) and, below eps, goes to
 * eps from eps/2 on; truncation sends everything below eps to zero.
 *
 * Bounds, for |x| <= max: for eps <= |x|, relative error below 2^-m (at most 2^-(m+1) to nearest); for
 * |x| < eps, error below eps (at most eps/2 to nearest). Two exceptions, at the ends of what a float is:
 * steps do not shrink below 2^-126, so for eps <= |x| < 2^-126 it is the error that is below 2^(-126-m)
 * (at most half of that to nearest); and the half step under 2^128 has no value above it to go to, so
 * that nearest truncates there.
 */
struct gcb_range_format {
    uint32_t bits;     /* N, 2..16 */
    uint32_t mantissa; /* m, 0..N-1 */
    uint32_t shift;    /* 23 - m */
    uint32_t half;     /* 1 << (shift - 1) to nearest, 0 to truncate */
    uint32_t base;     /* pattern of eps, shifted; at least 1 */
    uint32_t top;      /* P, or less where a tiny max leaves codes unused; 0: all is zero */
    uint32_t negative; /* P: what is added to the code of a negative value */
    uint32_t floor;    /* patterns below this become zero */
    uint32_t clamp;    /* pattern of max: those above are counted as clamped */
};

/* The code of x. Any bit pattern gives a code in 0..2P. */
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

/* The value of a code; codes above 2P decode as 0. */
GCB_HD float gcb_range_decode(uint32_t code, const struct gcb_range_format *f)
{
    const uint32_t minus = code > f->negative;
    const uint32_t c = code - minus * f->negative;

    if (c == 0 || c > f->top)
        return 0.0f;
    return gcb_float_of(minus << 31 | (c + f->base - 1) << f->shift);
}

#endif
