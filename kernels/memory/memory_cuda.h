#ifndef KERNELS_MEMORY_MEMORY_CUDA_H
#define KERNELS_MEMORY_MEMORY_CUDA_H

#include "kernels/cuda/stream.h"

/*
 * What stands around an encoder on the device: elementwise passes, bit for bit those of src/lib/memory/memory.c. Arrays are
 * device memory, aligned to 16. 0 or GCB_E_DEVICE.
 */
#ifdef __cplusplus
extern "C" {
#endif

/* ---- error feedback, where no kernel of the encoder does it on the way (kernels/memory/feedback.cuh) ---- */

/* in->x = carry * residual + x, where there is a residual that has not been put in yet; else nothing. 12 bytes an
 * element. */
int gcb_cuda_memory_compensate(struct gcb_device_stream *s, const struct gcb_device_input *in);

/* left = p - left, n floats: what is left of p once `left`, as it stands, was sent. 12 bytes an element. */
int gcb_cuda_memory_take(struct gcb_device_stream *s, float *left, const float *p, uint64_t n);

/* ---- every kind of memory, by itself ---- */

/* A worker's, of n elements. */
struct gcb_cuda_memory {
    uint64_t n;
    float *left;     /* what has not been sent, n floats */
    float *momentum; /* n floats, or NULL: what is left is carried on */
    const float
        *scale;   /* one float that gradients are multiplied by, where there is momentum; NULL: 1 */
    float factor; /* of momentum, or of what is carried on */
    int nesterov;
};

/* A step's gradient comes in: `left` is what is to be encoded then. 12 bytes an element, with momentum 20. */
int gcb_cuda_memory_add(struct gcb_device_stream *s, const struct gcb_cuda_memory *m,
                        const float *gradient);

/* The decoded message goes out; with `masks`, momentum becomes 0 where something was sent. 12 bytes an element, or 20. */
int gcb_cuda_memory_sent(struct gcb_device_stream *s, const struct gcb_cuda_memory *m,
                         const float *sent, int masks);

/* *scale = what brings n gradients to a norm of at most `limit`, in this scratch. Two launches, 4 bytes an element. */
uint64_t gcb_cuda_memory_clip_scratch(uint64_t n);
int gcb_cuda_memory_clip(struct gcb_device_stream *s, float *scale, const float *gradient,
                         uint64_t n, double limit, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
