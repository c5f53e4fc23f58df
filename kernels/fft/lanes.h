#ifndef KERNELS_FFT_LANES_H
#define KERNELS_FFT_LANES_H

#include "kernels/fft/steps.h"

/*
 * Transforms `count` chunks of L = 2 m elements, 0 < count <= lanes, one in each lane of a vector.
 * x[c] and bins[c] are the elements and the bins of chunk c, with any alignment. Input is read for
 * all lanes, so it must exist for c >= count, too. `dct` chooses the DCT-II and DCT-III of
 * kernels/fft/engine.h instead of the DFT. `room` and `spare` are scratch, aligned to a vector:
 * each is half of gcb_fft_room floats. If all lanes have chunks, `spare` may instead be the memory
 * of the bins: forward writes the bins after its last use of `spare`, and inverse reads them before
 * its first.
 */
typedef void gcb_fft_forward_fn(const struct gcb_fft_steps *steps, const float *const *x,
                                float *const *bins, unsigned count, bool dct, float *room,
                                float *spare);
typedef void gcb_fft_inverse_fn(const struct gcb_fft_steps *steps, const float *const *bins,
                                float *const *x, unsigned count, bool dct, float *room,
                                float *spare);

/* Transforms one chunk. A vector has complex numbers of the chunk that follow each other. `room` is
 * scratch of gcb_fft_room floats, for any number of lanes. */
typedef void gcb_fft_forward_one_fn(const struct gcb_fft_steps *steps, const float *x, float *bins,
                                    bool dct, float *room);
typedef void gcb_fft_inverse_one_fn(const struct gcb_fft_steps *steps, const float *bins, float *x,
                                    bool dct, float *room);

/*
 * The passes of a long DFT (struct gcb_fft_long). `room` is scratch of gcb_fft_room floats for a
 * column or a row, aligned to a vector. b and rows' k are multiples of the number of lanes.
 *
 * columns: transforms columns b to b + lanes - 1 of x, as far as they exist, multiplies result k of
 *          column c by exp(-2 pi i k c / m), and writes the products to `rows`. x has `given`
 *          floats; the floats after them count as 0.
 * rows:    transforms rows k to k + lanes - 1, as far as they exist, and writes their bins to
 *          `out`, which has the first `wanted` floats of all m numbers. If `swapped`, writes the
 *          imaginary part of each number before the real part.
 * split:   makes bins k and m - k of a real DFT from numbers k and m - k, in place, for each k > 0
 *          in [from, end). `from` is a multiple of 16. `end` is a multiple of 16 or (m + 1) / 2,
 *          and at most (m + 1) / 2. Bins 0 and m become unspecified if `from` is 0.
 * join:    the reverse of split.
 */
typedef void gcb_fft_columns_fn(const struct gcb_fft_long *f, const float *x, uint64_t given,
                                float *rows, uint32_t b, float *room);
typedef void gcb_fft_rows_fn(const struct gcb_fft_long *f, const float *rows, float *out,
                             uint64_t wanted, bool swapped, uint32_t k, float *room);
typedef void gcb_fft_pairs_fn(const struct gcb_fft_long *f, float *bins, uint64_t from,
                              uint64_t end);

struct gcb_fft_fns {
    unsigned lanes; /* of the vectors of forward, inverse, columns and rows */
    gcb_fft_forward_fn *forward;
    gcb_fft_inverse_fn *inverse;
    gcb_fft_forward_one_fn *forward_one;
    gcb_fft_inverse_one_fn *inverse_one;
    gcb_fft_columns_fn *columns;
    gcb_fft_rows_fn *rows;
    gcb_fft_pairs_fn *split, *join;
};

void gcb_fft_init(struct gcb_fft_fns *fns, unsigned cpu_flags);

/* The number of floats of scratch to transform `lanes` chunks of 2 m elements. */
static inline uint64_t gcb_fft_room(uint32_t m, unsigned lanes)
{
    return 4 * (((uint64_t)m + 1) * lanes + 4 * GCB_FFT_LANES);
}

/* The variants of these functions. Only the files of this family use these names. */
gcb_fft_forward_fn gcb_fft_forward_c, gcb_fft_forward_avx2, gcb_fft_forward_avx512;
gcb_fft_inverse_fn gcb_fft_inverse_c, gcb_fft_inverse_avx2, gcb_fft_inverse_avx512;
gcb_fft_forward_one_fn gcb_fft_forward_one_c, gcb_fft_forward_one_avx2;
gcb_fft_inverse_one_fn gcb_fft_inverse_one_c, gcb_fft_inverse_one_avx2;
gcb_fft_columns_fn gcb_fft_columns_c, gcb_fft_columns_avx2, gcb_fft_columns_avx512;
gcb_fft_rows_fn gcb_fft_rows_c, gcb_fft_rows_avx2, gcb_fft_rows_avx512;
gcb_fft_pairs_fn gcb_fft_split_c, gcb_fft_split_avx2, gcb_fft_join_c, gcb_fft_join_avx2;

#endif
