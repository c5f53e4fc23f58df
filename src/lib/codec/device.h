#ifndef SRC_LIB_CODEC_DEVICE_H
#define SRC_LIB_CODEC_DEVICE_H

#include "kernels/cuda/group.h"
#include "src/lib/codec/codec.h"

/*
 * The interface that a device module implements (libgcbench-cuda.so, opened at run time;
 * src/lib/device/load.h): a second table of functions for a codec. Descriptors, parameter tables,
 * frames and presets are the CPU's. A device can make the same messages because of these rules,
 * which hold on the CPU too:
 *
 *  - Everything that the decoder needs is in the frame's parameters, which are known before
 *    encoding, or in the payload. The payload's length is a field that is written last. So the
 *    device writes the payload and its length, and the host adds a head of known size afterwards.
 *  - Streams of variable length consist of blocks of GCB_TILE symbols with a directory in front. So
 *    blocks can be encoded (lengths, prefix sum, write) and decoded independently.
 *  - Sums follow a fixed tree over 32 lanes, the width of a warp (kernels/reduce/reduce.h). Random
 *    draws come from a counter-based generator, and the host computes its streams
 *    (gcb_draw_stream). Arithmetic per element is in <family>_elem.h, which both compilers compile.
 *
 * A state is in host memory. It has the parameters (gcb_param_store, as on the CPU), sizes and
 * plans, and pointers to the device memory that a stateful codec keeps between calls. init
 * allocates all of this. Other device memory that a call needs is its scratch: the caller asks for
 * its size and passes it in. No call allocates, and only init waits for the device. Pointers named
 * *_dev are device memory, aligned to 256 bytes (results: 8). The payload is apart from its head,
 * so the head's length does not shift it.
 *
 * A call returns what the host knows at once. GCB_E_DEVICE: a launch failed. GCB_E_CORRUPT: the
 * frame does not allow this length of payload. Everything that depends on the data is in the
 * result, once the stream has been waited for.
 */

/* Where a call runs, and what it may use until it ends. The result is all zero when the call's work
 * begins. */
struct gcb_device_call {
    struct gcb_step at; /* encoding: the message's step and worker */
    struct gcb_device_stream *stream;
    void *scratch_dev; /* at least `scratch` bytes; calls on one stream may share it */
    struct gcb_device_result *result_dev;
};

/*
 * Codes several messages of a codec in one set of launches. The results are those of single calls,
 * byte for byte. Only for codecs whose payloads always have max_payload bytes. Residuals are as in
 * encode_async.
 */
struct gcb_device_group_ops {
    /* True if messages of these two states may be in one group. Sizes and random streams may
     * differ. NULL: always true. */
    bool (*alike)(const void *state, const void *other);
    /* Sets the fields of `item` that depend on the message. The caller sets input, payload, result
     * and scratch. `at` is NULL to decode. The function is NULL if the codec has no other fields to
     * set. */
    void (*fill)(const void *state, const struct gcb_step *at, struct gcb_device_item *item);
    /* Encodes or decodes: fills the grids of the group's table, then queues the copy of the table
     * and the work. `state` belongs to any message. */
    int (*code_async)(const void *state, bool decode, const struct gcb_device_group *group,
                      struct gcb_device_stream *stream);
};

/* Where a message is added. */
struct gcb_device_addition {
    /* the canvas or, if the state has no canvas, env->count floats; zero before the first
     * message */
    void *acc_dev;
    float weight;
    /* acc_dev holds other messages: if this message does not fit them, the status is
     * GCB_E_MISMATCH */
    bool joins;
};

/*
 * Adds messages without decoding them to a tensor first. Elements of a sum are the CPU's, bit for
 * bit (struct gcb_sum), coefficients of a transform as far as the transform's are. Calls need the
 * decoder's scratch.
 */
struct gcb_device_sum_ops {
    /* Bytes of the state's canvas, an array of coefficients to which messages are added. 0: the
     * codec does not transform, and messages are added to elements. NULL: 0 for every state. */
    uint64_t (*canvas)(const void *state);
    /* True if these two states, of the same count, have the same canvas. */
    bool (*alike)(const void *state, const void *other);
    /* Queues an addition. If the status is not 0 afterwards, nothing was added. Any bytes are safe,
     * as for decoding. */
    int (*add_async)(void *state, const uint8_t *payload_dev, uint64_t length,
                     const struct gcb_device_addition *to, const struct gcb_device_call *call);
    /* Queues the transform of a canvas that holds at least one message into elements. */
    int (*inverse_async)(void *state, void *canvas_dev, float *out_dev,
                         const struct gcb_device_call *call);
};

/* A worker's tensor in an all-reduce. Arrays are device memory. */
struct gcb_device_share {
    const float *x_dev; /* env->count floats, all finite */
    float weight;       /* of x in the sum */
    /* what the worker contributes to a round; left alone until the next round, or conclude */
    void *values_dev;
    void *kept_dev; /* `kept` bytes, left alone from the first round to conclude */
};

/*
 * How tensors on a device are combined without decoding: struct gcb_reduce_ops with arrays in
 * device memory. The state is an encoder's whose env->workers is not 0. Values, updates and what
 * arrived are the CPU's, bit for bit. call->at.step is the same in all calls of a step.
 */
struct gcb_device_reduce_ops {
    uint64_t (*kept)(const void *state);    /* bytes that stay from round to round; NULL: none */
    uint64_t (*scratch)(const void *state); /* bytes that a call needs; NULL: none */
    /* Queues the values of a round. The result's status becomes GCB_E_SEND_RAW if the method cannot
     * represent x. */
    int (*contribute_async)(const void *state, unsigned round, const struct gcb_device_share *own,
                            const struct gcb_device_call *call);
    /* Takes the combined values of a round except the last; any are safe. NULL: there is only one
     * round. */
    int (*absorb_async)(const void *state, unsigned round, const void *combined_dev,
                        const struct gcb_device_share *own, const struct gcb_device_call *call);
    /* Queues the update and, if own_dev is not NULL, the part of x that it contains, from the
     * combined values of the last round; any are safe. */
    int (*conclude_async)(const void *state, const void *combined_dev,
                          const struct gcb_device_share *own, float *update_dev, float *own_dev,
                          const struct gcb_device_call *call);
};

struct gcb_device_ops {
    /* bytes; the coder zeroes them, sets the base, stores the parameters, then calls init. So the
     * state begins like the CPU's state, and init sets the base to the same values, except
     * sees_nonfinite */
    size_t state_size;
    /* Makes plans. env->kernels and env->queue are not used. GCB_E_UNSUPPORTED: these parameters
     * run on the CPU only. */
    int (*init)(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag);
    void (*fini)(void *state); /* accepts an all-zero state; NULL: nothing to do */
    /* bytes of device memory that a call needs; NULL: none */
    uint64_t (*scratch)(const void *state);

    bool feedback; /* may `in` have a residual, if env->feedback was set in init? */
    /*
     * Queues the encoding of in->n = env->count floats, all finite. The payload goes to out_dev (at
     * least max_payload bytes) and is the CPU's, byte for byte. If the result is GCB_E_SEND_RAW or
     * longer than the raw tensor, the coder sends the tensor raw.
     *
     * With a residual, error feedback is fused: in->x becomes carry * residual + x, that sum is
     * encoded, and the residual becomes the sum minus what the decoder will rebuild, bit for bit as
     * without fusing. (If the tensor is sent raw, the coder corrects the residual.) in->compensated
     * is 0.
     */
    int (*encode_async)(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                        const struct gcb_device_call *call);
    /*
     * Queues the decoding of a payload of `length` bytes, which the host knows from the frame. Any
     * bytes are safe: only out_dev, scratch and result are written.
     */
    int (*decode_async)(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                        const struct gcb_device_call *call);

    const struct gcb_device_group_ops *group; /* NULL: one message at a time */
    const struct gcb_device_sum_ops *sum; /* NULL: a sum decodes messages and adds the elements */
    const struct gcb_device_reduce_ops *reduce; /* NULL: an all-reduce runs on the CPU only */
};

/* A codec of the module. A row without ops ends the table. There is no `describe`: the CPU's
 * decoder describes messages, because describing is never timed. */
struct gcb_device_codec {
    uint8_t wire_id;
    const struct gcb_device_ops *ops;
};

#endif
