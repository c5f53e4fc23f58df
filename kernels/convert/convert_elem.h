#ifndef KERNELS_CONVERT_CONVERT_ELEM_H
#define KERNELS_CONVERT_CONVERT_ELEM_H

/*
 * The conversions of kernels/convert/convert.h for one element, from bit pattern to bit pattern.
 * They select between values that are cheap to compute, so that a compiler can vectorise the loop.
 */
#include "kernels/base/hd.h"

/* A NaN is quiet if this bit of its fraction is set. */
#define GCB_FP32_QUIET 0x00400000u
#define GCB_FP16_QUIET 0x0200u
#define GCB_BF16_QUIET 0x0040u

#define GCB_FP16_INF 0x7c00u
#define GCB_BF16_INF 0x7f80u

/* Magnitudes from here on round to infinity: half a step above the largest finite value. */
#define GCB_FP16_TOO_LARGE 0x477ff000u
#define GCB_BF16_TOO_LARGE 0x7f7f8000u

/* 2^-14, the smallest normal fp16; and the difference of the exponent biases of fp32 and fp16. */
#define GCB_FP16_NORMAL 0x38800000u
#define GCB_FP16_REBIAS (112u << 23)

/* Returns 1 if a float of this magnitude saturates, else 0. */
GCB_HD uint32_t gcb_fp16_saturates(uint32_t magnitude)
{
    return (magnitude >= GCB_FP16_TOO_LARGE) & (magnitude < GCB_INF_BITS);
}

GCB_HD uint32_t gcb_bf16_saturates(uint32_t magnitude)
{
    return (magnitude >= GCB_BF16_TOO_LARGE) & (magnitude < GCB_INF_BITS);
}

/* Drops the lowest `bits` bits, to nearest, ties to even. A carry increments the exponent, as it
 * should. */
GCB_HD uint32_t gcb_round_off(uint32_t u, int bits)
{
    const uint32_t below_half = (1u << (bits - 1)) - 1u;

    return (u + below_half + (u >> bits & 1u)) >> bits;
}

GCB_HD uint32_t gcb_fp16_of_fp32(uint32_t u)
{
    const uint32_t sign = u >> 16 & 0x8000u, m = u & GCB_MAGNITUDE_MASK;
    /* The last bit of a float in [0.5, 1) is 2^-24, the step of fp16 denormals, so this addition
     * rounds. */
    const float half = 0.5f;
    const uint32_t denormal = gcb_bits_of(gcb_float_of(m) + half) - gcb_bits_of(half);
    const uint32_t normal = gcb_round_off(m - GCB_FP16_REBIAS, 13);
    const uint32_t nan = GCB_FP16_INF | GCB_FP16_QUIET | (m >> 13 & 0x3ffu);
    uint32_t h = m < GCB_FP16_NORMAL ? denormal : normal;

    h = m >= GCB_FP16_TOO_LARGE ? GCB_FP16_INF - 1u : h;
    h = m >= GCB_INF_BITS ? GCB_FP16_INF : h;
    h = m > GCB_INF_BITS ? nan : h;
    return sign | h;
}

GCB_HD uint32_t gcb_bf16_of_fp32(uint32_t u)
{
    const uint32_t sign = u >> 16 & 0x8000u, m = u & GCB_MAGNITUDE_MASK;
    uint32_t h = gcb_round_off(m, 16);

    h = m >= GCB_BF16_TOO_LARGE ? GCB_BF16_INF - 1u : h;
    h = m >= GCB_INF_BITS ? GCB_BF16_INF : h;
    h = m > GCB_INF_BITS ? (m >> 16 | GCB_BF16_QUIET) : h;
    return sign | h;
}

GCB_HD uint32_t gcb_fp32_of_fp16(uint32_t h)
{
    const uint32_t sign = (h & 0x8000u) << 16, m = h & 0x7fffu;
    /* A denormal is its fraction in steps of 2^-24, exactly. */
    const uint32_t denormal = gcb_bits_of((float)(int32_t)m * 0x1p-24f);
    const uint32_t normal = (m << 13) + GCB_FP16_REBIAS;
    const uint32_t quiet = m > GCB_FP16_INF ? GCB_FP32_QUIET : 0u;
    uint32_t u = m < 0x0400u ? denormal : normal;

    u = m >= GCB_FP16_INF ? (GCB_INF_BITS | m << 13 | quiet) : u;
    return sign | u;
}

GCB_HD uint32_t gcb_fp32_of_bf16(uint32_t h)
{
    const uint32_t u = h << 16, quiet = (h & 0x7fffu) > GCB_BF16_INF ? GCB_FP32_QUIET : 0u;

    return u | quiet;
}

/* Message bytes are little-endian on every machine. */
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
