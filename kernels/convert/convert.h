#ifndef KERNELS_CONVERT_CONVERT_H
#define KERNELS_CONVERT_CONVERT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Family `convert`: conversions between element types.
 *
 * Narrowing rounds to nearest, ties to even, denormals included. It saturates: a finite value that
 * would round to infinity becomes the largest finite value of the same sign. Infinities stay. A NaN
 * stays a NaN: it keeps its sign and the upper bits of its payload, and its quiet bit is set.
 * Widening is exact, except that a signalling NaN becomes quiet, as in hardware. Every variant is
 * bit-exact.
 *
 * The 16-bit arrays are bytes, little-endian, of any alignment, as in a message. Narrowing returns
 * the number of finite values that saturated.
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

/* The variants of these functions. Only the files of this family use these names. */
gcb_convert_narrow_fn gcb_convert_to_fp16_c, gcb_convert_to_fp16_avx2;
gcb_convert_narrow_fn gcb_convert_to_bf16_c, gcb_convert_to_bf16_avx2;
gcb_convert_widen_fn gcb_convert_from_fp16_c, gcb_convert_from_fp16_avx2;
gcb_convert_widen_fn gcb_convert_from_bf16_c, gcb_convert_from_bf16_avx2;

#endif
