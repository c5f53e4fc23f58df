#ifndef SRC_LIB_DEVICE_MODULE_FFT_H
#define SRC_LIB_DEVICE_MODULE_FFT_H

#include "kernels/cuda/stream.h"
#include "src/lib/base/diag.h"

/*
 * Real FFTs of a message or of its chunks by cuFFT, with the layout and scale of kernels/fft/fft.h:
 * a chunk of length L has L/2 + 1 bins, each (re, im), and a shorter last chunk is a transform of
 * its own. gcb_cuda_fft_create makes the plans. The other functions allocate nothing: cuFFT works
 * in memory that the caller passes.
 */
struct gcb_cuda_fft;

/*
 * n >= 1 elements. A chunk of 0, n or more is the whole message. `ways`: the directions to plan
 * for. `transform` is the parameter's value, for error messages. GCB_E_BACKEND: cuFFT was not
 * found; GCB_E_DEVICE: it failed; GCB_E_NOMEM; GCB_E_UNSUPPORTED: it has no plan for this length.
 * On failure *out is NULL.
 */
enum gcb_cuda_fft_way { GCB_CUDA_FFT_FORWARD = 1, GCB_CUDA_FFT_INVERSE = 2 };
int gcb_cuda_fft_create(struct gcb_cuda_fft **out, uint64_t n, uint64_t chunk, unsigned ways,
                        const char *transform, struct gcb_diag *diag);
void gcb_cuda_fft_destroy(struct gcb_cuda_fft *fft); /* NULL is fine */

/* Bytes of `work` that a call needs, aligned to 256. */
uint64_t gcb_cuda_fft_work(const struct gcb_cuda_fft *fft);

/* Queue all chunks. x has n floats and bins has 2 * gcb_fft_bins(n, chunk), aligned to 16, without
 * overlap. The inverse destroys the bins; their imaginary parts must be those of a real transform.
 * Return 0 or GCB_E_DEVICE. */
int gcb_cuda_fft_forward(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *bins,
                         const float *x, void *work);
int gcb_cuda_fft_inverse(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *x,
                         float *bins, void *work);

#endif
