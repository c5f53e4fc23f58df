#ifndef KERNELS_HADAMARD_HADAMARD_CUDA_H
#define KERNELS_HADAMARD_HADAMARD_CUDA_H

#include "kernels/cuda/stream.h"

/*
 * The randomised Walsh-Hadamard transform of a message on the device, bit for bit that of src/lib/sparse/transform_hadamard.c:
 * pieces of `length` elements, a power of two, and behind the last whole one powers of two, each brought to the scale of
 * the others. The first twelve stages are one read and one write, every four more another; one launch each. Arrays are
 * aligned to 16. 0 or GCB_E_DEVICE.
 */
#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the signs' key, as it stands in a payload. */
#define GCB_CUDA_HADAMARD_SIDE 8

/* coef = pieces of H D x, the signs of D drawn by `key`, which goes to side[0..8); in->n may be 0. Puts error feedback in
 * as it reads x. A coefficient that is not finite makes result->status GCB_E_SEND_RAW. */
int gcb_cuda_hadamard_forward(struct gcb_device_stream *s, float *coef,
                              const struct gcb_device_input *in, uint64_t length, uint64_t key,
                              uint8_t *side, struct gcb_device_result *result);

/* out = pieces of D H (unitary * coef), with the key that stands at side[0..8), device memory; coef is destroyed. With
 * `from`, n floats, out = from - those. */
struct gcb_cuda_hadamard_back {
    uint64_t length;
    float unitary;
    const uint8_t *side;
    const float *from; /* or NULL */
};
int gcb_cuda_hadamard_inverse(struct gcb_device_stream *s, float *out, float *coef, uint64_t n,
                              const struct gcb_cuda_hadamard_back *how);

#ifdef __cplusplus
}
#endif

#endif
