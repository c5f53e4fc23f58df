#ifndef KERNELS_MEMORY_MEMORY_CUDA_H
#define KERNELS_MEMORY_MEMORY_CUDA_H

#include "kernels/cuda/stream.h"

/*
 * What a worker remembers between steps, on the device: elementwise passes, bit for bit those of
 * src/lib/memory/memory.c. Arrays are device memory, aligned to 16 bytes. Functions return 0 or
 * GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* ---- error feedback for encoders that do not fuse it (kernels/memory/feedback.cuh) ---- */

/* Adds carry * residual to in->x if in->residual is not NULL and has not been added before. Moves
 * 12 bytes per element. */
int gcb_cuda_memory_compensate(struct gcb_device_stream *s, const struct gcb_device_input *in);

/* Replaces `left`, which holds the n decoded values of p, by the residual p - left. Moves 12 bytes
 * per element. */
int gcb_cuda_memory_residual(struct gcb_device_stream *s, float *left, const float *p, uint64_t n);

/* ---- copies ---- */

/* Copies n floats of x, and writes zeros after them up to `length` > n. Moves 8 bytes per
 * element. */
int gcb_cuda_memory_pad(struct gcb_device_stream *s, float *to, const float *x, uint64_t n,
                        uint64_t length);
int gcb_cuda_memory_copy(struct gcb_device_stream *s, float *to, const float *x, uint64_t n);

/* ---- all kinds of memory, not fused ---- */

/* The memory of one worker, of n elements. */
struct gcb_cuda_memory {
    uint64_t n;
    float *left;     /* what has not been sent, n floats */
    float *momentum; /* n floats, or NULL if this memory has no momentum */
    /* One float, by which gradients are multiplied if there is momentum; NULL: 1. */
    const float *scale;
    float factor; /* each step multiplies `momentum`, or `left` without momentum, by this */
    int nesterov; /* enum gcb_nesterov */
    int clears;   /* 1: `left` becomes 0 where something was sent */
};

/* Adds a step's gradient; then `left` is what to encode. Moves 12 bytes per element, 20 with
 * momentum. */
int gcb_cuda_memory_add_gradient(struct gcb_device_stream *s, const struct gcb_cuda_memory *m,
                                 const float *gradient);

/* Subtracts the decoded message `sent` from m->left or, if m->clears, sets m->left to 0 where
 * `sent` is not 0. If `masks`, also sets the momentum to 0 where `sent` is not 0. Moves 12 bytes
 * per element, 20 if `masks`. */
int gcb_cuda_memory_remove_sent(struct gcb_device_stream *s, const struct gcb_cuda_memory *m,
                                const float *sent, int masks);

/* Bytes of scratch for gcb_cuda_memory_clip. */
uint64_t gcb_cuda_memory_clip_scratch(uint64_t n);
/* Sets *scale to the factor that limits the L2 norm of n elements to `limit`. Takes two launches
 * and reads 4 bytes per element. */
int gcb_cuda_memory_clip(struct gcb_device_stream *s, float *scale, const float *gradient,
                         uint64_t n, double limit, void *scratch);

/* Returns 0, or the status of the stream's first failure. A stream that has failed takes no more
 * launches, so it is enough to check the status after the last of several calls. */
int gcb_cuda_status(const struct gcb_device_stream *s);

GCB_END_C

#endif
