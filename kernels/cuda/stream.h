#ifndef KERNELS_CUDA_STREAM_H
#define KERNELS_CUDA_STREAM_H

/*
 * A CUDA stream as the module's C code sees it, and the result that kernels write. Launchers
 * (kernels/<family>/<family>_cuda.h) take a stream, queue their kernels on it and return 0 or
 * GCB_E_DEVICE without waiting (GCB_E_NOMEM if CUDA found no memory for a launch). The stream keeps
 * the description of a failure (src/lib/device/module.h).
 */
#include "kernels/base/hd.h"

struct gcb_device_stream; /* kernels/cuda/fault.cuh defines it; C code cannot see inside */

/*
 * The result of a call, in device memory. It is complete when the call's last kernel has ended. The
 * results of a step's messages are contiguous, so one synchronisation and one small copy fetch all
 * of them; only the result of a slot (src/lib/coder/slot.h) is at the beginning of the slot. A
 * result must be all zero before its call, because kernels add to it.
 */
struct gcb_device_result {
    uint64_t length;  /* encode: bytes of the payload */
    uint64_t clamped; /* encode: elements that were clamped to a limited range */
    /* 0 if all is well. An encoder sets GCB_E_SEND_RAW if the method's arithmetic overflowed; a
     * decoder sets GCB_E_CORRUPT if the message is damaged; gcb_cuda_slot_end sets
     * GCB_E_NONFINITE. */
    int32_t status;
    /* The largest sign-cleared bit pattern of the elements; 0 if it was not computed. The coder
     * computes it to find infinities and NaNs; a codec computes it if its range depends on the
     * data. If an FFT uses the result as scratch: the largest of the bins' real and imaginary
     * parts. */
    uint32_t max_bits;
};

/*
 * The input of an encoder: n floats in device memory, aligned to 16. If `residual` is NULL, x is
 * only read. Otherwise error feedback is fused (src/lib/memory/memory.h, kind ef): p = carry *
 * residual + x is encoded and stored over x, and p minus the decoded values becomes the residual.
 * The product and the sum in p are rounded separately, as in the unfused path.
 */
struct gcb_device_input {
    float *x;
    uint64_t n;
    float *residual; /* n floats, aligned to 16, or NULL */
    float carry;
    int compensated; /* 1: x holds p before the call; the residual may still have its old values */
};

/* The input of a call without a residual: an encoder only reads x, and a decoder writes x. */
static inline struct gcb_device_input gcb_device_plain(const float *x, uint64_t n)
{
    const struct gcb_device_input in = {(float *)(uintptr_t)x, n, 0, 0.0f, 0};

    return in;
}

#endif
