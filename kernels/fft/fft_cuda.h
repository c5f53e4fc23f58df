#ifndef KERNELS_FFT_FFT_CUDA_H
#define KERNELS_FFT_FFT_CUDA_H

#include "kernels/select/chunk_cuda.h"
#include "kernels/select/values_cuda.h"

/*
 * Real FFTs of chunks on the device, laid out and scaled as kernels/fft/fft.h says, where a chunk is a power of two from 8
 * to 4096: in shared memory, by a complex FFT of half the length (short_fft.cuh), one read and one write. Of chunks of
 * 4096 the largest bins can be chosen before anything is written.
 *
 * Arrays are aligned to 16. 0 or GCB_E_DEVICE.
 */
#ifdef __cplusplus
extern "C" {
#endif

#define GCB_CUDA_FFT_SHORT_LEAST 8
#define GCB_CUDA_FFT_SHORT_MOST 4096

/* Whole chunks: `count` elements in all, a multiple of length; 0: there are none. */
struct gcb_cuda_short_fft {
    uint64_t count, length;
    const void *table; /* device memory */
};

/* Two runs of complex floats, filled on the host: m = length / 2 that the rounds of the complex FFT take (short_fft.cuh),
 * and exp(-2 pi i k / length) for k < m. */
uint64_t gcb_cuda_fft_short_bytes(uint64_t length);
void gcb_cuda_fft_short_table(void *table, uint64_t length);

/* Bins of in->n = count >= 1 elements; puts error feedback in as it reads. most->max_bits becomes at least the sign-cleared
 * pattern of each part. */
int gcb_cuda_fft_short_forward(struct gcb_device_stream *s, float *bins,
                               const struct gcb_device_input *in,
                               const struct gcb_cuda_short_fft *f, struct gcb_device_result *most);

/* Back from the bins that a message keeps, whose positions these chunks begin; they are multiplied by `unitary` first, and
 * parts that no real transform has are ignored. One write. With `from`, count floats, x = from - elements. */
struct gcb_cuda_fft_back {
    float unitary;
    const float *from; /* or NULL */
};
int gcb_cuda_fft_short_inverse(struct gcb_device_stream *s, float *x,
                               const struct gcb_cuda_entries *kept,
                               const struct gcb_cuda_short_fft *f,
                               const struct gcb_cuda_fft_back *how);

/* ---- chosen at once ---- */

/*
 * The order of bins depends on the message's largest part, which nobody knows before all chunks are transformed. So a chunk
 * chooses by its own largest part, and writes up to which exponent of the message's that is the same choice
 * (gcb_select_power_reach); then the few chunks for which it is not, if any, are done once more.
 */
struct gcb_cuda_fft_choice {
    struct gcb_cuda_chosen to; /* laid out for all positions */
    struct gcb_cuda_chunks cut;
    float *value; /* pairs at unitary scale, of entries; aligned to 16 */
    float unitary;
    uint32_t *reach;                /* scratch, of each chunk */
    struct gcb_device_result *most; /* max_bits as above, 0 at first */
};

/* Chunks of 4096, in->n = f->count; puts error feedback in as it reads. Writes their entries and the end of the choice. */
int gcb_cuda_fft_choose(struct gcb_device_stream *s, const struct gcb_cuda_fft_choice *c,
                        const struct gcb_device_input *in, const struct gcb_cuda_short_fft *f);

/* Once c->most is the whole message's, and in is as gcb_cuda_fft_choose left it. A part that is not finite makes
 * result->status GCB_E_SEND_RAW. */
int gcb_cuda_fft_choose_again(struct gcb_device_stream *s, const struct gcb_cuda_fft_choice *c,
                              const struct gcb_device_input *in, const struct gcb_cuda_short_fft *f,
                              struct gcb_device_result *result);

#ifdef __cplusplus
}
#endif

#endif
