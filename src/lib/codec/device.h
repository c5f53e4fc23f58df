#ifndef SRC_LIB_CODEC_DEVICE_H
#define SRC_LIB_CODEC_DEVICE_H

#include "kernels/cuda/group.h"
#include "src/lib/codec/codec.h"

/*
 * The interface a device module fills (libgcbench-cuda.so, opened at run time; src/lib/device/load.h): a second
 * table of ops per codec, over the same descriptors, parameter tables, frames and presets. What makes it
 * cheap is decided here and holds for the CPU already:
 *
 *  - Everything the decoder needs is in the frame's parameters (known before encoding) or in the
 *    payload; the payload's length is a field that is written last. So a device writes the payload and its
 *    length, and the host adds a head of known size afterwards.
 *  - Variable-length streams stand in blocks of GCB_TILE symbols with a directory in front, so blocks
 *    are independent both ways (lengths, scan, write).
 *  - Sums follow a fixed tree over 32 lanes, a warp's width (kernels/reduce/reduce.h); draws are by
 *    counter, and their streams (gcb_draw_stream) are worked out on the host, a few bytes a call;
 *    per-element arithmetic stands in <family>_elem.h, compiled by both compilers.
 *
 * A state lives on the host and holds the parameters (gcb_param_store, as on the CPU), sizes and plans, and
 * the device memory of what a stateful codec keeps between calls, taken in init. What else a call needs on
 * the device is in its scratch, which is asked for first and passed in second: no call allocates, and none
 * but init waits for the device. All pointers named *_dev are device memory, aligned to 256 bytes (results: 8);
 * the payload stands apart from its head, so that no head's length shifts it.
 *
 * A call's own return is what the host knows at once (GCB_E_DEVICE: a launch failed; GCB_E_CORRUPT: a payload's
 * length is not one that its frame allows). What the data decide comes later, through the result.
 */
/* Where a call runs and what it may use until it has ended. The result is all zero when the call's work begins. */
struct gcb_device_call {
    struct gcb_step at; /* encoding: of the message */
    struct gcb_device_stream *stream;
    void *scratch_dev; /* at least `scratch` bytes; calls on one stream may share it */
    struct gcb_device_result *result_dev;
};

/*
 * Several messages of a codec by one set of launches, whose results are those of single calls, byte for byte. Their
 * payloads are of one length for a tensor, max_payload; residuals are as in encode_async of one.
 */
struct gcb_device_group_ops {
    /* May messages of these states go together? Sizes and streams of draws may differ. NULL: any may. */
    bool (*alike)(const void *state, const void *other);
    /* Sets what a message has for itself, but for its input, payload, result and scratch, which are there; `at` is NULL
     * to decode. NULL: nothing. */
    void (*fill)(const void *state, const struct gcb_step *at, struct gcb_device_item *item);
    /* Queue the copy of the group's table, filled but for its grids, and the work; the state is one of them. */
    int (*encode_async)(const void *state, const struct gcb_device_group *group,
                        struct gcb_device_stream *stream);
    int (*decode_async)(const void *state, const struct gcb_device_group *group,
                        struct gcb_device_stream *stream);
};

struct gcb_device_ops {
    size_t
        state_size; /* zeroed, then parameters stored, then init; so it begins as the CPU's state does */
    /* Plans and sizes. env->kernels and env->queue are the host's and not used. GCB_E_UNSUPPORTED, with words:
     * these parameters run on the CPU only. */
    int (*init)(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag);
    void (*fini)(void *state);                  /* accepts an all-zero state; NULL: nothing to do */
    uint64_t (*max_payload)(const void *state); /* bytes; the same as on the CPU */
    uint64_t (*scratch)(const void *state);     /* bytes that a call needs on the device */

    bool feedback; /* may `in` have a residual, where init saw env->feedback? */
    /*
     * Queues the encoding of in->n = env->count floats, all finite. The payload, byte for byte the CPU's, goes to
     * out_dev (at least max_payload bytes). A result with GCB_E_SEND_RAW, or longer than the raw tensor, makes
     * the host send the tensor raw: that is the module's business, not the codec's.
     *
     * With a residual, error feedback is fused: in->x becomes carry * residual + x, which is what is encoded, and what
     * the decoder will not get of it becomes the residual; bit for bit what the unfused path gives. (A tensor that
     * then goes raw has its residual put right by the coder.) in->compensated is 0.
     */
    int (*encode_async)(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                        const struct gcb_device_call *call);
    /*
     * Queues the decoding of a payload of `length` bytes, known from its frame, which the host has parsed.
     * Any bytes are survived: nothing outside out_dev, scratch and result is written.
     */
    int (*decode_async)(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                        const struct gcb_device_call *call);

    const struct gcb_device_group_ops *group; /* NULL: one message at a time */
};

/* What the module exports: a row for each codec it has, ended by one without ops. A message is described, and
 * its figures formed, by the CPU's decoder: that is never timed. */
struct gcb_device_codec {
    uint8_t wire_id;
    const struct gcb_device_ops *ops;
};

#endif
