#ifndef KERNELS_CONVERT_CONVERT_H
#define KERNELS_CONVERT_CONVERT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Family `convert`: element types. Narrowing rounds to nearest, ties to even, denormals included, and
 * saturates: a finite value that would round to infinity becomes the largest finite one, sign kept.
 * Infinities stay; a NaN stays a NaN: sign kept, quiet bit set, upper payload bits kept. Widening is
 * exact (a signalling NaN becomes quiet, as the hardware does). Every variant is bit-exact.
 *
 * The 16-bit arrays are bytes, little-endian and of any alignment, as they stand in a message.
 * Narrowing returns how many finite values saturated.
 */
typedef size_t gcb_convert_narrow_fn(uint8_t *out, const float *x, size_t n);
typedef void gcb_convert_widen_fn(float *out, const uint8_t *in, size_t n);

struct gcb_convert_fns {
    gcb_convert_narrow_fn *to_fp16;
    gcb_convert_narrow_fn *to_bf16;
    gcb_convert_widen_fn *from_fp16;
    gcb_convert_widen_fn *from_bf16;
};

void gcb_convert_init(struct gcb_convert_fns *fns, unsigned cpu_flags);

/* Variants that the table may hold; only the family's own files name them. */
gcb_convert_narrow_fn gcb_convert_to_fp16_avx2;
gcb_convert_narrow_fn gcb_convert_to_bf16_avx2;
gcb_convert_widen_fn gcb_convert_from_fp16_avx2;
gcb_convert_widen_fn gcb_convert_from_bf16_avx2;

#endif
