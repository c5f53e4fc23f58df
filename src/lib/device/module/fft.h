#ifndef SRC_LIB_DEVICE_MODULE_FFT_H
#define SRC_LIB_DEVICE_MODULE_FFT_H

#include "kernels/cuda/stream.h"
#include "src/lib/base/diag.h"

/*
 * Real FFTs of a message or of its chunks by cuFFT, with the layout and scale of kernels/fft/fft.h:
 * a chunk of length L has L/2 + 1 bins, each (re, im), and a shorter last chunk is transformed
 * apart. gcb_cuda_fft_create makes the plans. The other functions allocate nothing: cuFFT works in
 * memory that the caller passes.
 */
struct gcb_cuda_fft;

/* Directions, as flags. */
enum gcb_cuda_fft_way { GCB_CUDA_FFT_FORWARD = 1, GCB_CUDA_FFT_INVERSE = 2 };

/*
 * Plans the transforms of n >= 1 elements in the directions `ways`. If `chunk` is 0 or at least n,
 * the whole message is one chunk. `transform` is the value of the parameter `transform`, for error
 * messages. Returns 0 or:
 *   GCB_E_BACKEND      cuFFT was not found or lacks a function
 *   GCB_E_UNSUPPORTED  cuFFT has no plan for this length
 *   GCB_E_NOMEM, GCB_E_DEVICE
 * After an error *out is NULL.
 */
int gcb_cuda_fft_create(struct gcb_cuda_fft **out, uint64_t n, uint64_t chunk, unsigned ways,
                        const char *transform, struct gcb_diag *diag);
void gcb_cuda_fft_destroy(struct gcb_cuda_fft *fft); /* NULL is fine */

/* Bytes of `work` that the functions below need; `work` is device memory, aligned to 256. */
uint64_t gcb_cuda_fft_work(const struct gcb_cuda_fft *fft);

/* Queue the transforms of all chunks, in a direction that gcb_cuda_fft_create has planned. x has n
 * floats, and bins has 2 * gcb_fft_bins(n, chunk) floats. Both arrays are aligned to 8, and do not
 * overlap. The inverse overwrites the bins, which must be those of a real transform. Return 0,
 * GCB_E_DEVICE or GCB_E_NOMEM. */
int gcb_cuda_fft_forward(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *bins,
                         const float *x, void *work);
int gcb_cuda_fft_inverse(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *x,
                         float *bins, void *work);

#endif
