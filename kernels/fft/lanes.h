#ifndef KERNELS_FFT_LANES_H
#define KERNELS_FFT_LANES_H

#include "kernels/fft/steps.h"

/*
 * Transforms `count` chunks of L = 2 m elements, 0 < count <= lanes, one in each lane of a vector.
 * x[c] and bins[c] are the elements and the bins of chunk c, with any alignment. `dct` chooses the
 * DCT-II and DCT-III of kernels/fft/fft.h instead of the DFT. `room` has gcb_fft_room floats,
 * aligned to 64.
 */
typedef void gcb_fft_forward_fn(const struct gcb_fft_steps *steps, const float *const *x,
                                float *const *bins, unsigned count, bool dct, float *room);
typedef void gcb_fft_inverse_fn(const struct gcb_fft_steps *steps, const float *const *bins,
                                float *const *x, unsigned count, bool dct, float *room);

/* The same for one chunk, by vectors of its own elements. */
typedef void gcb_fft_forward_one_fn(const struct gcb_fft_steps *steps, const float *x, float *bins,
                                    bool dct, float *room);
typedef void gcb_fft_inverse_one_fn(const struct gcb_fft_steps *steps, const float *bins, float *x,
                                    bool dct, float *room);

/*
 * Long DFTs. `columns` transforms columns b to b + lanes - 1 of x and writes m numbers to `rows`,
 * those beyond the last one left out; x has `given` floats, and zeros follow. `rows` transforms rows
 * k to k + lanes - 1 and writes the first `wanted` floats of m numbers; `swapped` says that the parts
 * of numbers are the other way round. `split` makes bins k and m - k of a real DFT from the numbers
 * of the same places, for each k in [from, end), except 0; join does the reverse. `from` is a
 * multiple of 16, and `end` is one or (m + 1) / 2, which no `end` is above.
 */
typedef void gcb_fft_columns_fn(const struct gcb_fft_long *f, const float *x, uint64_t given,
                                float *rows, uint32_t b, float *room);
typedef void gcb_fft_rows_fn(const struct gcb_fft_long *f, const float *rows, float *out,
                             uint64_t wanted, bool swapped, uint32_t k, float *room);
typedef void gcb_fft_pairs_fn(const struct gcb_fft_long *f, float *bins, uint64_t from,
                              uint64_t end);

struct gcb_fft_fns {
    unsigned lanes;
    gcb_fft_forward_fn *forward;
    gcb_fft_inverse_fn *inverse;
    gcb_fft_forward_one_fn *forward_one;
    gcb_fft_inverse_one_fn *inverse_one;
    gcb_fft_columns_fn *columns;
    gcb_fft_rows_fn *rows;
    gcb_fft_pairs_fn *split, *join;
};

void gcb_fft_init(struct gcb_fft_fns *fns, unsigned cpu_flags);

/* Floats that a call needs. */
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
