#ifndef SRC_LIB_SUM_DEVICE_SUM_H
#define SRC_LIB_SUM_DEVICE_SUM_H

#include "src/lib/coder/device_coder.h"

/*
 * The weighted sum of messages whose payloads are on the device. It has the two accumulators of
 * struct gcb_sum (src/lib/sum/sum.h), but in device memory. The result is that of the CPU, bit for
 * bit, except that a transform differs as much as in a decoder (docs/gpu.md). Additions are in the
 * order of the calls.
 *
 * Adding a sparse message takes work only for its kept positions. A sum of such messages needs one
 * inverse transform in the end. Other messages are decoded to scratch and added. Each call waits
 * for the device. Not thread-safe.
 */
struct gcb_device_sum;

/* Makes a sum of messages of this method, with config->env.count elements. `device` is borrowed.
 * The caller frees *out with gcb_device_sum_destroy. Returns 0 or an error of gcb_coder_create. */
int gcb_device_sum_create(struct gcb_device_sum **out, const struct gcb_device *device,
                          const struct gcb_method *method, const struct gcb_coder_config *config,
                          struct gcb_diag *diag);
void gcb_device_sum_destroy(struct gcb_device_sum *s); /* NULL is fine */

/*
 * Adds `weight` times the tensor of a message. `frame` is the message's parsed frame. The payload
 * may be hostile, and the caller has waited until it was written. The payload is checked before
 * anything is added; the checksum is not checked. After an error the sum is as before, except after
 * GCB_E_DEVICE. Returns 0 or:
 *   GCB_E_MISMATCH  the message has another number of elements
 *   GCB_E_INVALID   the weight is not finite
 *   or an error of gcb_coder_create_decoder or gcb_coder_decode
 */
int gcb_device_sum_add(struct gcb_device_sum *s, const struct gcb_frame *frame,
                       const uint8_t *payload_dev, float weight, struct gcb_diag *diag);

/* Writes the sum to out_dev (aligned to 256 bytes), and begins a new sum at zero. Without a message
 * the sum is zero. Returns 0 or an error; after an error the sum goes on. */
int gcb_device_sum_finish(struct gcb_device_sum *s, float *out_dev, struct gcb_diag *diag);

#endif
