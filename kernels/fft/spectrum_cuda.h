#ifndef KERNELS_FFT_SPECTRUM_CUDA_H
#define KERNELS_FFT_SPECTRUM_CUDA_H

#include "kernels/select/select_cuda.h"

/*
 * The steps between a real FFT and the stages after it, bit for bit as in
 * src/lib/sparse/transform_fft.c: powers, by which bins are ordered, and the scaling of chosen or
 * decoded bins. A bin is a pair (re, im). Arrays are device memory, aligned to 16 bytes; arrays of
 * bins are aligned to 8. Functions return 0, GCB_E_NOMEM or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* The bins of a message. Bins from `tail` on belong to a shorter last chunk; tail = bins if there
 * is none. The functions below handle bins from `first` on; arrays of bins and powers begin with
 * bin `first`. */
struct gcb_cuda_spectrum {
    uint64_t bins, tail, first;
    uint64_t length, rest;       /* elements of a chunk, and of the shorter last chunk or 0 */
    float unitary, unitary_rest; /* 1 / sqrt(length), and 1 / sqrt(rest) or 1 */
};

/* Sets most->max_bits to 0, before an FFT raises it to the bits of the largest part's magnitude. */
int gcb_cuda_spectrum_reset(struct gcb_device_stream *s, struct gcb_device_result *most);

/* Computes the squared magnitudes of bins. Parts are first scaled by a power of two that brings the
 * largest part near 1; most->max_bits has the bits of its magnitude. Squares of a shorter last
 * chunk are multiplied by length / rest. If the largest part is not finite, result->status becomes
 * GCB_E_SEND_RAW. */
int gcb_cuda_spectrum_powers(struct gcb_device_stream *s, float *power, const float *bins,
                             const struct gcb_cuda_spectrum *how,
                             const struct gcb_device_result *most,
                             struct gcb_device_result *result);

/* Writes the chosen bins in unitary scale: entry j is value[2 j] and value[2 j + 1]. Writes entries
 * from number `from` on, whose bins must not be before how->first. */
int gcb_cuda_spectrum_gather(struct gcb_device_stream *s, float *value, const float *bins,
                             const struct gcb_cuda_chosen *chosen,
                             const struct gcb_cuda_spectrum *how, uint64_t from);

/* Prepares bins for the inverse FFT: multiplies them by their unitary factor, and sets the
 * imaginary parts of bins that are real in a real transform to 0. */
int gcb_cuda_spectrum_scale(struct gcb_device_stream *s, float *bins,
                            const struct gcb_cuda_spectrum *how);

/* Transforms chunks of one element, and back: an element is the real part of its bin, and the
 * imaginary part is 0. */
int gcb_cuda_spectrum_from_elements(struct gcb_device_stream *s, float *bins, const float *x,
                                    uint64_t n);
int gcb_cuda_spectrum_to_elements(struct gcb_device_stream *s, float *x, const float *bins,
                                  uint64_t n);

GCB_END_C

#endif
