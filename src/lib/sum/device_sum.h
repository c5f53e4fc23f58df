#ifndef SRC_LIB_SUM_DEVICE_SUM_H
#define SRC_LIB_SUM_DEVICE_SUM_H

#include "src/lib/coder/device_coder.h"

/*
 * The weighted sum of messages whose payloads are on the device: struct gcb_sum (src/lib/sum/sum.h)
 * with its two accumulators in device memory. The result is the CPU's, bit for bit, except that a
 * transform differs as much as in a decoder (docs/gpu.md). Additions are made in the order of the
 * calls.
 *
 * A sparse message costs work for its kept positions only, plus one inverse transform for all
 * messages at the end; other messages are decoded into scratch and added. Each call waits for the
 * device. Not thread-safe.
 */
struct gcb_device_sum;

/* A sum of messages of this method, with config->env.count elements. `device` is borrowed. Errors
 * are those of gcb_coder_create. */
int gcb_device_sum_create(struct gcb_device_sum **out, const struct gcb_device *device,
                          const struct gcb_method *method, const struct gcb_coder_config *config,
                          struct gcb_diag *diag);
void gcb_device_sum_destroy(struct gcb_device_sum *s); /* NULL is fine */

/*
 * Adds `weight` times the tensor of a message: its parsed frame, and its payload in device memory,
 * which may be hostile and whose writing has been waited for. The payload is checked before
 * anything is added, its checksum is not. After a failure the sum is as before, except after
 * GCB_E_DEVICE. GCB_E_MISMATCH: another number of elements; GCB_E_INVALID: the weight is not
 * finite; otherwise the errors of gcb_coder_create_decoder and of decoding.
 */
int gcb_device_sum_add(struct gcb_device_sum *s, const struct gcb_frame *frame,
                       const uint8_t *payload_dev, float weight, struct gcb_diag *diag);

/* Writes the sum to out_dev (aligned to 256). Then a new sum begins at zero. Without a message the
 * sum is zero. */
int gcb_device_sum_finish(struct gcb_device_sum *s, float *out_dev, struct gcb_diag *diag);

#endif
