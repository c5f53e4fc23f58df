#ifndef KERNELS_RANGE_RANGE_H
#define KERNELS_RANGE_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/range/range_choose.h"
#include "kernels/range/range_elem.h"

/*
 * Family `range`: arrays of range floats; range_elem.h defines the format and its bounds. Every
 * variant is bit-exact.
 *
 * encode: code[i] = gcb_range_encode(x[i]); returns how many |x[i]| were above the format's
 *         maximum, infinities and NaNs included.
 * decode: x[i] = gcb_range_decode(code[i]).
 * add:    acc[i] += weight * gcb_range_decode(code[i]). The product and the sum are rounded
 *         separately. The payload of a NaN is not promised.
 */
typedef size_t gcb_range_encode_fn(uint16_t *code, const float *x, size_t n,
                                   const struct gcb_range_format *f);
typedef void gcb_range_decode_fn(float *x, const uint16_t *code, size_t n,
                                 const struct gcb_range_format *f);
typedef void gcb_range_add_fn(float *acc, const uint16_t *code, size_t n,
                              const struct gcb_range_format *f, float weight);

struct gcb_range_fns {
    gcb_range_encode_fn *encode;
    gcb_range_decode_fn *decode;
    gcb_range_add_fn *add;
};

void gcb_range_init(struct gcb_range_fns *fns, unsigned cpu_flags);

/* The variants of these functions. Only the files of this family use these names. */
gcb_range_encode_fn gcb_range_encode_avx2, gcb_range_encode_avx512;
gcb_range_decode_fn gcb_range_decode_avx2, gcb_range_decode_avx512;
gcb_range_add_fn gcb_range_add_avx2, gcb_range_add_avx512;

#endif
