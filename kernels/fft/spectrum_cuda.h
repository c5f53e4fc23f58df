#ifndef KERNELS_FFT_SPECTRUM_CUDA_H
#define KERNELS_FFT_SPECTRUM_CUDA_H

#include "kernels/select/select_cuda.h"

/*
 * What stands between a real FFT and the stages behind it, bit for bit that of src/sparse/transform_fft.c: which bins are
 * larger, and bins that were chosen, or came, at their scale. A bin is a pair (re, im). Arrays are aligned to 16.
 * 0 or GCB_E_DEVICE.
 */
#ifdef __cplusplus
extern "C" {
#endif

/* Bins of a message: from `tail` on they are of a last chunk that is shorter; tail = bins where there is none. */
struct gcb_cuda_spectrum {
    uint64_t bins, tail;
    uint64_t length, rest;       /* elements of a chunk, and of the shorter one, or 0 */
    float unitary, unitary_rest; /* 1 / sqrt(length), 1 / sqrt(rest) */
};

/* power[i] = squared magnitude of bin i, scaled as the CPU does; `most` is scratch. A part that is not finite
 * makes result->status GCB_E_NONFINITE. Three reads and a write. */
int gcb_cuda_spectrum_order(struct gcb_device_stream *s, float *power, const float *bins,
                            const struct gcb_cuda_spectrum *how, struct gcb_device_result *most,
                            struct gcb_device_result *result);

/* The chosen bins at unitary scale: value[2 j], value[2 j + 1] of entry j; aligned to 16. */
int gcb_cuda_spectrum_gather(struct gcb_device_stream *s, float *value, const float *bins,
                             const struct gcb_cuda_chosen *chosen,
                             const struct gcb_cuda_spectrum *how);

/* Before the inverse: all bins times their unitary factor; imaginary parts that no real transform has become 0. */
int gcb_cuda_spectrum_scale(struct gcb_device_stream *s, float *bins,
                            const struct gcb_cuda_spectrum *how);

#ifdef __cplusplus
}
#endif

#endif
