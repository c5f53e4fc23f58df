#ifndef KERNELS_FFT_DCT_CUDA_H
#define KERNELS_FFT_DCT_CUDA_H

#include "kernels/cuda/stream.h"
#include "kernels/select/chunk_cuda.h"
#include "kernels/select/values_cuda.h"

/*
 * DCT-II of a message or of its chunks on the device, and its inverse, in the scales of
 * src/lib/sparse/transform_dct.c. A coefficient is twice the cosine sum. The first coefficient of a
 * chunk is multiplied by sqrt(1/2), and the coefficients of a shorter last chunk are multiplied by
 * sqrt(length of the other chunks / length of the last). There are three ways:
 *
 *   block   chunks of a power of two from 8 to 4096: in shared memory, with one read and one write
 *           (Makhoul 1980, over a complex FFT of half the length). For chunks of 4096, a kernel can
 *           choose the largest coefficients of each chunk before it writes anything
 *   steps   other even lengths up to 4096 with the factors 2, 3, 5 and 7: kernels/fft/fft_cuda.h
 *   long    the steps before and after a real FFT of any length by cuFFT
 *
 * Arrays are aligned to 16 bytes. In the long way, 8 bytes are enough for bins, 4 for other arrays.
 * If a coefficient is not finite, result->status becomes GCB_E_SEND_RAW. Launchers return 0,
 * GCB_E_DEVICE or GCB_E_NOMEM.
 */
GCB_BEGIN_C

#define GCB_CUDA_DCT_BLOCK_MOST 4096

/* Chunks of one length, one after the other, with `count` >= 1 elements in all. The pointers that
 * launchers get point to the first chunk. The table is device memory. */
struct gcb_cuda_dct {
    uint64_t count, length; /* length: elements of a chunk */
    /* Forward and inverse multiply each coefficient by this factor. For a shorter last chunk it is
     * sqrt(length of the other chunks / length), else 1; the block way requires 1. */
    float scale;
    /* 1 / sqrt(2 * length of a chunk that is not the shorter last one). The inverse also multiplies
     * each coefficient by this factor. So does gcb_cuda_dct_select when it writes entries. */
    float unitary;
    const void *table;
};

/* ---- tables of floats or doubles, filled on the host ---- */

/* The block way's table and its number of bytes. The table has three arrays of complex floats. Let
 * m = length / 2. The first array has m places. It begins with the twiddle factors of the complex
 * FFT's rounds (block_fft.cuh), which are fewer than m; the other places are not set. The second
 * has exp(-2 pi i k / length) for k < m, the third has exp(pi i k / (2 length)) for k <= m. */
uint64_t gcb_cuda_dct_block_bytes(uint64_t length);
void gcb_cuda_dct_block_table(void *table, uint64_t length);

/* The long way's table and its number of bytes. The long way computes exp(pi i k / (2 length)) as a
 * product of two complex doubles from this table: one for the upper bits of k, one for the
 * lower. */
uint64_t gcb_cuda_dct_from_fft_bytes(uint64_t length);
void gcb_cuda_dct_from_fft_table(void *table, uint64_t length);

/* ---- launchers ---- */

/* Transforms in->n = d->count elements. This function and gcb_cuda_dct_select add error feedback
 * while reading. */
int gcb_cuda_dct_block_forward(struct gcb_device_stream *s, float *coef,
                               const struct gcb_device_input *in, const struct gcb_cuda_dct *d,
                               struct gcb_device_result *result);
/* Transforms the coefficients that a message kept; the others are 0. The first chunk begins at
 * position 0 of the message. Writes each element once. If `from` is not NULL, writes from - element
 * instead of each element; gcb_cuda_dct_unfold does the same. */
int gcb_cuda_dct_block_inverse(struct gcb_device_stream *s, float *x,
                               const struct gcb_cuda_entries *kept, const float *from,
                               const struct gcb_cuda_dct *d);

/* Transforms chunks of 4096 elements and chooses their largest coefficients, in one kernel.
 * `chosen` is as for gcb_cuda_select_chunks. Writes the entries of the whole chunks, and the number
 * of kept positions. */
int gcb_cuda_dct_select(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                        const struct gcb_device_input *in, const struct gcb_cuda_dct *d,
                        const struct gcb_cuda_chunks *cut, struct gcb_device_result *result);

/* The steps of the long way before and after cuFFT. dct_fold turns elements into cuFFT's input;
 * dct_rotate turns cuFFT's bins (length/2 + 1 pairs per chunk) into coefficients. dct_unrotate and
 * dct_unfold are their inverses. */
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
