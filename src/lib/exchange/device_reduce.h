#ifndef SRC_LIB_EXCHANGE_DEVICE_REDUCE_H
#define SRC_LIB_EXCHANGE_DEVICE_REDUCE_H

#include "src/gcbench.h"
#include "src/lib/coder/device_coder.h"

/*
 * One worker's part in an all-reduce of tensors on a device. It does what
 * src/lib/exchange/allreduce.c does, but the tensor, the values and the results are in device
 * memory. Values and results are the same as on the CPU, bit for bit. So workers on devices and
 * workers on CPUs may take part together. The caller combines the values, and keeps the worker's
 * memory (src/lib/memory/device_memory.h). A step:
 *
 *     gcb_device_reduce_begin(r, &at, x_dev);
 *     while (gcb_device_reduce_next(r, &round, diag) == 1)
 *         gcb_device_reduce_receive(r, combined_dev, diag);      round.data of all workers, combined
 *     gcb_device_reduce_conclude(r, update_dev, own_dev, diag);
 *
 * next, receive and conclude wait for the device. Arrays are aligned to 256 bytes. Not thread-safe.
 */
struct gcb_device_reduce;

/*
 * Makes the part of a worker among config->env.workers workers. `weight` is this worker's weight.
 * `device` is borrowed. The caller frees *out with gcb_device_reduce_destroy. Returns 0,
 * GCB_E_UNSUPPORTED if the method has no all-reduce on a device, GCB_E_INVALID if there are too
 * many workers for the method, or an error of gcb_coder_create.
 */
int gcb_device_reduce_create(struct gcb_device_reduce **out, const struct gcb_device *device,
                             const struct gcb_method *method, const struct gcb_coder_config *config,
                             float weight, struct gcb_diag *diag);
void gcb_device_reduce_destroy(struct gcb_device_reduce *r); /* NULL is fine */

/* Begins a step. x_dev (env.count floats) must stay valid and unchanged until conclude. */
void gcb_device_reduce_begin(struct gcb_device_reduce *r, const struct gcb_step *at,
                             const float *x_dev);

/*
 * Fills `round` with what this worker contributes to the next round. round->data is device memory
 * that stays valid until the next call. Returns 1, 0 if no round is left, or an error:
 *   GCB_E_NONFINITE  x has an infinity or NaN, and config->nonfinite is GCB_NONFINITE_ERROR; with
 *                    GCB_NONFINITE_RAW the worker contributes infinities or NaNs instead
 *   GCB_E_DEVICE     the device failed
 */
int gcb_device_reduce_next(struct gcb_device_reduce *r, struct gcb_round *round,
                           struct gcb_diag *diag);
/* Takes the combined values of the round (round.bytes bytes). Any values are safe. The array of the
 * last round must stay valid and unchanged until conclude. Returns 0 or GCB_E_DEVICE. */
int gcb_device_reduce_receive(struct gcb_device_reduce *r, const void *combined_dev,
                              struct gcb_diag *diag);
/* Writes the weighted sum to update_dev. Unless own_dev is NULL, writes the part of x that the sum
 * contains, without the weight, to own_dev. If combined floats were not finite, the update becomes
 * NaNs and the part becomes 0. Returns 0 or GCB_E_DEVICE. */
int gcb_device_reduce_conclude(struct gcb_device_reduce *r, float *update_dev, float *own_dev,
                               struct gcb_diag *diag);

/* After conclude: true if a combined float was an infinity or NaN. */
bool gcb_device_reduce_spoilt(const struct gcb_device_reduce *r);
/* After conclude: number of elements that this worker clamped in the step. */
uint64_t gcb_device_reduce_clamped(const struct gcb_device_reduce *r);

#endif
