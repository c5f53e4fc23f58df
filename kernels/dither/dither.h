#ifndef KERNELS_DITHER_DITHER_H
#define KERNELS_DITHER_DITHER_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/dither/dither_elem.h"

/*
 * Family `dither`: stochastic rounding of arrays, and its inverse. dither_elem.h defines the
 * arithmetic. Every variant is bit-exact.
 *
 * signed_levels:  code[i] = gcb_dither_signed(x[i], byte[i], index + i): the level in the lower
 *                 sign_bit bits, and the sign in the bit above. 1 <= sign_bit <= 15,
 *                 levels < 2^sign_bit.
 * nearest_levels: code[i] = gcb_dither_nearest(x[i]): like signed_levels, but with the nearest
 *                 level instead of a drawn one.
 * trits:          code[i] = gcb_dither_trit(x[i], byte[i], index + i) = 1 + sign(x[i]) * level,
 *                 which is 0, 1 or 2. Requires levels = 1.
 * from_levels:    x[i] = (+ or -) scale * step[level]; level 0 gives +0. `step` has 2^sign_bit
 *                 entries. Entries above the number of levels are 0, so that any code is safe. Bits
 *                 above the sign are ignored. scale and the steps are finite.
 * from_trits:     x[i] = -scale, 0 or scale for codes 0, 1 and 2; any other code gives +0.
 * add_levels, add_trits: acc[i] += weight * v, where v is the value that from_levels or from_trits
 *                 decodes from code[i]. The product and the sum are rounded separately. The payload
 *                 of a NaN is not promised.
 *
 * x may hold any bit patterns (dither_elem.h defines the result for NaNs). A caller that must not
 * encode NaNs checks for them first.
 */
typedef void gcb_dither_signed_fn(uint16_t *code, const float *x, size_t n, const uint8_t *byte,
                                  uint64_t index, const struct gcb_dither *d, unsigned sign_bit);
typedef void gcb_dither_nearest_fn(uint16_t *code, const float *x, size_t n,
                                   const struct gcb_dither *d, unsigned sign_bit);
typedef void gcb_dither_trits_fn(uint16_t *code, const float *x, size_t n, const uint8_t *byte,
                                 uint64_t index, const struct gcb_dither *d);
typedef void gcb_dither_from_levels_fn(float *x, const uint16_t *code, size_t n, const float *step,
                                       float scale, unsigned sign_bit);
typedef void gcb_dither_from_trits_fn(float *x, const uint16_t *code, size_t n, float scale);
typedef void gcb_dither_add_levels_fn(float *acc, const uint16_t *code, size_t n, const float *step,
                                      float scale, unsigned sign_bit, float weight);
typedef void gcb_dither_add_trits_fn(float *acc, const uint16_t *code, size_t n, float scale,
                                     float weight);

struct gcb_dither_fns {
    gcb_dither_signed_fn *signed_levels;
    gcb_dither_nearest_fn *nearest_levels;
    gcb_dither_trits_fn *trits;
    gcb_dither_from_levels_fn *from_levels;
    gcb_dither_from_trits_fn *from_trits;
    gcb_dither_add_levels_fn *add_levels;
    gcb_dither_add_trits_fn *add_trits;
};

void gcb_dither_init(struct gcb_dither_fns *fns, unsigned cpu_flags);

/* The variants of these functions. Only the files of this family use these names. */
gcb_dither_signed_fn gcb_dither_signed_levels_avx2, gcb_dither_signed_levels_avx512;
gcb_dither_nearest_fn gcb_dither_nearest_levels_avx2;
gcb_dither_trits_fn gcb_dither_trits_avx2;
gcb_dither_from_levels_fn gcb_dither_from_levels_avx2, gcb_dither_from_levels_avx512;
gcb_dither_from_trits_fn gcb_dither_from_trits_avx2, gcb_dither_from_trits_avx512;
gcb_dither_add_levels_fn gcb_dither_add_levels_avx2, gcb_dither_add_levels_avx512;
gcb_dither_add_trits_fn gcb_dither_add_trits_avx2, gcb_dither_add_trits_avx512;

#endif
