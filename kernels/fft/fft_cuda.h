#ifndef KERNELS_FFT_FFT_CUDA_H
#define KERNELS_FFT_FFT_CUDA_H

#include "kernels/fft/steps.h"
#include "kernels/select/chunk_cuda.h"
#include "kernels/select/values_cuda.h"

/*
 * Real FFTs of chunks on the device, with the layout, scale and bits of kernels/fft/fft.h. They are
 * done in shared memory by complex FFTs of half the length. For chunks of a power of two from 8 to
 * 4096 there are kernels with one read and one write (block_fft.cuh). For chunks of 4096 the largest
 * bins can be chosen before anything is written.
 *
 * Arrays are aligned to 16. Functions return 0 or GCB_E_DEVICE.
 */
GCB_BEGIN_C

#define GCB_CUDA_FFT_BLOCK_LEAST 8
#define GCB_CUDA_FFT_BLOCK_MOST 4096

/* ---- chunks of a power of two ---- */

/* The chunks to transform: `count` elements in all, a multiple of `length`. `count` may be 0. */
struct gcb_cuda_block_fft {
    uint64_t count, length;
    const void *table; /* device memory */
};

/* Two arrays of complex floats, filled on the host: the m = length / 2 twiddle factors of the
 * complex FFT's stages (block_fft.cuh), and exp(-2 pi i k / length) for k < m. */
uint64_t gcb_cuda_fft_block_bytes(uint64_t length);
void gcb_cuda_fft_block_table(void *table, uint64_t length);

/* The bins of in->n = count >= 1 elements. Adds error feedback while reading. most->max_bits
 * becomes at least the largest sign-cleared pattern of a real or imaginary part. */
int gcb_cuda_fft_block_forward(struct gcb_device_stream *s, float *bins,
                               const struct gcb_device_input *in,
                               const struct gcb_cuda_block_fft *f, struct gcb_device_result *most);

/* Input: the bins that a message keeps; these chunks begin at its first position. Bins are
 * multiplied by `unitary` first; imaginary parts that the bins of a real transform cannot have
 * are ignored. Each element is written once. If `from` (count floats) is not NULL, x = from -
 * elements. */
struct gcb_cuda_fft_inversion {
    float unitary;
    const float *from; /* the tensor to subtract from, or NULL */
};
int gcb_cuda_fft_block_inverse(struct gcb_device_stream *s, float *x,
                               const struct gcb_cuda_entries *kept,
                               const struct gcb_cuda_block_fft *f,
                               const struct gcb_cuda_fft_inversion *how);

/* ---- any even length of at most 4096 with the factors 2, 3, 5 and 7 ---- */

struct gcb_cuda_steps {
    struct gcb_fft_steps steps; /* the tables are in device memory */
    uint64_t chunks;
    float scale, unitary; /* DCT: as in struct gcb_cuda_dct */
};

/* The bins, or coefficients if steps.cosine is not NULL. `result` is that of
 * gcb_cuda_fft_block_forward, or of gcb_cuda_dct_block_forward. Arrays are aligned to 4. */
int gcb_cuda_steps_forward(struct gcb_device_stream *s, float *bins, const float *x,
                           const struct gcb_cuda_steps *f, struct gcb_device_result *result);
/* If `from` is not NULL, x = from - elements. */
int gcb_cuda_steps_inverse(struct gcb_device_stream *s, float *x, const float *bins,
                           const float *from, const struct gcb_cuda_steps *f);

/* ---- transform and select at once ---- */

/*
 * The order of bins depends on the largest part of the whole message, which is known only after all
 * chunks are transformed. So each chunk chooses by its own largest part, and writes up to which
 * exponent of the message's largest part the choice would be the same (gcb_select_power_reach).
 * Then the few chunks for which the choice differs, if any, are done again.
 */
struct gcb_cuda_fft_selection {
    struct gcb_cuda_chosen to; /* laid out for all positions */
    struct gcb_cuda_chunks cut;
    float *value; /* pairs of the entries, at unitary scale; aligned to 16 */
    float unitary;
    uint32_t *reach;                /* scratch: the reach of each chunk */
    struct gcb_device_result *most; /* max_bits as above; 0 before the first launch */
};

/* Requires chunks of 4096 and in->n = f->count. Adds error feedback while reading. Writes the
 * chunks' entries and the number of kept positions. */
int gcb_cuda_fft_select(struct gcb_device_stream *s, const struct gcb_cuda_fft_selection *c,
                        const struct gcb_device_input *in, const struct gcb_cuda_block_fft *f);

/* Call it when c->most has the largest part of the whole message; `in` is as gcb_cuda_fft_select
 * left it. A part that is not finite makes result->status GCB_E_SEND_RAW. */
int gcb_cuda_fft_reselect(struct gcb_device_stream *s, const struct gcb_cuda_fft_selection *c,
                          const struct gcb_device_input *in, const struct gcb_cuda_block_fft *f,
                          struct gcb_device_result *result);

GCB_END_C

#endif
