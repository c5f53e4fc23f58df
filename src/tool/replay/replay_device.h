#ifndef SRC_TOOL_REPLAY_REPLAY_DEVICE_H
#define SRC_TOOL_REPLAY_REPLAY_DEVICE_H

#include "src/lib/codec/method.h"
#include "src/lib/device/load.h"
#include "src/tool/trial/device_check.h"

/*
 * The device's part of a replay. Workers' memories and encoders are on the device, and so is the receiver's decoder.
 * The replay does the same on the CPU. Each step compares the device's memory output, message, decoded tensor and
 * residual with the CPU's. GCB_E_UNVERIFIED with a message: they differ.
 */
struct gcb_replay_device;

/* Allocates space for messages of up to `largest` elements. `device` is borrowed. GCB_E_NOMEM, GCB_E_DEVICE. After a
 * failure *out must be destroyed too. */
int gcb_replay_device_create(struct gcb_replay_device **out, const struct gcb_device *device,
                             uint64_t largest, struct gcb_diag *diag);
/* Call this after gcb_replay_device_end for all workers. NULL is fine. */
void gcb_replay_device_destroy(struct gcb_replay_device *d);

/* One worker's part of one message; starts zeroed. */
struct gcb_replay_device_worker {
    struct gcb_device_memory *memory;
    struct gcb_device_coder *encoder; /* NULL until gcb_replay_device_encoder */
    float *encoded_dev;               /* the memory's output in this step; NULL: nothing is sent */
};

int gcb_replay_device_start(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                            const struct gcb_memory_params *params, uint64_t count,
                            uint32_t workers, struct gcb_diag *diag);
/* Makes the encoder, with the same configuration as the CPU's encoder. */
int gcb_replay_device_encoder(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                              const struct gcb_method *method,
                              const struct gcb_coder_config *config, struct gcb_diag *diag);
/* Destroys the encoder, because its parameters have changed. */
void gcb_replay_device_forget(struct gcb_replay_device_worker *w);
void gcb_replay_device_end(struct gcb_replay_device_worker *w);

/* Begins a step: adds `gradient` to the memory. `expected` is the output of the CPU's memory; NULL: nothing is sent. */
int gcb_replay_device_compensate(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                                 const struct gcb_view *gradient, const float *expected,
                                 struct gcb_diag *diag);
/*
 * gcb_replay_device_encode encodes the memory's output, and gcb_replay_device_decode decodes that message into
 * `decoded`. check->message is set to the message, which is valid until the next encoding; so are scratch and coders of
 * the check. check->expected is the CPU's message.
 */
int gcb_replay_device_encode(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                             const struct gcb_step *at, struct gcb_device_check *check,
                             uint64_t *clamped, struct gcb_diag *diag);
int gcb_replay_device_decode(struct gcb_replay_device *d, const struct gcb_device_check *check,
                             float *decoded, struct gcb_diag *diag);
/* Ends the step: updates the memory with the decoded tensor, if a message was sent. `expected` is the CPU's residual,
 * or NULL. */
int gcb_replay_device_update(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                             const float *expected, uint64_t count, struct gcb_diag *diag);

#endif
