#ifndef KERNELS_FFT_SPECTRUM_CUDA_H
#define KERNELS_FFT_SPECTRUM_CUDA_H

#include "kernels/select/select_cuda.h"

/*
 * What stands between a real FFT and the stages behind it, bit for bit that of src/lib/sparse/transform_fft.c: which bins are
 * larger, and bins that were chosen, or came, at their scale. A bin is a pair (re, im). Arrays are aligned to 16, or
 * to 8 those of bins alone. 0 or GCB_E_DEVICE.
 */
#ifdef __cplusplus
extern "C" {
#endif

/* Bins of a message: from `tail` on they are of a last chunk that is shorter; tail = bins where there is none. Those in front
 * of `first` are somebody else's: arrays of bins and of powers begin with that one. */
struct gcb_cuda_spectrum {
    uint64_t bins, tail, first;
    uint64_t length, rest;       /* elements of a chunk, and of the shorter one, or 0 */
    float unitary, unitary_rest; /* 1 / sqrt(length), 1 / sqrt(rest) */
};

/* most->max_bits = 0: no part has been seen yet. */
int gcb_cuda_spectrum_forget(struct gcb_device_stream *s, struct gcb_device_result *most);

/* Squared magnitudes of bins, scaled as the CPU does by the largest part, which is in `most`. If that is not finite,
 * result->status becomes GCB_E_SEND_RAW. */
int gcb_cuda_spectrum_order(struct gcb_device_stream *s, float *power, const float *bins,
                            const struct gcb_cuda_spectrum *how,
                            const struct gcb_device_result *most, struct gcb_device_result *result);

/* The chosen bins at unitary scale: value[2 j], value[2 j + 1] of entry j, from entry `from` on; aligned to 16. */
int gcb_cuda_spectrum_gather(struct gcb_device_stream *s, float *value, const float *bins,
                             const struct gcb_cuda_chosen *chosen,
                             const struct gcb_cuda_spectrum *how, uint64_t from);

/* Before the inverse: all bins times their unitary factor; imaginary parts that no real transform has become 0. */
int gcb_cuda_spectrum_scale(struct gcb_device_stream *s, float *bins,
                            const struct gcb_cuda_spectrum *how);

/* Transforms of n single elements, which are their bins, and back. */
int gcb_cuda_spectrum_of_ones(struct gcb_device_stream *s, float *bins, const float *x, uint64_t n);
int gcb_cuda_spectrum_to_ones(struct gcb_device_stream *s, float *x, const float *bins, uint64_t n);

#ifdef __cplusplus
}
#endif

#endif
