#ifndef KERNELS_CUDA_STREAM_H
#define KERNELS_CUDA_STREAM_H

/*
 * What the C side of the CUDA module sees of a stream, and what a kernel writes of how a call ended. Launchers
 * (kernels/<family>/<family>_cuda.h) take a stream, queue their kernels on it and return 0 or GCB_E_DEVICE
 * at once; the words for the latter are kept in the stream (src/lib/device/module.h).
 */
#include <stdint.h>

struct gcb_device_stream; /* opaque: the module's own (kernels/cuda/launch.cuh) */

/*
 * How a call ended, written on the device behind everything else. The messages of a step have their
 * results side by side, so one small copy, behind one synchronisation, fetches all of them. All zero before
 * the call: a kernel adds to it.
 */
struct gcb_device_result {
    uint64_t length;  /* encode: bytes of the payload */
    uint64_t clamped; /* encode: elements that a limited range cut */
    /* 0. Encoding: GCB_E_SEND_RAW if the method's arithmetic overflowed. Decoding: GCB_E_CORRUPT */
    int32_t status;
    /* the largest sign-cleared pattern among the elements, where somebody looked (the coder, for infinities and
     * NaNs, or a codec whose range comes of the data) */
    uint32_t max_bits;
};

/*
 * What an encoder on the device is given: n floats, device memory, aligned to 16. With error feedback fused
 * (src/lib/memory/memory.h, kind ef) there is a residual: p = carry * residual + x is what is encoded and takes the
 * place of x, and p minus what the decoder will make of it becomes the residual; in two roundings each, as the
 * unfused path has them. Without (residual NULL) x is only read.
 */
struct gcb_device_input {
    float *x;
    uint64_t n;
    float *residual; /* n floats, aligned to 16, or NULL */
    float carry;
    int compensated; /* x is p already */
};

/* The same, of a tensor that is only read. */
static inline struct gcb_device_input gcb_device_plain(const float *x, uint64_t n)
{
    const struct gcb_device_input in = {(float *)(uintptr_t)x, n, 0, 0.0f, 0};

    return in;
}

#endif
