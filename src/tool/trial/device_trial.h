#ifndef SRC_TOOL_TRIAL_DEVICE_TRIAL_H
#define SRC_TOOL_TRIAL_DEVICE_TRIAL_H

#include "src/tool/trial/trial.h"

/*
 * gcb_trial_run on b->config.device. The tensor is uploaded once. Encoding is timed twice over in the same call: by
 * the clock, from the first thing queued until the message's length is known on the host, and by the device's events
 * around what was queued (of a tensor that has to go raw after all, with the wait before that). Decoding alike. Bytes between host and device are timed apart (docs/method.md). With
 * config.timing.evict the device's caches are flushed before each timed call.
 *
 * The error is measured on the device, where both tensors are. Untimed, all that the device made is held against the
 * CPU (src/tool/trial/device_check.h). GCB_E_UNVERIFIED, with words, where it is not the CPU's; GCB_E_UNSUPPORTED where the
 * method does not run on a device, GCB_E_BACKEND where a library that it needs there is not found.
 */
int gcb_device_trial(struct gcb_trial_bench *b, struct gcb_tally *out,
                     const struct gcb_method *method, const struct gcb_trial_input *in,
                     const struct gcb_coder_config *config, struct gcb_diag *diag);

#endif
