#ifndef KERNELS_HADAMARD_HADAMARD_CUDA_H
#define KERNELS_HADAMARD_HADAMARD_CUDA_H

#include "kernels/cuda/stream.h"

/*
 * The randomised Walsh-Hadamard transform of a message on the device (H and D are those of
 * kernels/hadamard/hadamard.h), bit for bit as in src/lib/sparse/transform_hadamard.c. The message
 * is cut into pieces of `length` elements, a power of two. The rest is cut into smaller powers of
 * two, whose coefficients are brought to the same scale. The first launch does up to twelve stages,
 * and each further launch does up to four; a launch reads and writes each element once. Arrays of
 * floats are device memory, aligned to 16 bytes; `side` is device memory. Functions return 0,
 * GCB_E_NOMEM or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* Bytes of the key of the signs in a payload. */
#define GCB_CUDA_HADAMARD_SIDE 8

/* Writes H D x of each piece to coef. `key` draws the signs of D, and is written to side[0..8).
 * in->n may be 0. Adds error feedback while reading x. If a coefficient is not finite,
 * result->status becomes GCB_E_SEND_RAW. */
int gcb_cuda_hadamard_forward(struct gcb_device_stream *s, float *coef,
                              const struct gcb_device_input *in, uint64_t length, uint64_t key,
                              uint8_t *side, struct gcb_device_result *result);

struct gcb_cuda_hadamard_inversion {
    uint64_t length;     /* of a whole piece, as in gcb_cuda_hadamard_forward */
    float unitary;       /* 1 / sqrt(length) */
    const uint8_t *side; /* the key, GCB_CUDA_HADAMARD_SIDE bytes in device memory */
    const float *from;   /* n floats to subtract the elements from; NULL: write the elements */
};

/* Writes D H (unitary * coef) of each piece to out, or how->from minus that. May overwrite
 * coef. */
int gcb_cuda_hadamard_inverse(struct gcb_device_stream *s, float *out, float *coef, uint64_t n,
                              const struct gcb_cuda_hadamard_inversion *how);

GCB_END_C

#endif
