#ifndef SRC_LIB_CODER_DEVICE_CODER_H
#define SRC_LIB_CODER_DEVICE_CODER_H

#include "src/lib/coder/coder.h"
#include "src/lib/device/place.h"

/*
 * Coders with a place (struct gcb_coder_config), call by call: many messages are queued, and the
 * host waits once. Such a coder makes the messages of the host's. The payload stays on the device.
 * The host forms the head, whose size is known beforehand. An encoder that will be given residuals
 * needs env.feedback, because it then also plans the inverse transform.
 */

/* Bytes of the scratch that a call needs. */
uint64_t gcb_device_coder_scratch(const struct gcb_coder *c);

/*
 * One message of a batch, and where its arrays are on the device. All arrays are aligned to 256
 * bytes.
 *
 * With a residual (n floats, zero before the first step) error feedback is fused into the encoder:
 * the tensor becomes carry * residual + tensor, that sum is encoded, and the residual becomes the
 * sum minus what the decoder will rebuild. The result is bit for bit that of
 * src/lib/memory/memory.h with kind ef and decay `carry`.
 */
struct gcb_device_message {
    struct gcb_device_batch *batch;
    unsigned i;           /* index in the batch */
    float *in_dev;        /* the tensor, needed until encode_finish; read-only without residual */
    uint8_t *payload_dev; /* max_payload bytes */
    float *residual_dev;  /* the residual, or NULL */
    float carry;
};

/* Queues the encoding. Never waits and never allocates. GCB_E_MISMATCH: there is a residual, but
 * the coder was made without env.feedback. */
int gcb_device_coder_encode_async(struct gcb_coder *c, const struct gcb_step *at,
                                  const struct gcb_device_message *m, struct gcb_diag *diag);

/*
 * Call it after gcb_device_batch_finish. Fills the frame of the message. If the payload is longer
 * than the raw tensor, or the method cannot encode the tensor, this queues the raw tensor instead.
 * GCB_E_NONFINITE: the tensor has an infinity or NaN, and the coder was made with
 * GCB_NONFINITE_ERROR.
 */
int gcb_device_coder_encode_finish(struct gcb_coder *c, const struct gcb_device_message *m,
                                   struct gcb_frame *frame, struct gcb_diag *diag);

/* Appends the whole message to `out` and waits for it. The checksum field, if any, is reserved. */
int gcb_device_coder_fetch(struct gcb_coder *c, const struct gcb_device_message *m,
                           const struct gcb_frame *frame, struct gcb_wbuf *out,
                           struct gcb_diag *diag);

/* Queues the decoding of a payload that is already on the device; `frame` is its parsed head.
 * GCB_E_MISMATCH: gcb_device_coder_accepts is false. decode_finish, called after
 * gcb_device_batch_finish, returns the outcome. */
int gcb_device_coder_decode_async(struct gcb_coder *c, const struct gcb_frame *frame,
                                  const uint8_t *payload_dev, float *out_dev,
                                  const struct gcb_device_message *m, struct gcb_diag *diag);
int gcb_device_coder_decode_finish(struct gcb_coder *c, const struct gcb_device_message *m,
                                   struct gcb_diag *diag);

/*
 * For sums of messages (src/lib/sum/device_sum.h). True if the decoder can add messages without
 * decoding them. The bytes of its canvas (struct gcb_device_sum_ops); 0: none. True if two decoders
 * have the same canvas.
 */
bool gcb_device_coder_adds(const struct gcb_coder *c);
uint64_t gcb_device_coder_canvas(const struct gcb_coder *c);
bool gcb_device_coder_same_canvas(const struct gcb_coder *a, const struct gcb_coder *b);
/* For a decoder that adds: queues the addition of a payload that the decoder accepts, and the
 * transform of a canvas. The outcome of an addition is that of gcb_device_coder_decode_finish, or
 * GCB_E_MISMATCH. */
int gcb_device_coder_add_async(struct gcb_coder *c, const struct gcb_frame *frame,
                               const uint8_t *payload_dev, const struct gcb_device_addition *to,
                               const struct gcb_device_message *m, struct gcb_diag *diag);
int gcb_device_coder_inverse_async(struct gcb_coder *c, void *canvas_dev, float *out_dev,
                                   const struct gcb_device_message *m, struct gcb_diag *diag);

/* The codec's operations for an all-reduce (src/lib/exchange/device_reduce.h), or NULL. */
const struct gcb_device_reduce_ops *gcb_device_coder_reduce(const struct gcb_coder *c);

/*
 * Groups of messages. A network has many small tensors, and launching a kernel takes longer than
 * the work on a small tensor. So a group of messages is encoded by as few launches as a single
 * message. Neighbouring messages with the same method and parameters form a group if the codec
 * supports groups: the baselines and the quantisers with codes of fixed width do, codecs with a
 * selection or with codes of variable length do not. The messages are those of single calls, byte
 * for byte.
 *
 * A group costs one copy of about 100 bytes a message to the device, out of pinned memory that the
 * batch holds.
 */

/* True if one group can hold the messages of both coders; with a == b, if the codec can encode
 * groups at all. */
bool gcb_device_group_takes(const struct gcb_coder *a, const struct gcb_coder *b);

/* Bytes of scratch with which a batch of all these coders makes the fewest groups. With less
 * scratch there are more groups. The scratch must be at least what each coder needs by itself. */
uint64_t gcb_device_group_scratch(struct gcb_coder *const coders[], size_t count);

/*
 * As gcb_device_coder_encode_async for `count` messages of one batch, each with its coder (one
 * coder may serve several messages). Never waits and never allocates. After a failure some of the
 * messages are queued.
 */
int gcb_device_group_encode_async(struct gcb_coder *const coders[], const struct gcb_step *at,
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag);

/* A message to decode: its parsed frame, its payload on the device, and where its floats go. */
struct gcb_device_received {
    const struct gcb_frame *frame;
    const uint8_t *payload_dev;
    float *out_dev;
};

/* As gcb_device_coder_decode_async for each message; received[i] belongs to messages[i]. A stored
 * message is decoded by itself. */
int gcb_device_group_decode_async(struct gcb_coder *const coders[],
                                  const struct gcb_device_received received[],
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag);

#endif
