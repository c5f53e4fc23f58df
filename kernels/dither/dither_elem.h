#ifndef KERNELS_DITHER_DITHER_ELEM_H
#define KERNELS_DITHER_DITHER_ELEM_H

#include "kernels/philox/philox_elem.h"

/*
 * Stochastic rounding of |x| * levels / norm to the integers 0..levels (QSGD section 3.1; TernGrad
 * has one level). With t = min(|x| * factor * inv, levels) and l = floor(t), the result is l + 1
 * with probability t - l, and l otherwise.
 *
 * `factor` is a power of two (1 except for extreme norms), so that |x| * factor is exact wherever
 * it matters, and inv = levels / (norm * factor) neither overflows nor loses bits.
 *
 * The probability has 32 bits: p = (t - l) * 2^32, rounded down. An element draws a byte, which
 * decides unless it equals the top byte of p (one case in 256). Then 24 more bits from a second
 * stream decide. Given t, the probability of each outcome is exact to 2^-32, and only integers are
 * compared. t itself has the rounding errors of inv and of one product, at most 2^-23 of its value.
 *
 * A NaN or infinity of either sign gets the highest level: t = levels.
 */
struct gcb_dither {
    uint64_t seed;
    uint64_t coarse; /* random stream of the bytes */
    uint64_t fine;   /* random stream of the 24 bits */
    float factor;
    float inv;
    uint32_t levels; /* 1..32767 */
};

/* Sets factor and inv for a norm (finite, above 0) and d->levels. factor is 2^100 for a norm below
 * 2^-100, 2^-100 for a norm above 2^100, and 1 for all others. */
GCB_HD void gcb_dither_scale(struct gcb_dither *d, float norm)
{
    d->factor = norm < 0x1p-100f ? 0x1p100f : 1.0f;
    if (norm > 0x1p100f)
        d->factor = 0x1p-100f;
    d->inv = (float)d->levels / (norm * d->factor);
}

/* The smaller of a and b; b if a is a NaN. b must not be a NaN. */
GCB_HD float gcb_lesser(float a, float b)
{
#ifdef __CUDA_ARCH__
    return fminf(a, b); /* one instruction; the compiler does not make it from the comparison */
#else
    return a < b ? a : b;
#endif
}

/* The fraction of t above its level, in 32 bits. */
GCB_HD uint32_t gcb_dither_fraction(float t, uint32_t level)
{
    return (uint32_t)((t - (float)level) * 0x1p32f);
}

/* t of x, as the comment on struct gcb_dither defines it. */
GCB_HD float gcb_dither_t(float x, const struct gcb_dither *d)
{
    return gcb_lesser(gcb_float_of(gcb_magnitude(x)) * d->factor * d->inv, (float)d->levels);
}

/* Level of x, 0..levels. `byte` is gcb_philox_byte(seed, index, coarse). */
GCB_HD uint32_t gcb_dither_level(float x, uint32_t byte, uint64_t index, const struct gcb_dither *d)
{
    const float t = gcb_dither_t(x, d);
    const uint32_t level = (uint32_t)t, p = gcb_dither_fraction(t, level);

    /* The result of a comparison is added instead of branching on it, because a CPU cannot predict
     * random outcomes. */
    if (byte != p >> 24)
        return level + (byte < p >> 24);
    return level + (gcb_philox_24(d->seed, index, d->fine) < (p & 0xffffffu));
}

/*
 * This function and gcb_dither_rounds_up do what gcb_dither_level does, in two steps, so that a
 * kernel can take the first step for many elements at once. gcb_dither_256ths returns t in 256ths,
 * rounded down: the level, and below it the top byte of p. The caller adds 255 - byte. The bits
 * above the lowest 8 are then the level that the byte decides. If the lowest 8 bits are all ones,
 * the byte does not decide, and gcb_dither_rounds_up says whether to add one.
 *
 * scaled is |x| * d->factor, inv256 is d->inv * 256 and top256 is d->levels * 256. Multiplying by
 * 256 before or after the product gives the same result, with two exceptions that do not matter: a
 * t below 2^-126 is 0 in 256ths either way, and an overflow is above the top either way.
 */
GCB_HD uint32_t gcb_dither_256ths(float scaled, float inv256, float top256)
{
    return (uint32_t)gcb_lesser(scaled * inv256, top256);
}

/* Returns 1 if the second draw rounds x up, else 0. `fine` is that draw:
 * gcb_philox_24(d->seed, index, d->fine). */
GCB_HD uint32_t gcb_dither_rounds_up(float x, uint32_t fine, const struct gcb_dither *d)
{
    const float t = gcb_dither_t(x, d);

    return fine < (gcb_dither_fraction(t, (uint32_t)t) & 0xffffffu);
}

/* The level with the sign of x above it; level 0 has no sign. This form is for devices, where the
 * condition becomes a selection. On a CPU it would become a branch that cannot be predicted, so
 * gcb_dither_signed computes the same code without a condition. */
GCB_HD uint32_t gcb_dither_with_sign(uint32_t level, float x, uint32_t sign_bit)
{
    const uint32_t sign = gcb_bits_of(x) >> (31 - sign_bit) & 1u << sign_bit;

    return level ? level | sign : 0u;
}

/* The code of level (0 or 1) times the sign of x: 0, 1 or 2 for -1, 0 or +1. */
GCB_HD uint32_t gcb_dither_trit_of(uint32_t level, float x)
{
    return 1 + level - 2 * (level & gcb_bits_of(x) >> 31);
}

/* The level of x, drawn by gcb_dither_level, with the sign of x above it; level 0 has no sign. */
GCB_HD uint32_t gcb_dither_signed(float x, uint32_t byte, uint64_t index,
                                  const struct gcb_dither *d, uint32_t sign_bit)
{
    const uint32_t level = gcb_dither_level(x, byte, index, d);

    return level | (gcb_bits_of(x) >> 31 & (level != 0)) << sign_bit;
}

/* The code of the level of x, drawn by gcb_dither_level, times the sign of x. d->levels is 1. */
GCB_HD uint32_t gcb_dither_trit(float x, uint32_t byte, uint64_t index, const struct gcb_dither *d)
{
    return gcb_dither_trit_of(gcb_dither_level(x, byte, index, d), x);
}

/* The level nearest to t, with the sign of x above it; level 0 has no sign. Ties go to the even
 * level. Adding 2^23 leaves no bits for a fraction, so the addition rounds. */
GCB_HD uint32_t gcb_dither_nearest(float x, const struct gcb_dither *d, uint32_t sign_bit)
{
    const uint32_t level = (uint32_t)(gcb_dither_t(x, d) + 0x1p23f - 0x1p23f);

    return level | (gcb_bits_of(x) >> 31 & (level != 0)) << sign_bit;
}

/* The value of a signed level, + or - scale * step. The caller gives step = level / levels. */
GCB_HD float gcb_dither_step_value(uint32_t code, float step, float scale, uint32_t sign_bit)
{
    if ((code & ((1u << sign_bit) - 1)) == 0)
        return 0.0f;
    return gcb_float_of(gcb_bits_of(scale * step) ^ (code >> sign_bit & 1u) << 31);
}

/* The value of a signed level. `step` is a table of level / levels. Bits above the sign are
 * ignored. */
GCB_HD float gcb_dither_value(uint32_t code, const float *step, float scale, uint32_t sign_bit)
{
    return gcb_dither_step_value(code, step[code & ((1u << sign_bit) - 1)], scale, sign_bit);
}

/* -scale, 0 or scale for codes 0, 1 and 2; 0 for any other code. */
GCB_HD float gcb_dither_trit_value(uint32_t code, float scale)
{
    if (code == 0)
        return -scale;
    return code == 2 ? scale : 0.0f;
}

#endif
