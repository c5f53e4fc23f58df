#ifndef SRC_TOOL_REPLAY_REPLAY_DEVICE_H
#define SRC_TOOL_REPLAY_REPLAY_DEVICE_H

#include "src/lib/codec/method.h"
#include "src/lib/device/load.h"
#include "src/tool/trial/device_check.h"

/*
 * The device's part of a replay. Workers' memories are on the device. So are, in an all-gather, their encoders and the
 * receiver's decoder; in an all-reduce, what workers contribute, the update, and what arrived. The replay does the same on
 * the CPU. Each step compares the device's memory output, message and decoded tensor, or update and what arrived, and
 * residual with the CPU's. GCB_E_UNVERIFIED with a message: they differ.
 */
struct gcb_replay_device;

/* Allocates space for messages of up to `largest` elements. `reduces`: for all-reduces, not all-gathers. `device` is
 * borrowed. GCB_E_NOMEM, GCB_E_DEVICE. After a failure *out must be destroyed too. */
int gcb_replay_device_create(struct gcb_replay_device **out, const struct gcb_device *device,
                             uint64_t largest, bool reduces, struct gcb_diag *diag);
bool gcb_replay_device_reduces(const struct gcb_replay_device *d);
/* Call this after gcb_replay_device_end for all workers. NULL is fine. */
void gcb_replay_device_destroy(struct gcb_replay_device *d);

/* One worker's part of one message; starts zeroed. */
struct gcb_replay_device_worker {
    struct gcb_device_memory *memory;
    struct gcb_device_coder *encoder; /* NULL until gcb_replay_device_encoder */
    struct gcb_device_reduce *reduce; /* NULL until gcb_replay_device_join */
    float *gradient_dev; /* in an all-reduce, which needs it until the end of the step */
    float *encoded_dev;  /* the memory's output in this step; NULL: nothing is sent */
};

int gcb_replay_device_start(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                            const struct gcb_memory_params *params, uint64_t count,
                            uint32_t workers, struct gcb_diag *diag);
/* Makes the encoder, with the same configuration as the CPU's encoder. */
int gcb_replay_device_encoder(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                              const struct gcb_method *method,
                              const struct gcb_coder_config *config, struct gcb_diag *diag);
/* Destroys the encoder or the part in the all-reduce, because its parameters have changed. */
void gcb_replay_device_forget(struct gcb_replay_device_worker *w);
void gcb_replay_device_end(struct gcb_replay_device *d, struct gcb_replay_device_worker *w);

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

/* The same for an all-reduce. `config` has env.workers; `weight` is the worker's. */
int gcb_replay_device_join(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                           const struct gcb_method *method, const struct gcb_coder_config *config,
                           float weight, struct gcb_diag *diag);
struct gcb_replay_worker;
/* After gcb_replay_device_compensate of all workers: runs all rounds of their all-reduce. The host combines the values. */
int gcb_replay_device_rounds(struct gcb_replay_device *d, struct gcb_replay_worker *workers,
                             uint32_t count, uint64_t step, struct gcb_diag *diag);
/* Concludes a worker's all-reduce. `own` is what arrived on the CPU, and `update` the CPU's, for `count` elements; *clamped
 * becomes the elements that the device clamped. */
int gcb_replay_device_conclude(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                               const float *update, const float *own, uint64_t count,
                               uint64_t *clamped, struct gcb_diag *diag);

/* Ends the step: updates the memory with the decoded tensor, if a message was sent. `expected` is the CPU's residual,
 * or NULL. */
int gcb_replay_device_update(struct gcb_replay_device *d, struct gcb_replay_device_worker *w,
                             const float *expected, uint64_t count, struct gcb_diag *diag);

#endif
