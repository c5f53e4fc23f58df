#ifndef SRC_LIB_DEVICE_DEVICE_GROUP_H
#define SRC_LIB_DEVICE_DEVICE_GROUP_H

#include "src/lib/device/device_coder.h"

/*
 * The messages of a step, one for each tensor, by as few launches as one of them takes: neighbours of the same method
 * and parameters are encoded together, where the codec can (the quantisers at fixed widths and the baselines; what has
 * a selection or a code of variable length goes one by one). Messages are those of single calls, byte for byte.
 *
 * Each group costs one copy of about 100 bytes a message to the device, out of pinned memory that the batch holds.
 */

/* Scratch with which a batch of all these coders makes the fewest groups. With less, there are more of them; each
 * coder's own is the least. */
uint64_t gcb_device_group_scratch(struct gcb_device_coder *const coders[], size_t count);

/*
 * gcb_device_coder_encode_async for each of `count` messages, all of one batch and each with a coder of its own (one
 * coder may serve several, as there). Never waits and never allocates. On failure some of them are queued.
 */
int gcb_device_group_encode_async(struct gcb_device_coder *const coders[],
                                  const struct gcb_step *at,
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag);

/* A message to decode: its parsed frame, its payload on the device, and where its floats go. */
struct gcb_device_received {
    const struct gcb_frame *frame;
    const uint8_t *payload_dev;
    float *out_dev;
};

/* gcb_device_coder_decode_async for each; received[i] is messages[i]. Stored messages go one by one. */
int gcb_device_group_decode_async(struct gcb_device_coder *const coders[],
                                  const struct gcb_device_received received[],
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag);

#endif
