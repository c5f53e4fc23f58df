#ifndef KERNELS_PHILOX_PHILOX_H
#define KERNELS_PHILOX_PHILOX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Family `philox`: random bytes from a counter; philox_elem.h defines the generator.
 *
 * bytes: out[j] = gcb_philox_byte(key, first + j, stream) for 0 <= j < n. `first` is a multiple of
 *        16; n is arbitrary, but first + n must stay below 2^64. Writes exactly n bytes. Every variant
 *        is bit-exact.
 */
typedef void gcb_philox_bytes_fn(uint8_t *out, size_t n, uint64_t key, uint64_t first,
                                 uint64_t stream);

struct gcb_philox_fns {
    gcb_philox_bytes_fn *bytes;
};

void gcb_philox_init(struct gcb_philox_fns *fns, unsigned cpu_flags);

/* The variants of these functions. Only the files of this family use these names. */
gcb_philox_bytes_fn gcb_philox_bytes_avx2;
gcb_philox_bytes_fn gcb_philox_bytes_avx512;

#endif
