#ifndef SRC_TOOL_TRIAL_DEVICE_TRIAL_H
#define SRC_TOOL_TRIAL_DEVICE_TRIAL_H

#include "src/tool/trial/trial.h"

/* Like gcb_trial_group, for b->config.device. */
size_t gcb_device_trial_group(struct gcb_trial_bench *b, const struct gcb_method *method,
                              const struct gcb_trial_input in[], size_t count);

/*
 * Like gcb_trial_run_group, on b->config.device. Tensors are uploaded once, and one call encodes all messages. The call is
 * timed twice: by the clock, from the first queued work until the host knows all lengths; and by the device's events
 * around the queued work. (If a tensor must be sent raw after all, the events include the wait before that.) Decoding is
 * timed in the same way, and copies between host and device separately (docs/method.md). With config.timing.evict the
 * device's caches are flushed before each timed call.
 *
 * The error is measured on the device. Messages, values and errors from the device are compared with the CPU's, untimed
 * (src/tool/trial/device_check.h). GCB_E_UNVERIFIED: they differ; GCB_E_UNSUPPORTED: the method does not run on a device;
 * GCB_E_BACKEND: a library that the method needs on the device is missing.
 */
int gcb_device_trial(struct gcb_trial_bench *b, const struct gcb_method *method,
                     const struct gcb_trial_input in[], size_t count,
                     const struct gcb_trial_taker *taker, struct gcb_diag *diag);

/* What trials on a device keep for later trials. */
struct gcb_device_bench;
void gcb_device_bench_destroy(struct gcb_device_bench *d); /* NULL is fine */

#endif
