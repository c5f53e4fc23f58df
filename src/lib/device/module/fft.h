#ifndef SRC_LIB_DEVICE_MODULE_FFT_H
#define SRC_LIB_DEVICE_MODULE_FFT_H

#include "kernels/cuda/stream.h"
#include "src/lib/base/diag.h"

/*
 * Real FFTs of a message or of its chunks by cuFFT, laid out and scaled as kernels/fft/fft.h says: a chunk of length L has
 * L/2 + 1 bins, each (re, im), the shorter last one is a transform of its own. Plans are made here, and nothing is taken
 * later: cuFFT works in memory that each call is given.
 */
struct gcb_cuda_fft;

/*
 * n >= 1; chunk = 0, or n and more: whole. `ways`: those that it will be used in. `transform` is who asks, for words.
 * GCB_E_BACKEND: cuFFT was not found; GCB_E_DEVICE: it fails; GCB_E_NOMEM; GCB_E_UNSUPPORTED: it has no plan for this
 * length. *out is NULL then.
 */
enum gcb_cuda_fft_way { GCB_CUDA_FFT_FORWARD = 1, GCB_CUDA_FFT_INVERSE = 2 };
int gcb_cuda_fft_create(struct gcb_cuda_fft **out, uint64_t n, uint64_t chunk, unsigned ways,
                        const char *transform, struct gcb_diag *diag);
void gcb_cuda_fft_destroy(struct gcb_cuda_fft *fft); /* NULL is fine */

/* Bytes that a call works in, aligned to 256. */
uint64_t gcb_cuda_fft_work(const struct gcb_cuda_fft *fft);

/* Queue all chunks. x: n floats, bins: 2 * gcb_fft_bins(n, chunk), aligned to 16; no overlap; made for that way. The
 * inverse destroys the bins, whose imaginary parts must be those of a real transform. 0 or GCB_E_DEVICE. */
int gcb_cuda_fft_forward(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *bins,
                         const float *x, void *work);
int gcb_cuda_fft_inverse(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *x,
                         float *bins, void *work);

#endif
