#ifndef KERNELS_DITHER_DITHER_ELEM_H
#define KERNELS_DITHER_DITHER_ELEM_H

#include "kernels/philox/philox_elem.h"

/*
 * Stochastic rounding of |x| * scale to the integers 0..levels (QSGD section 3.1; TernGrad is the case
 * of one level). With t = min(|x| * factor * inv, levels) and l = floor(t), the result is l + 1 with
 * probability t - l, else l.
 *
 * `factor` is a power of two (1 but for extreme norms), so that |x| * factor is exact and
 * inv = levels / (norm * factor) neither overflows nor loses bits.
 *
 * The probability is held in 32 bits: p = (t - l) * 2^32, rounded down. An element draws a byte; it
 * decides unless it equals p's top byte (1 in 256); then 24 more bits from a second stream decide.
 * The outcome is exact to 2^-32 and only integers are compared.
 */
struct gcb_dither {
    uint64_t seed;
    uint64_t coarse; /* stream of the bytes */
    uint64_t fine;   /* stream of the 24 bits */
    float factor;
    float inv;
    uint32_t levels; /* 1..32767 */
};

/* Level of x, 0..levels. `byte` is gcb_philox_byte(seed, index, coarse). x is finite. */
GCB_HD uint32_t gcb_dither_level(float x, uint32_t byte, uint64_t index, const struct gcb_dither *d)
{
    const float top = (float)d->levels;
    float t = gcb_float_of(gcb_magnitude(x)) * d->factor * d->inv;
    uint32_t level, p;

    t = t < top ? t : top;
    level = (uint32_t)t;
    p = (uint32_t)((t - (float)level) * 4294967296.0f);
    if (byte < p >> 24)
        return level + 1;
    if (byte == p >> 24 && gcb_philox_24(d->seed, index, d->fine) < (p & 0xffffffu))
        return level + 1;
    return level;
}

#endif
