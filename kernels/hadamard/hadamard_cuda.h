#ifndef KERNELS_HADAMARD_HADAMARD_CUDA_H
#define KERNELS_HADAMARD_HADAMARD_CUDA_H

#include "kernels/cuda/stream.h"

/*
 * The randomised Walsh-Hadamard transform of a message on the device, bit for bit as in
 * src/lib/sparse/transform_hadamard.c. The message is cut into pieces of `length` elements, a power
 * of two. The rest is cut into smaller powers of two, whose coefficients are brought to the same
 * scale. The first twelve stages take one read and one write, every four more stages take another;
 * each is one launch. Arrays are aligned to 16. Functions return 0 or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* Bytes of the key of the signs in a payload. */
#define GCB_CUDA_HADAMARD_SIDE 8

/* coef = H D x of each piece. The signs of D are drawn by `key`, which is written to side[0..8).
 * in->n may be 0. Adds error feedback while reading x. A coefficient that is not finite makes
 * result->status GCB_E_SEND_RAW. */
int gcb_cuda_hadamard_forward(struct gcb_device_stream *s, float *coef,
                              const struct gcb_device_input *in, uint64_t length, uint64_t key,
                              uint8_t *side, struct gcb_device_result *result);

/* out = D H (unitary * coef) of each piece, with the key at side[0..8) in device memory; coef is
 * overwritten. If `from` (n floats) is not NULL, out = from - elements. */
struct gcb_cuda_hadamard_inversion {
    uint64_t length;
    float unitary;
    const uint8_t *side;
    const float *from; /* the tensor to subtract from, or NULL */
};
int gcb_cuda_hadamard_inverse(struct gcb_device_stream *s, float *out, float *coef, uint64_t n,
                              const struct gcb_cuda_hadamard_inversion *how);

GCB_END_C

#endif
