#ifndef SRC_TOOL_TRIAL_DEVICE_TRIAL_H
#define SRC_TOOL_TRIAL_DEVICE_TRIAL_H

#include "src/tool/trial/trial.h"

/* As gcb_trial_group, on b->config.device. */
size_t gcb_device_trial_group(const struct gcb_trial_bench *b, const struct gcb_method *method,
                              const struct gcb_trial_input in[], size_t count);

/*
 * As gcb_trial_run_group, on b->config.device. Tensors are uploaded once. One call encodes all messages. It is timed
 * twice: by the clock, from the first queued work until all lengths are known on the host; and by the device's events
 * around the queued work (if a tensor has to go raw after all, with the wait before that). Decoding alike. Copies between
 * host and device are timed apart (docs/method.md). With config.timing.evict the device's caches are flushed before
 * each timed call.
 *
 * The error is measured on the device, where both tensors are. Everything that the device made is compared with the CPU,
 * untimed (src/tool/trial/device_check.h). GCB_E_UNVERIFIED, with words: the device made something else;
 * GCB_E_UNSUPPORTED: the method does not run on a device; GCB_E_BACKEND: a library that it needs there is missing.
 */
int gcb_device_trial(struct gcb_trial_bench *b, const struct gcb_method *method,
                     const struct gcb_trial_input in[], size_t count,
                     const struct gcb_trial_taker *taker, struct gcb_diag *diag);

/* What trials on a device keep for the next ones. */
struct gcb_device_bench;
void gcb_device_bench_destroy(struct gcb_device_bench *d); /* NULL is fine */

#endif
