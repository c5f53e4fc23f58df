#ifndef KERNELS_MEMORY_MEMORY_CUDA_H
#define KERNELS_MEMORY_MEMORY_CUDA_H

#include "kernels/cuda/stream.h"

/*
 * What a worker remembers between steps, on the device: elementwise passes, bit for bit those of
 * src/lib/memory/memory.c. Arrays are device memory, aligned to 16. Functions return 0 or
 * GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* ---- error feedback for encoders that do not fuse it (kernels/memory/feedback.cuh) ---- */

/* in->x = carry * residual + x, if there is a residual that has not been added yet; otherwise does
 * nothing. Moves 12 bytes per element. */
int gcb_cuda_memory_compensate(struct gcb_device_stream *s, const struct gcb_device_input *in);

/* left = p - left for n floats: the residual of p, if `left` holds what was sent. Moves 12 bytes
 * per element. */
int gcb_cuda_memory_residual(struct gcb_device_stream *s, float *left, const float *p, uint64_t n);

/* ---- tensors that a transform takes with zeros after them ---- */

/* Writes n floats, and zeros up to `length`, which is more. Moves 8 bytes per element. */
int gcb_cuda_memory_pad(struct gcb_device_stream *s, float *to, const float *x, uint64_t n,
                        uint64_t length);
int gcb_cuda_memory_copy(struct gcb_device_stream *s, float *to, const float *x, uint64_t n);

/* ---- all kinds of memory, not fused ---- */

/* The memory of one worker, of n elements. */
struct gcb_cuda_memory {
    uint64_t n;
    float *left;     /* what has not been sent, n floats */
    float *momentum; /* n floats, or NULL if this memory has no momentum */
    const float
        *scale;   /* one float; gradients are multiplied by it if there is momentum; NULL: 1 */
    float factor; /* each step multiplies `momentum` by it, or `left` if there is no momentum */
    int nesterov; /* enum gcb_nesterov */
    int clears;   /* `left` becomes 0 where something was sent */
};

/* Adds a step's gradient; then `left` is what to encode. Moves 12 bytes per element, 20 with
 * momentum. */
int gcb_cuda_memory_add_gradient(struct gcb_device_stream *s, const struct gcb_cuda_memory *m,
                                 const float *gradient);

/* Subtracts the decoded message from `left`, or clears `left`. With `masks`, momentum becomes 0
 * where something was sent. Moves 12 bytes per element, 20 with `masks`. */
int gcb_cuda_memory_remove_sent(struct gcb_device_stream *s, const struct gcb_cuda_memory *m,
                                const float *sent, int masks);

/* *scale = the factor that limits the norm of n gradients to `limit`. Takes two launches and reads
 * 4 bytes per element. */
uint64_t gcb_cuda_memory_clip_scratch(uint64_t n);
int gcb_cuda_memory_clip(struct gcb_device_stream *s, float *scale, const float *gradient,
                         uint64_t n, double limit, void *scratch);

/* 0, or the status of the stream's first failure. After it the stream takes no more launches, so a
 * sequence of calls needs to look only once. */
int gcb_cuda_status(const struct gcb_device_stream *s);

GCB_END_C

#endif
