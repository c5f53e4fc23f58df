#ifndef KERNELS_FFT_FFT_CUDA_H
#define KERNELS_FFT_FFT_CUDA_H

#include "kernels/fft/steps.h"
#include "kernels/select/chunk_cuda.h"
#include "kernels/select/values_cuda.h"

/*
 * Real FFTs of chunks on the device, with the layout, scale and bits of kernels/fft/fft.h. They are
 * done in shared memory by complex FFTs of half the length. For chunks of a power of two from 8 to
 * 4096 there are kernels with one read and one write (block_fft.cuh). For chunks of 4096, a kernel
 * can choose the largest bins before it writes anything.
 *
 * Arrays are aligned to 16 bytes. Launchers return 0, GCB_E_DEVICE or GCB_E_NOMEM.
 */
GCB_BEGIN_C

#define GCB_CUDA_FFT_BLOCK_LEAST 8
#define GCB_CUDA_FFT_BLOCK_MOST 4096

/* ---- chunks of a power of two ---- */

/* The chunks to transform: `count` elements in all, a multiple of `length`. If `count` is 0, none
 * of the launchers below may be called. */
struct gcb_cuda_block_fft {
    uint64_t count, length; /* length: of a chunk, a power of two from 8 to 4096 */
    const void *table;      /* filled by gcb_cuda_fft_block_table; in device memory */
};

/* The table's number of bytes, and a function that fills it on the host. The table has two arrays
 * of m = length / 2 complex floats. The first array begins with the twiddle factors of the complex
 * FFT's rounds (block_fft.cuh), which are fewer than m; its other places are not set. The second
 * has exp(-2 pi i k / length) for k < m. */
uint64_t gcb_cuda_fft_block_bytes(uint64_t length);
void gcb_cuda_fft_block_table(void *table, uint64_t length);

/* Writes the bins of in->n = count >= 1 elements. Adds error feedback while reading. Raises
 * most->max_bits to the largest sign-cleared pattern of a real or imaginary part. */
int gcb_cuda_fft_block_forward(struct gcb_device_stream *s, float *bins,
                               const struct gcb_device_input *in,
                               const struct gcb_cuda_block_fft *f, struct gcb_device_result *most);

struct gcb_cuda_fft_inversion {
    float unitary;     /* 1 / sqrt(length): bins are multiplied by this first */
    const float *from; /* the tensor to subtract the elements from (count floats), or NULL */
};

/* Transforms the bins that a message kept; the others are 0. The first chunk begins at position 0
 * of the message. Ignores the imaginary parts of bins that are real in a real transform. Writes
 * each element once, or from - element if how->from is not NULL. */
int gcb_cuda_fft_block_inverse(struct gcb_device_stream *s, float *x,
                               const struct gcb_cuda_entries *kept,
                               const struct gcb_cuda_block_fft *f,
                               const struct gcb_cuda_fft_inversion *how);

/* ---- any even length of at most 4096 with the factors 2, 3, 5 and 7 ---- */

struct gcb_cuda_steps {
    struct gcb_fft_steps steps; /* the tables are in device memory */
    uint64_t chunks;
    float scale, unitary; /* of a DCT, as in struct gcb_cuda_dct */
};

/* Writes the bins or, if steps.cosine is not NULL, the coefficients. `result` is set as by
 * gcb_cuda_fft_block_forward or gcb_cuda_dct_block_forward. Arrays need no more alignment than
 * floats. */
int gcb_cuda_steps_forward(struct gcb_device_stream *s, float *bins, const float *x,
                           const struct gcb_cuda_steps *f, struct gcb_device_result *result);
/* The inverse of gcb_cuda_steps_forward. If `from` is not NULL, writes from - elements instead of
 * the elements. */
int gcb_cuda_steps_inverse(struct gcb_device_stream *s, float *x, const float *bins,
                           const float *from, const struct gcb_cuda_steps *f);

/* ---- transform and select at once ---- */

/*
 * Bins are compared at a scale that depends on the largest part of the whole message, which is
 * known only after all chunks are transformed. So each chunk first chooses at the scale of its own
 * largest part. It also writes its reach: the choice is the same for the whole message if the
 * exponent of the message's largest part is not above the reach (gcb_select_power_reach). Then the
 * chunks whose reach is too small, usually few or none, are done again.
 */
struct gcb_cuda_fft_selection {
    struct gcb_cuda_chosen to; /* laid out for all positions (gcb_cuda_chosen_lay_out) */
    struct gcb_cuda_chunks cut;
    float *value; /* the chosen bins as pairs, in unitary scale; aligned to 16 bytes */
    float unitary;
    uint32_t *reach; /* scratch: the reach of each chunk */
    /* its max_bits, 0 before the first launch, is raised as by gcb_cuda_fft_block_forward */
    struct gcb_device_result *most;
};

/* Transforms chunks of 4096 elements, in->n = f->count in all, and chooses from each. Adds error
 * feedback while reading. Writes the chunks' entries and the number of kept positions. */
int gcb_cuda_fft_select(struct gcb_device_stream *s, const struct gcb_cuda_fft_selection *c,
                        const struct gcb_device_input *in, const struct gcb_cuda_block_fft *f);

/* Does the chunks again whose reach is too small. Called after c->most has got the largest part of
 * the whole message. in->x is as gcb_cuda_fft_select left it, so in->compensated must be 1 if there
 * is a residual. If the largest part is not finite, result->status becomes GCB_E_SEND_RAW. */
int gcb_cuda_fft_reselect(struct gcb_device_stream *s, const struct gcb_cuda_fft_selection *c,
                          const struct gcb_device_input *in, const struct gcb_cuda_block_fft *f,
                          struct gcb_device_result *result);

GCB_END_C

#endif
