#ifndef SRC_LIB_CODEC_DEVICE_H
#define SRC_LIB_CODEC_DEVICE_H

#include "kernels/cuda/group.h"
#include "kernels/slot/slot_cuda.h"
#include "src/lib/codec/codec.h"

/*
 * A second table of functions for a codec, for a device. The CUDA module implements it
 * (libgcbench-cuda.so, opened at run time; src/lib/device/load.h). Descriptors, parameter tables,
 * message headers and presets are those of the CPU. A device can make the same messages as the CPU
 * because both keep these rules:
 *
 *  - Everything that the decoder needs is in the payload, or in the header's parameters, which are
 *    known before encoding. The payload's length is a field that is written last. So the device
 *    writes the payload and its length, and the host adds a header of known size afterwards.
 *  - Streams of variable length consist of blocks of GCB_TILE symbols with a directory in front. So
 *    blocks can be encoded (lengths, prefix sum, write) and decoded independently.
 *  - Sums follow a fixed tree over 32 lanes, the width of a warp (kernels/reduce/reduce.h). Random
 *    draws come from a counter-based generator, and the host computes its streams
 *    (gcb_draw_stream). Arithmetic per element is in <family>_elem.h, which both compilers compile.
 *
 * A state is in host memory. It has the parameters (gcb_param_store, as on the CPU), sizes and
 * plans, and pointers to device memory that is kept between calls. init makes the plans and
 * allocates this device memory. Other device memory that a call needs is the call's scratch. The
 * caller asks for the size of the scratch and passes the scratch in. No call allocates, and only
 * init and fini may wait for the device. Pointers named *_dev are device memory: scratch is aligned
 * to 256 bytes, results to 8, and tensors and payloads to 256, but in slots (src/lib/coder/slot.h)
 * to 16. The payload and the header are apart, so the header's length does not shift the payload.
 *
 * A call returns what the host knows at once: 0; GCB_E_DEVICE, a launch failed; or GCB_E_CORRUPT,
 * the header does not allow this length of payload. Everything that depends on the data is in the
 * call's result, after the caller has waited for the stream.
 */

/* Where a call runs, and what it may use until it ends. The caller has zeroed the result. */
struct gcb_device_call {
    struct gcb_step at; /* encoding: the message's step and worker */
    struct gcb_device_stream *stream;
    void *scratch_dev; /* at least `scratch` bytes; calls on one stream may share it */
    struct gcb_device_result *result_dev;
};

/*
 * Encodes or decodes several messages of a codec in one set of launches. The results are those of
 * single calls, byte for byte. Only for states whose payloads always have max_payload bytes.
 * Residuals are as in encode_async.
 */
struct gcb_device_group_ops {
    /* True if messages of these two states may be in one group. Sizes and random streams may
     * differ. NULL: always true. */
    bool (*alike)(const void *state, const void *other);
    /* Sets the fields of `item` that depend on the message, except input, payload, result and
     * scratch, which the caller sets. `at` is NULL when decoding. A NULL function: there are no
     * such fields. */
    void (*fill)(const void *state, const struct gcb_step *at, struct gcb_device_item *item);
    /* Encodes or decodes a group: fills the grids of its table, then queues the copy of the table
     * and the work. `state` is the state of any message in the group. */
    int (*code_async)(const void *state, bool decode, const struct gcb_device_group *group,
                      struct gcb_device_stream *stream);
};

/*
 * Adds messages without decoding them to a tensor first. Sums are equal to those of the CPU, bit
 * for bit (struct gcb_sum). The states are decoders', and calls need the decoder's scratch.
 */
struct gcb_device_sum_ops {
    /* True if this state transforms: then its messages cannot be added to elements. NULL: never. */
    bool (*transforms)(const void *state);
    /* Queues the addition of `weight` times a message to acc_dev, env->count floats. If the
     * result's status is not 0 afterwards, nothing was added. Any bytes are safe, as for
     * decoding. */
    int (*add_async)(void *state, const uint8_t *payload_dev, uint64_t length, float *acc_dev,
                     float weight, const struct gcb_device_call *call);
};

struct gcb_device_ops {
    /* Bytes of a state. The coder zeroes the state, sets the base, stores the parameters, then
     * calls init. The beginning of the state is laid out as on the CPU, and init sets the base to
     * the same values, except sees_nonfinite and the rounds of an all-reduce. */
    size_t state_size;
    /* Makes plans and allocates the device memory that the state keeps. env->kernels and env->queue
     * are not used. Returns 0 or an error; GCB_E_UNSUPPORTED: these parameters run on the CPU only.
     * fini is called in either case. */
    int (*init)(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag);
    void (*fini)(void *state); /* accepts an all-zero state; NULL: nothing to do */
    /* Bytes of device memory that a call needs. NULL: none. */
    uint64_t (*scratch)(const void *state);

    bool feedback; /* encoders accept an input with a residual, if env->feedback was set in init */
    /*
     * Queues the encoding of in->n = env->count floats. The payload goes to out_dev (at least
     * max_payload bytes). Without GCB_CAP_DEVICE_MATH it is that of the CPU, byte for byte. If the
     * result's status is GCB_E_SEND_RAW, or the payload is longer than the raw tensor, the coder
     * sends the tensor raw. If an element is not finite, the payload is unspecified.
     *
     * With a residual, error feedback is fused: in->x becomes carry * residual + x, this sum is
     * encoded, and the residual becomes the sum minus what a decoder will rebuild. The results are
     * the same as without fusing, bit for bit. If the tensor is sent raw, the coder corrects the
     * residual. If in->compensated is 1 (in slots), the residual has been added to in->x before.
     */
    int (*encode_async)(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                        const struct gcb_device_call *call);
    /*
     * Queues the decoding of a payload of `length` bytes, which the host knows from the header. Any
     * bytes are safe: only out_dev, scratch and result are written.
     */
    int (*decode_async)(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                        const struct gcb_device_call *call);

    /* Queues the sum of messages of this decoder's method, of max_payload bytes each, into
     * `out_dev` (kernels/slot/slot_cuda.h). Any bytes are safe. NULL: `sum` adds them one by
     * one. */
    int (*sum_async)(const void *state, const struct gcb_cuda_payloads *p, float *out_dev,
                     struct gcb_device_stream *stream);
    const struct gcb_device_group_ops *group; /* NULL: one message at a time */
    const struct gcb_device_sum_ops *sum;     /* NULL: only sum_async adds messages */
};

/* A codec of the module. A row without ops ends the table. There is no `describe`: the CPU's
 * decoder describes messages, because describing is never timed. */
struct gcb_device_codec {
    uint8_t wire_id;
    const struct gcb_device_ops *ops;
};

#endif
