#ifndef KERNELS_HADAMARD_HADAMARD_H
#define KERNELS_HADAMARD_HADAMARD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Family `hadamard`: the randomised Walsh-Hadamard transform H D x, in place: D flips signs, H
 * transforms. Every variant is bit-exact: a butterfly is one float addition and one subtraction,
 * (a + b, a - b), and stages go from the shortest distance to the longest.
 *
 * transform: transforms x[0..n); n is a power of two, and n = 1 does nothing. The order is natural
 *            (Hadamard), and the transform is unscaled: two transforms give n * x.
 * flip:      x[i] = -x[i] if bit i mod 8 of sign[i / 8] is set; reads (n + 7) / 8 bytes.
 */
typedef void gcb_hadamard_transform_fn(float *x, size_t n);
typedef void gcb_hadamard_flip_fn(float *x, const uint8_t *sign, size_t n);

struct gcb_hadamard_fns {
    gcb_hadamard_transform_fn *transform;
    gcb_hadamard_flip_fn *flip;
};

void gcb_hadamard_init(struct gcb_hadamard_fns *fns, unsigned cpu_flags);

/* The variants of these functions. Only the files of this family use these names. */
gcb_hadamard_transform_fn gcb_hadamard_transform_c, gcb_hadamard_transform_avx2;
gcb_hadamard_flip_fn gcb_hadamard_flip_c, gcb_hadamard_flip_avx2;

#endif
