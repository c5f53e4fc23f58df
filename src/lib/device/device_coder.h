#ifndef SRC_LIB_DEVICE_DEVICE_CODER_H
#define SRC_LIB_DEVICE_DEVICE_CODER_H

#include "src/lib/codec/coder.h"
#include "src/lib/device/batch.h"

/*
 * A method bound to one tensor on a device: what struct gcb_coder is on the CPU (src/lib/codec/coder.h), with the same
 * messages. The payload stays on the device; its head, of known size, is formed on the host. Not thread-safe.
 */
struct gcb_device_coder;

/*
 * As gcb_coder_create and gcb_coder_create_decoder; config->env.kernels and queue are not used. An encoder that will be
 * given residuals needs env.feedback, or lacks the plans of its own decoder. GCB_E_UNSUPPORTED, with words: the method,
 * or what its parameters ask for, runs on the CPU only. `device` is borrowed.
 */
int gcb_device_coder_create(struct gcb_device_coder **out, const struct gcb_device *device,
                            const struct gcb_method *method, const struct gcb_coder_config *config,
                            struct gcb_diag *diag);
int gcb_device_coder_create_decoder(struct gcb_device_coder **out, const struct gcb_device *device,
                                    const void *message, size_t length,
                                    const struct gcb_coder_config *config, struct gcb_diag *diag);
void gcb_device_coder_destroy(struct gcb_device_coder *c); /* NULL is fine */

/* Bytes: scratch of a call; a payload at its longest, raw tensors included; a message at its longest. */
uint64_t gcb_device_coder_scratch(const struct gcb_device_coder *c);
uint64_t gcb_device_coder_max_payload(const struct gcb_device_coder *c);
uint64_t gcb_device_coder_bound(const struct gcb_device_coder *c);

/*
 * One message of a batch: where it stands on the device. All arrays are aligned to 256 bytes.
 *
 * With a residual (n floats, zero before the first step), error feedback is fused: the tensor becomes
 * carry * residual + tensor, which is what is encoded, and the residual what the decoder will not get of it; bit for
 * bit as src/lib/memory/memory.h's kind ef with decay `carry`, around this coder.
 */
struct gcb_device_message {
    struct gcb_device_batch *batch;
    unsigned i; /* which of the batch's */
    float
        *in_dev; /* the tensor: needed until encode_finish; unchanged where there is no residual */
    uint8_t *payload_dev; /* max_payload bytes */
    float *residual_dev;  /* or NULL */
    float carry;
};

/* Queues the encoding. Never waits and never allocates. GCB_E_MISMATCH: a residual, and the coder was made without
 * env.feedback. */
int gcb_device_coder_encode_async(struct gcb_device_coder *c, const struct gcb_step *at,
                                  const struct gcb_device_message *m, struct gcb_diag *diag);

/*
 * After gcb_device_batch_finish: fills the frame of the message. A payload that was too long, or a tensor that the
 * method cannot take, is replaced by the raw tensor, which is queued only then. GCB_E_NONFINITE by the policy.
 */
int gcb_device_coder_encode_finish(struct gcb_device_coder *c, const struct gcb_device_message *m,
                                   struct gcb_frame *frame, struct gcb_diag *diag);

/* Appends the whole message to `out`, payload and all; waits. The checksum field, if any, is reserved. */
int gcb_device_coder_fetch(struct gcb_device_coder *c, const struct gcb_device_message *m,
                           const struct gcb_frame *frame, struct gcb_wbuf *out,
                           struct gcb_diag *diag);

/* As gcb_coder_accepts. */
bool gcb_device_coder_accepts(const struct gcb_device_coder *c, const struct gcb_frame *frame);

/* Queues the decoding of a payload, on the device already, with its parsed frame. GCB_E_MISMATCH: not a message of
 * this coder's kind. Then, after gcb_device_batch_finish, how it ended. */
int gcb_device_coder_decode_async(struct gcb_device_coder *c, const struct gcb_frame *frame,
                                  const uint8_t *payload_dev, float *out_dev,
                                  const struct gcb_device_message *m, struct gcb_diag *diag);
int gcb_device_coder_decode_finish(struct gcb_device_coder *c, const struct gcb_device_message *m,
                                   struct gcb_diag *diag);

/* Of the message that encode_finish was last called for: elements clamped. */
uint64_t gcb_device_coder_clamped(const struct gcb_device_coder *c);

#endif
