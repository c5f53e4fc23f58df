#ifndef KERNELS_FFT_DCT_CUDA_H
#define KERNELS_FFT_DCT_CUDA_H

#include "kernels/cuda/stream.h"
#include "kernels/select/chunk_cuda.h"
#include "kernels/select/values_cuda.h"

/*
 * DCT-II of a message or of its chunks on the device, and its inverse, in the scales of
 * src/lib/sparse/transform_dct.c: a coefficient is twice the cosine sum; the first of a chunk is
 * multiplied by sqrt(1/2), and those of a shorter last chunk by sqrt(length / rest). There are
 * three ways:
 *
 *   block   chunks of a power of two from 8 to 4096: in shared memory, with one read and one write
 *           (Makhoul 1980, over a complex FFT of half the length). For chunks of 4096 the largest
 *           coefficients of each can be chosen before anything is written
 *   steps   other even lengths up to 4096 with the factors 2, 3, 5 and 7: kernels/fft/fft_cuda.h
 *   long    the steps before and after a real FFT of any length by cuFFT
 *
 * Arrays are aligned to 16. A coefficient that is not finite makes result->status GCB_E_SEND_RAW.
 * Functions return 0 or GCB_E_DEVICE.
 */
GCB_BEGIN_C

#define GCB_CUDA_DCT_BLOCK_LEAST 8
#define GCB_CUDA_DCT_BLOCK_MOST 4096

/* Chunks of one length, `count` >= 1 elements in all, which begin at the pointers that launchers
 * get. Tables are device memory. */
struct gcb_cuda_dct {
    uint64_t count, length;
    /* Factor of each coefficient: 1 for chunks in shared memory; for a shorter chunk the factor
     * that brings it to the scale of the others. */
    float scale;
    float unitary; /* inverse: coefficients are multiplied by this first */
    const void *table;
};

/* ---- tables of floats or doubles, filled on the host ---- */

/* The table of the block way has three arrays of complex floats: the m = length / 2 twiddle factors
 * of the complex FFT's stages (block_fft.cuh); exp(-2 pi i k / length) for k < m; and exp(pi i k /
 * 2 length) for k <= m. */
uint64_t gcb_cuda_dct_block_bytes(uint64_t length);
void gcb_cuda_dct_block_table(void *table, uint64_t length);

/* The long way needs exp(pi i k / (2 length)) as a product of two complex doubles: one is for the
 * upper bits of k, the other for the lower bits. */
uint64_t gcb_cuda_dct_from_fft_bytes(uint64_t length);
void gcb_cuda_dct_from_fft_table(void *table, uint64_t length);

/* ---- launchers ---- */

/* Requires in->n = d->count. This function and gcb_cuda_dct_select add error feedback while
 * reading. */
int gcb_cuda_dct_block_forward(struct gcb_device_stream *s, float *coef,
                               const struct gcb_device_input *in, const struct gcb_cuda_dct *d,
                               struct gcb_device_result *result);
/* Input: the coefficients that a message keeps; these chunks begin at its first position. Each
 * element is written once. If `from` is not NULL, x = from - elements; the same holds for the
 * inverses below. */
int gcb_cuda_dct_block_inverse(struct gcb_device_stream *s, float *x,
                               const struct gcb_cuda_entries *kept, const float *from,
                               const struct gcb_cuda_dct *d);

/* Transforms chunks of 4096 and chooses their largest coefficients at once. `chosen` is as for
 * gcb_cuda_select_chunks; this function writes the entries of the whole chunks, and the number of
 * kept positions. */
int gcb_cuda_dct_select(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                        const struct gcb_device_input *in, const struct gcb_cuda_dct *d,
                        const struct gcb_cuda_chunks *cut, struct gcb_device_result *result);

/* The steps of the long way before and after cuFFT: turn elements into cuFFT's input, and its bins
 * (length/2 + 1 pairs per chunk) into coefficients; then the inverses of both steps. */
int gcb_cuda_dct_fold(struct gcb_device_stream *s, float *folded, const float *x,
                      const struct gcb_cuda_dct *d);
int gcb_cuda_dct_rotate(struct gcb_device_stream *s, float *coef, const float *bins,
                        const struct gcb_cuda_dct *d, struct gcb_device_result *result);
int gcb_cuda_dct_unrotate(struct gcb_device_stream *s, float *bins, const float *coef,
                          const struct gcb_cuda_dct *d);
int gcb_cuda_dct_unfold(struct gcb_device_stream *s, float *x, const float *folded,
                        const float *from, const struct gcb_cuda_dct *d);

GCB_END_C

#endif
