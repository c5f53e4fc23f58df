#ifndef KERNELS_DITHER_DITHER_H
#define KERNELS_DITHER_DITHER_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/dither/dither_elem.h"

/*
 * Family `dither`: stochastic rounding of arrays and its inverse (dither_elem.h has the arithmetic).
 * Every variant is bit-exact.
 *
 * signed_levels:  code[i] = level | sign << sign_bit, with level = gcb_dither_level(x[i], byte[i],
 *                 index + i, d) and sign = 1 where x[i] is negative and level is not 0. sign_bit <= 15,
 *                 levels < 2^sign_bit.
 * trits:          code[i] = 1 + sign(x[i]) * level, for levels = 1: 0, 1 or 2.
 * from_levels:    x[i] = (+ or -) scale * step[level]. `step` has 2^sign_bit entries, those above the
 *                 number of levels being 0, so any code below 2^(sign_bit+1) is safe. Level 0 gives +0.
 * from_trits:     x[i] = -scale, 0 or scale; any other code gives 0.
 */
typedef void gcb_dither_signed_fn(uint16_t *code, const float *x, size_t n, const uint8_t *byte,
                                  uint64_t index, const struct gcb_dither *d, unsigned sign_bit);
typedef void gcb_dither_trits_fn(uint16_t *code, const float *x, size_t n, const uint8_t *byte,
                                 uint64_t index, const struct gcb_dither *d);
typedef void gcb_dither_from_levels_fn(float *x, const uint16_t *code, size_t n, const float *step,
                                       float scale, unsigned sign_bit);
typedef void gcb_dither_from_trits_fn(float *x, const uint16_t *code, size_t n, float scale);

struct gcb_dither_fns {
    gcb_dither_signed_fn *signed_levels;
    gcb_dither_trits_fn *trits;
    gcb_dither_from_levels_fn *from_levels;
    gcb_dither_from_trits_fn *from_trits;
};

void gcb_dither_init(struct gcb_dither_fns *fns, unsigned cpu_flags);

/*
 * Sets factor and inv for a norm (finite, above 0) and d->levels: factor = 2^100 below 2^-100, 2^-100
 * above 2^100, else 1.
 */
void gcb_dither_scale(struct gcb_dither *d, float norm);

#endif
