#ifndef SRC_LIB_EXCHANGE_DEVICE_REDUCE_H
#define SRC_LIB_EXCHANGE_DEVICE_REDUCE_H

#include "src/gcbench.h"
#include "src/lib/coder/device_coder.h"

/*
 * One worker's part in an all-reduce of tensors on a device: src/lib/exchange/allreduce.c with the
 * tensor, the values and the results in device memory. Values and results are the CPU's, bit for
 * bit, so workers on devices and on CPUs may take part together. The caller combines the values,
 * and has the worker's memory (src/lib/memory/device_memory.h). In a step:
 *
 *     gcb_device_reduce_begin(r, &at, x_dev);
 *     while (gcb_device_reduce_next(r, &round, diag) == 1)
 *         gcb_device_reduce_receive(r, combined_dev, diag);      round.data of all workers, combined
 *     gcb_device_reduce_conclude(r, update_dev, own_dev, diag);
 *
 * next, receive and conclude wait for the device. Arrays are aligned to 256. Not thread-safe.
 */
struct gcb_device_reduce;

/*
 * config->env.workers workers take part; `weight` is of this worker's tensor. `device` is borrowed.
 * GCB_E_UNSUPPORTED: the method has no all-reduce on a device. GCB_E_INVALID: too many workers for
 * the method. Otherwise the errors of gcb_coder_create.
 */
int gcb_device_reduce_create(struct gcb_device_reduce **out, const struct gcb_device *device,
                             const struct gcb_method *method, const struct gcb_coder_config *config,
                             float weight, struct gcb_diag *diag);
void gcb_device_reduce_destroy(struct gcb_device_reduce *r); /* NULL is fine */

/* Begins a step. x_dev (env.count floats) is needed until conclude. */
void gcb_device_reduce_begin(struct gcb_device_reduce *r, const struct gcb_step *at,
                             const float *x_dev);

/*
 * Returns 1 and fills `round`, whose `data` is device memory that stays valid until the next call;
 * or 0 if no round is left. GCB_E_NONFINITE: x has an infinity or NaN, and the config's nonfinite
 * is GCB_NONFINITE_ERROR. With GCB_NONFINITE_RAW, such a tensor makes the values infinities or
 * NaNs, as on the CPU. GCB_E_DEVICE.
 */
int gcb_device_reduce_next(struct gcb_device_reduce *r, struct gcb_round *round,
                           struct gcb_diag *diag);
/* Takes the combined values of the round, as many bytes as round.bytes; any values are safe. Those
 * of the last round are needed until conclude. GCB_E_DEVICE. */
int gcb_device_reduce_receive(struct gcb_device_reduce *r, const void *combined_dev,
                              struct gcb_diag *diag);
/* Writes the update and, unless own_dev is NULL, the part of x that it contains, without the
 * weight. If combined floats were not finite, the update is NaNs and the part 0. GCB_E_DEVICE. */
int gcb_device_reduce_conclude(struct gcb_device_reduce *r, float *update_dev, float *own_dev,
                               struct gcb_diag *diag);

/* After conclude: tells whether a combined float was an infinity or NaN. */
bool gcb_device_reduce_spoilt(const struct gcb_device_reduce *r);
/* Number of elements that the step clamped. */
uint64_t gcb_device_reduce_clamped(const struct gcb_device_reduce *r);

#endif
