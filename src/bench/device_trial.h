#ifndef SRC_BENCH_DEVICE_TRIAL_H
#define SRC_BENCH_DEVICE_TRIAL_H

#include "src/bench/trial.h"

/*
 * gcb_trial_run on b->config.device. The tensor is uploaded once. Encoding is timed twice over in the same call: by
 * the clock, from the first thing queued until the message's length is known on the host, and by the device's events
 * around what was queued. Decoding alike. Bytes between host and device are timed apart (docs/method.md). With
 * config.timing.evict the device's caches are flushed before each timed call.
 *
 * Untimed, the device is held against the CPU: its message is the CPU encoder's, byte for byte, and what it decodes is
 * what the CPU's decoder makes of it, bit for bit (of a method with GCB_CAP_LIBRARY_MATH, within 1e-6 of its norm, and
 * bytes are not compared). GCB_E_UNVERIFIED, with words, where it is not; GCB_E_UNSUPPORTED where the method does
 * not run on a device.
 */
int gcb_device_trial(struct gcb_trial_bench *b, struct gcb_tally *out,
                     const struct gcb_method *method, const struct gcb_trial_input *in,
                     const struct gcb_coder_config *config, struct gcb_diag *diag);

/*
 * Bytes read and bytes written, a second, of copies within the device between two buffers that its caches do not
 * hold, in GB/s: the median of ten. GCB_E_NOMEM, GCB_E_DEVICE.
 */
int gcb_device_copy_gbps(double *out, const struct gcb_device *device, struct gcb_diag *diag);

#endif
