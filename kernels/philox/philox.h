#ifndef KERNELS_PHILOX_PHILOX_H
#define KERNELS_PHILOX_PHILOX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Family `philox`: random bytes from a counter; philox_elem.h defines the generator.
 *
 * bytes: out[j] = gcb_philox_byte(key, first + j, stream) for 0 <= j < n. `first` is a multiple of
 *        16; n is arbitrary, but first + n must stay below 2^64. Writes exactly n bytes. Every
 *        variant is bit-exact.
 */
typedef void gcb_philox_bytes_fn(uint8_t *out, size_t n, uint64_t key, uint64_t first,
                                 uint64_t stream);

/*
 * What random numbers are drawn for. The purpose is part of a stream's number (gcb_draw_stream in
 * src/lib/codec/codec.h), so that no two draws of a method use the same numbers. The values decide
 * the bytes of messages, so they never change.
 */
enum gcb_draw_purpose {
    /* Stochastic rounding: a byte for each element, or a block of random words for each tile of
     * 4096 elements (gcb_tile_draw_of). */
    GCB_DRAW_COARSE = 1,
    GCB_DRAW_FINE = 2,    /* stochastic rounding: 24 more bits if the byte does not decide */
    GCB_DRAW_VECTORS = 1, /* powersgd: its first vector; each further vector has the next number */
    GCB_DRAW_SIGNS = 16,  /* transform=hadamard, eden */
    GCB_DRAW_COINS = 17,  /* signsgd: the signs of zeros */
    GCB_DRAW_PLACES = 18, /* randomk */
    GCB_DRAW_HASHES = 19, /* countsketch */
};

struct gcb_philox_fns {
    gcb_philox_bytes_fn *bytes;
};

void gcb_philox_init(struct gcb_philox_fns *fns, unsigned cpu_flags);

/* The variants of these functions. Only the files of this family use these names. */
gcb_philox_bytes_fn gcb_philox_bytes_avx2, gcb_philox_bytes_avx512;

#endif
