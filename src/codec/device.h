#ifndef SRC_CODEC_DEVICE_H
#define SRC_CODEC_DEVICE_H

#include "src/codec/codec.h"

/*
 * The interface a device module fills (libgcbench-cuda.so, opened at run time; src/cuda/load.h): a second
 * table of ops per codec, over the same descriptors, parameter tables, frames and presets. A device
 * coder keeps its scratch, its plans and its residual on the device. What makes it cheap is decided
 * here and holds for the CPU already:
 *
 *  - Everything the decoder needs is in the frame's parameters (known before encoding) or in the
 *    payload; the payload's length is a field that is written last. So a device writes payload and
 *    length where they belong and the host adds a head of known size afterwards.
 *  - Variable-length streams stand in blocks of GCB_TILE symbols with a directory in front, so blocks
 *    are independent both ways (lengths, scan, write).
 *  - Sums follow a fixed tree over 32 lanes, a warp's width (kernels/reduce/reduce.h); draws are by
 *    counter; per-element arithmetic stands in <family>_elem.h, compiled by both compilers.
 *  - Scratch is taken in init from `count` alone; encode and decode take a stream and never allocate.
 */
struct gcb_device_stream; /* opaque: the module's own */

struct gcb_device_ops {
    size_t state_size;
    int (*init)(void *state, const struct gcb_codec_env *env, struct gcb_device_stream *stream,
                struct gcb_diag *diag);
    void (*fini)(void *state);
    uint64_t (*bound)(const void *state);
    /*
     * Queues the encoding of env->count floats at in_dev. The payload goes to out_dev, of at least bound
     * bytes, its length to *len_dev. Returns before any of it has happened; no synchronisation.
     */
    int (*encode_async)(void *state, const struct gcb_step *at, const float *in_dev,
                        uint8_t *out_dev, uint64_t *len_dev, struct gcb_device_stream *stream);
    /* The same with error feedback fused: in = residual + in, residual = in - decoded. Bit for bit what the
     * unfused path gives. NULL where there is none. */
    int (*encode_residual_async)(void *state, const struct gcb_step *at, const float *in_dev,
                                 float *residual_dev, uint8_t *out_dev, uint64_t *len_dev,
                                 struct gcb_device_stream *stream);
    int (*decode_async)(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                        struct gcb_device_stream *stream);
};

#endif
