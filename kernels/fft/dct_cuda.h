#ifndef KERNELS_FFT_DCT_CUDA_H
#define KERNELS_FFT_DCT_CUDA_H

#include "kernels/cuda/stream.h"
#include "kernels/select/chunk_cuda.h"
#include "kernels/select/values_cuda.h"

/*
 * DCT-II of a message or of its chunks on the device, and its inverse, in the scales of src/lib/sparse/transform_dct.c: a
 * coefficient is twice the cosine sum, the first of a chunk times sqrt(1/2), those of a shorter last chunk times
 * sqrt(length / rest). Three ways, which have one result but for rounding:
 *
 *   short   chunks of a power of two from 8 to 4096: in shared memory, one read and one write (Makhoul 1980, over a complex
 *           FFT of half the length); with 4096 the largest of each chunk can be chosen before anything is written
 *   direct  the cosine sums as they stand, in double: few elements, or chunks of few
 *   long    what stands before and behind a real FFT of any length, which cuFFT does
 *
 * Arrays are aligned to 16. A coefficient that is not finite makes result->status GCB_E_SEND_RAW. 0 or GCB_E_DEVICE.
 */
#ifdef __cplusplus
extern "C" {
#endif

#define GCB_CUDA_DCT_SHORT_LEAST 8
#define GCB_CUDA_DCT_SHORT_MOST 4096

/* A run of chunks of one length, `count` >= 1 elements in all, which begins where the launchers' pointers do. Tables are
 * device memory. */
struct gcb_cuda_dct {
    uint64_t count, length;
    /* Of each coefficient: 1, as it is in shared memory, or what brings a shorter chunk to the scale of the others. */
    float scale;
    float unitary; /* inverse: coefficients are multiplied by it first */
    const void *table;
};

/* ---- tables: floats or doubles, filled on the host ---- */

/* Short: three runs of complex floats: m = length / 2 that the rounds of the complex FFT take (short_fft.cuh),
 * exp(-2 pi i k / length) for k < m, and exp(pi i k / 2 length) for k <= m. */
uint64_t gcb_cuda_dct_short_bytes(uint64_t length);
void gcb_cuda_dct_short_table(void *table, uint64_t length);

/* Direct: cos(pi i / 2 length) for i < 4 length, double. length is at most 4096. */
uint64_t gcb_cuda_dct_direct_bytes(uint64_t length);
void gcb_cuda_dct_direct_table(void *table, uint64_t length);

/* Long: exp(pi i k / 2 length) in two factors, complex doubles: of k's upper bits, and of its lower ones. */
uint64_t gcb_cuda_dct_long_bytes(uint64_t length);
void gcb_cuda_dct_long_table(void *table, uint64_t length);

/* ---- launchers ---- */

/* in->n = d->count; puts error feedback in as it reads, and so does gcb_cuda_dct_choose. */
int gcb_cuda_dct_short_forward(struct gcb_device_stream *s, float *coef,
                               const struct gcb_device_input *in, const struct gcb_cuda_dct *d,
                               struct gcb_device_result *result);
/* Of the coefficients that a message keeps, whose positions these chunks begin: one write. x = the elements; with `from`,
 * as many floats, what from has more than those; NULL: none. So below. */
int gcb_cuda_dct_short_inverse(struct gcb_device_stream *s, float *x,
                               const struct gcb_cuda_entries *kept, const float *from,
                               const struct gcb_cuda_dct *d);

/* Chunks of 4096, transformed and their largest chosen at once; `chosen` as for gcb_cuda_select_chunks, of which this
 * writes the whole chunks' part and the end. */
int gcb_cuda_dct_choose(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                        const struct gcb_device_input *in, const struct gcb_cuda_dct *d,
                        const struct gcb_cuda_chunks *cut, struct gcb_device_result *result);

int gcb_cuda_dct_direct_forward(struct gcb_device_stream *s, float *coef, const float *x,
                                const struct gcb_cuda_dct *d, struct gcb_device_result *result);
int gcb_cuda_dct_direct_inverse(struct gcb_device_stream *s, float *x, const float *coef,
                                const float *from, const struct gcb_cuda_dct *d);

/* x to what the FFT takes; its bins, length/2 + 1 pairs a chunk, to coefficients; and back. */
int gcb_cuda_dct_fold(struct gcb_device_stream *s, float *folded, const float *x,
                      const struct gcb_cuda_dct *d);
int gcb_cuda_dct_turn(struct gcb_device_stream *s, float *coef, const float *bins,
                      const struct gcb_cuda_dct *d, struct gcb_device_result *result);
int gcb_cuda_dct_turn_back(struct gcb_device_stream *s, float *bins, const float *coef,
                           const struct gcb_cuda_dct *d);
int gcb_cuda_dct_unfold(struct gcb_device_stream *s, float *x, const float *folded,
                        const float *from, const struct gcb_cuda_dct *d);

#ifdef __cplusplus
}
#endif

#endif
