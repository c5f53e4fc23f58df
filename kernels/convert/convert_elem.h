#ifndef KERNELS_CONVERT_CONVERT_ELEM_H
#define KERNELS_CONVERT_CONVERT_ELEM_H

/*
 * The conversions of kernels/convert/convert.h for one element, from bit pattern to bit pattern.
 * They compute all possible results and select one, without branches, so that a compiler can
 * vectorise a loop over them.
 */
#include "kernels/base/hd.h"

/* A NaN is quiet if this bit of its fraction is set. */
#define GCB_FP32_QUIET 0x00400000u
#define GCB_FP16_QUIET 0x0200u
#define GCB_BF16_QUIET 0x0040u

/* The sign of a 16-bit float, and all its other bits. */
#define GCB_HALF_SIGN 0x8000u
#define GCB_HALF_ABS 0x7fffu
#define GCB_FP16_INF 0x7c00u
#define GCB_BF16_INF 0x7f80u

/* Magnitudes from here on round to infinity: half a step above the largest finite value. */
#define GCB_FP16_TOO_LARGE 0x477ff000u
#define GCB_BF16_TOO_LARGE 0x7f7f8000u

/* 2^-14, the smallest normal fp16, as fp32 and as fp16. */
#define GCB_FP16_NORMAL 0x38800000u
#define GCB_FP16_NORMAL_BITS 0x0400u
/* The difference of the exponent biases of fp32 (127) and fp16 (15), at the place of the
 * exponent. */
#define GCB_FP16_REBIAS (112u << 23)
/* How many more bits of fraction fp32 has than fp16. */
#define GCB_FP16_CUT 13

/* Returns 1 if a float of this magnitude saturates, else 0. */
GCB_HD uint32_t gcb_fp16_saturates(uint32_t magnitude)
{
    return (magnitude >= GCB_FP16_TOO_LARGE) & (magnitude < GCB_INF_BITS);
}

GCB_HD uint32_t gcb_bf16_saturates(uint32_t magnitude)
{
    return (magnitude >= GCB_BF16_TOO_LARGE) & (magnitude < GCB_INF_BITS);
}

/* Drops the lowest `bits` bits of u and rounds the rest to nearest, ties to even. A carry out of
 * the fraction increments the exponent, as rounding a float should. */
GCB_HD uint32_t gcb_round_off(uint32_t u, int bits)
{
    const uint32_t below_half = (1u << (bits - 1)) - 1u;

    return (u + below_half + (u >> bits & 1u)) >> bits;
}

GCB_HD uint32_t gcb_fp16_of_fp32(uint32_t u)
{
    const uint32_t sign = u >> 16 & GCB_HALF_SIGN, m = u & GCB_MAGNITUDE_MASK;
    /* Adding 0.5 rounds a small value to a multiple of 2^-24: this is the last bit of a float in
     * [0.5, 1), and the step of fp16 denormals. */
    const float half = 0.5f;
    const uint32_t denormal = gcb_bits_of(gcb_float_of(m) + half) - gcb_bits_of(half);
    const uint32_t normal = gcb_round_off(m - GCB_FP16_REBIAS, GCB_FP16_CUT);
    const uint32_t nan =
        GCB_FP16_INF | GCB_FP16_QUIET | (m >> GCB_FP16_CUT & (GCB_FP16_NORMAL_BITS - 1u));
    uint32_t h = m < GCB_FP16_NORMAL ? denormal : normal;

    h = m >= GCB_FP16_TOO_LARGE ? GCB_FP16_INF - 1u : h;
    h = m >= GCB_INF_BITS ? GCB_FP16_INF : h;
    h = m > GCB_INF_BITS ? nan : h;
    return sign | h;
}

GCB_HD uint32_t gcb_bf16_of_fp32(uint32_t u)
{
    const uint32_t sign = u >> 16 & GCB_HALF_SIGN, m = u & GCB_MAGNITUDE_MASK;
    uint32_t h = gcb_round_off(m, 16);

    h = m >= GCB_BF16_TOO_LARGE ? GCB_BF16_INF - 1u : h;
    h = m >= GCB_INF_BITS ? GCB_BF16_INF : h;
    h = m > GCB_INF_BITS ? (m >> 16 | GCB_BF16_QUIET) : h;
    return sign | h;
}

GCB_HD uint32_t gcb_fp32_of_fp16(uint32_t h)
{
    const uint32_t sign = (h & GCB_HALF_SIGN) << 16, m = h & GCB_HALF_ABS;
    /* A denormal is its fraction in steps of 2^-24, exactly. */
    const uint32_t denormal = gcb_bits_of((float)(int32_t)m * 0x1p-24f);
    const uint32_t normal = (m << GCB_FP16_CUT) + GCB_FP16_REBIAS;
    const uint32_t quiet = m > GCB_FP16_INF ? GCB_FP32_QUIET : 0u;
    uint32_t u = m < GCB_FP16_NORMAL_BITS ? denormal : normal;

    u = m >= GCB_FP16_INF ? (GCB_INF_BITS | m << GCB_FP16_CUT | quiet) : u;
    return sign | u;
}

GCB_HD uint32_t gcb_fp32_of_bf16(uint32_t h)
{
    const uint32_t u = h << 16, quiet = (h & GCB_HALF_ABS) > GCB_BF16_INF ? GCB_FP32_QUIET : 0u;

    return u | quiet;
}

/* Loads or stores a 16-bit element of a message: two bytes, the lower first on every machine. */
GCB_HD uint32_t gcb_load_half(const uint8_t *in)
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8;
}

GCB_HD void gcb_store_half(uint8_t *out, uint32_t h)
{
    out[0] = (uint8_t)h;
    out[1] = (uint8_t)(h >> 8);
}

#endif
