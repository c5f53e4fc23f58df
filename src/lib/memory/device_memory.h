#ifndef SRC_LIB_MEMORY_DEVICE_MEMORY_H
#define SRC_LIB_MEMORY_DEVICE_MEMORY_H

#include "src/lib/codec/method.h"
#include "src/lib/device/batch.h"

/*
 * The memory of src/lib/memory/memory.h for a worker whose tensors stay on a device. It has all
 * kinds except gmc, and the same results, bit for bit. Momentum, accumulation and masking are
 * separate passes over the arrays. For ef and demo, a coder that gets the residual
 * (src/lib/coder/device_coder.h) needs fewer passes.
 */
struct gcb_device_memory;

/*
 * Makes the memory of one of `workers` workers for `count` elements, all zero, on the device. Work
 * is queued on the stream of the batch b, which must exist as long as the memory. Returns 0,
 * GCB_E_NOMEM, GCB_E_DEVICE, or GCB_E_UNSUPPORTED for gmc.
 */
int gcb_device_memory_create(struct gcb_device_memory **out, struct gcb_device_batch *b,
                             const struct gcb_memory_params *params, uint64_t count,
                             unsigned workers, struct gcb_diag *diag);
/* Waits for the stream. NULL is fine. */
void gcb_device_memory_destroy(struct gcb_device_memory *m);

/* Does what gcb_memory_set_norm does. Waits for the stream. Returns 0 or GCB_E_DEVICE. */
int gcb_device_memory_set_norm(struct gcb_device_memory *m, double norm, struct gcb_diag *diag);

/*
 * Do what gcb_memory_compensate and gcb_memory_update do, for arrays on the device. Both only queue
 * work; waiting for the stream reports a failure. The caller must not write to the array that
 * compensate returns.
 */
float *gcb_device_memory_compensate(struct gcb_device_memory *m, float *g_dev);
void gcb_device_memory_update(struct gcb_device_memory *m, const float *sent_dev);

/* Returns what has not been sent yet (count floats on the device), or NULL if nothing is kept. */
const float *gcb_device_memory_residual(const struct gcb_device_memory *m);

#endif
