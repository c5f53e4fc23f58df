#ifndef KERNELS_MEMORY_MEMORY_CUDA_H
#define KERNELS_MEMORY_MEMORY_CUDA_H

#include "kernels/cuda/stream.h"

/*
 * Error feedback and copies on the device: elementwise passes, bit for bit those of
 * src/lib/memory/memory.c. Arrays are device memory, aligned to 16 bytes. Functions return 0,
 * GCB_E_NOMEM or GCB_E_DEVICE.
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

/* Both functions copy n floats of x to `to`, which moves 8 bytes per element; gcb_cuda_memory_pad
 * then writes zeros up to `length` > n floats. */
int gcb_cuda_memory_pad(struct gcb_device_stream *s, float *to, const float *x, uint64_t n,
                        uint64_t length);
int gcb_cuda_memory_copy(struct gcb_device_stream *s, float *to, const float *x, uint64_t n);

/* ---- failures ---- */

/* Returns 0, or the status of the stream's first failure. A stream that has failed takes no more
 * launches, so it is enough to check the status after the last of several calls. */
int gcb_cuda_status(const struct gcb_device_stream *s);

GCB_END_C

#endif
