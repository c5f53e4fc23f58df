#ifndef SRC_LIB_CODER_DEVICE_CODER_H
#define SRC_LIB_CODER_DEVICE_CODER_H

#include "src/lib/coder/coder.h"
#include "src/lib/device/place.h"

/*
 * Encoding and decoding by coders with a place (struct gcb_coder_config), as work that is only
 * queued. So the caller can queue many messages and wait once. The messages are those of a coder on
 * the host, except with GCB_CAP_DEVICE_MATH. The payload stays on the device. The host makes the
 * header, whose size is known beforehand. If an encoder will get residuals, it must be made with
 * env.feedback, so that it also plans the inverse transform.
 */

/* Bytes of scratch that the batch must have for a message of this coder. */
uint64_t gcb_device_coder_scratch(const struct gcb_coder *c);

/*
 * One message of a batch, and its arrays on the device. All arrays are aligned to 256 bytes.
 *
 * With a residual (as many floats as the tensor has, zero before the first step), error feedback is
 * fused into the encoder: the tensor becomes carry * residual + tensor, this sum is encoded, and
 * the residual becomes the sum minus what a decoder will rebuild. The results are those of
 * src/lib/memory/memory.h with kind ef and decay `carry`, bit for bit.
 */
struct gcb_device_message {
    struct gcb_device_batch *batch;
    unsigned i; /* index in the batch */
    /* The tensor to encode. Not changed without a residual. Must stay valid until the work that
     * encode_finish may queue has ended. */
    float *in_dev;
    uint8_t *payload_dev; /* gcb_coder_max_payload bytes */
    float *residual_dev;  /* the residual; NULL: no error feedback */
    float carry;          /* the residual's factor */
};

/* Queues the encoding. Never waits and never allocates. Returns 0, GCB_E_DEVICE, GCB_E_NOMEM,
 * GCB_E_MISMATCH if c is a decoder or the message has a residual but c was made without
 * env.feedback, or an error of gcb_device_batch_call. */
int gcb_device_coder_encode_async(struct gcb_coder *c, const struct gcb_step *at,
                                  const struct gcb_device_message *m, struct gcb_diag *diag);

/*
 * After gcb_device_batch_finish: fills the frame of the message. If the payload is longer than the
 * raw tensor, the method cannot encode the tensor, or it has an infinity or NaN and the coder was
 * made with GCB_NONFINITE_RAW, queues the raw tensor as the payload instead. Returns 0,
 * GCB_E_DEVICE, GCB_E_NOMEM, or GCB_E_NONFINITE if the tensor has an infinity or NaN and the coder
 * was made with GCB_NONFINITE_ERROR.
 */
int gcb_device_coder_encode_finish(struct gcb_coder *c, const struct gcb_device_message *m,
                                   struct gcb_frame *frame, struct gcb_diag *diag);

/* Appends the whole message to `out`, and waits for the copy of the payload. The checksum field is
 * reserved, not filled. Returns 0, GCB_E_NOSPACE, GCB_E_DEVICE or GCB_E_NOMEM. */
int gcb_device_coder_fetch(struct gcb_coder *c, const struct gcb_device_message *m,
                           const struct gcb_frame *frame, struct gcb_wbuf *out,
                           struct gcb_diag *diag);

/* Queues the decoding of a payload on the device to out_dev. `frame` is the message's parsed frame.
 * Only m->batch and m->i are used. Returns 0, GCB_E_CORRUPT, GCB_E_DEVICE, GCB_E_NOMEM,
 * GCB_E_MISMATCH if the coder does not accept the frame, or an error of gcb_device_batch_call. */
int gcb_device_coder_decode_async(struct gcb_coder *c, const struct gcb_frame *frame,
                                  const uint8_t *payload_dev, float *out_dev,
                                  const struct gcb_device_message *m, struct gcb_diag *diag);
/* After gcb_device_batch_finish: returns 0, or GCB_E_CORRUPT if the payload was damaged. */
int gcb_device_coder_decode_finish(struct gcb_coder *c, const struct gcb_device_message *m,
                                   struct gcb_diag *diag);

/*
 * ---- groups of messages ----
 *
 * A network has many small tensors, and launching a kernel takes longer than the work on a small
 * tensor. So a group of messages is encoded or decoded by as few launches as a single message.
 * Neighbouring messages with the same method and parameters form groups, as far as the batch's
 * scratch and tables and GCB_DEVICE_GROUP_ELEMENTS allow, if the codec supports groups. The
 * baselines do, and the quantisers with codes of fixed width. Codecs with a selection or with codes
 * of variable length do not. The messages are those of single calls, byte for byte.
 *
 * A group costs one copy of about 100 bytes per message to the device, from pinned memory of the
 * batch.
 */

/* True if messages of both coders may be in one group. With a == b: true if the codec supports
 * groups at all. */
bool gcb_device_group_takes(const struct gcb_coder *a, const struct gcb_coder *b);

/* Bytes of scratch with which a batch of all these coders has the fewest groups. A batch with less
 * scratch may have more groups. The scratch must be at least gcb_device_coder_scratch of each
 * coder. */
uint64_t gcb_device_group_scratch(struct gcb_coder *const coders[], size_t count);

/*
 * Does what gcb_device_coder_encode_async does, for `count` messages of one batch. coders[i]
 * belongs to messages[i]; one coder may serve several messages. Never waits and never allocates.
 * After an error some of the messages may be queued.
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

/* Does what gcb_device_coder_decode_async does, for `count` messages of one batch. coders[i] and
 * received[i] belong to messages[i]. A stored message is in no group. */
int gcb_device_group_decode_async(struct gcb_coder *const coders[],
                                  const struct gcb_device_received received[],
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag);

#endif
