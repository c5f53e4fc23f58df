#ifndef KERNELS_RANGE_RANGE_H
#define KERNELS_RANGE_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/range/range_elem.h"

/*
 * Family `range`: arrays of range floats (range_elem.h has the format and its bounds). Every variant
 * is bit-exact.
 *
 * encode: code[i] = gcb_range_encode(x[i]); returns how many |x[i]| were above the format's maximum
 *         (infinities and NaNs among them).
 * decode: x[i] = gcb_range_decode(code[i]).
 */
typedef size_t gcb_range_encode_fn(uint16_t *code, const float *x, size_t n,
                                   const struct gcb_range_format *f);
typedef void gcb_range_decode_fn(float *x, const uint16_t *code, size_t n,
                                 const struct gcb_range_format *f);

struct gcb_range_fns {
    gcb_range_encode_fn *encode;
    gcb_range_decode_fn *decode;
};

void gcb_range_init(struct gcb_range_fns *fns, unsigned cpu_flags);

enum gcb_range_rounding { GCB_ROUND_NEAREST, GCB_ROUND_TRUNCATE };

/*
 * May this pair be used at all? Yes if 2 <= bits <= 16, mantissa < bits and, for max = 1, eps is a
 * normal number: 126 octaves lie below 1.0, and codes beyond them would be wasted.
 */
int gcb_range_valid(unsigned bits, unsigned mantissa);

/*
 * The format whose largest code is max, a finite pattern: base = (bits(max) >> shift) - P + 1, the
 * closed form of the paper's search. To nearest, max is rounded as any value is (but never to
 * infinity), so that the values just below it keep their bound. Requires gcb_range_valid(bits,
 * mantissa). Where max is so small that base would fall below 1, base is 1 and the topmost codes stay
 * unused. max = 0 gives a format in which everything is zero.
 */
void gcb_range_format(struct gcb_range_format *f, unsigned bits, unsigned mantissa, float max,
                      enum gcb_range_rounding rounding);

/*
 * The valid mantissa width with the least expected squared error for values whose biased exponents
 * occur count[e] times, max being their maximum: values are taken as uniform within an octave, the
 * error of a step as uniform; below eps the error is the value itself or, to nearest, its distance to
 * the nearer of 0 and eps. Integers times short dyadic fractions, summed in double in the order of e,
 * so the same everywhere; ties go to the smaller width. count[255] (infinities, NaNs) is ignored.
 */
unsigned gcb_range_best_mantissa(const uint64_t count[256], float max, unsigned bits,
                                 enum gcb_range_rounding rounding);

#endif
