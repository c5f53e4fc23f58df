#ifndef KERNELS_ACCUMULATE_ACCUMULATE_H
#define KERNELS_ACCUMULATE_ACCUMULATE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Family `accumulate`: adds weighted values to an array. The product and the sum are rounded
 * separately, never contracted. Every variant is bit-exact, except that the payload of a NaN is not
 * promised.
 *
 * add:            acc[i] += weight * x[i] for 0 <= i < n. The arrays do not overlap.
 * scatter:        acc[pos[j]] += weight * x[j] for 0 <= j < n. pos is strictly ascending.
 * scatter2:       like scatter, for pairs: acc[2 pos[j]] += weight * x[2j] and
 *                 acc[2 pos[j] + 1] += weight * x[2j + 1].
 * add_exponents:  acc[i] += weight * f, where the bits of the float f are
 *                 code[i] << GCB_EXPONENT_SHIFT. So a code is an exponent with the sign above it;
 *                 bits of the code above its ninth are ignored.
 */
#define GCB_EXPONENT_SHIFT 23

typedef void gcb_accumulate_add_fn(float *acc, const float *x, size_t n, float weight);
typedef void gcb_accumulate_scatter_fn(float *acc, const uint32_t *pos, const float *x, size_t n,
                                       float weight);
typedef void gcb_accumulate_exponents_fn(float *acc, const uint16_t *code, size_t n, float weight);

struct gcb_accumulate_fns {
    gcb_accumulate_add_fn *add;
    gcb_accumulate_scatter_fn *scatter;
    gcb_accumulate_scatter_fn *scatter2;
    gcb_accumulate_exponents_fn *add_exponents;
};

void gcb_accumulate_init(struct gcb_accumulate_fns *fns, unsigned cpu_flags);

/* The variants of these functions. Only the files of this family use these names. */
gcb_accumulate_add_fn gcb_accumulate_add_avx2, gcb_accumulate_add_avx512;
gcb_accumulate_exponents_fn gcb_accumulate_exponents_avx2, gcb_accumulate_exponents_avx512;

#endif
