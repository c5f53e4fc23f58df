#ifndef SRC_LIB_MEMORY_DEVICE_MEMORY_H
#define SRC_LIB_MEMORY_DEVICE_MEMORY_H

#include "src/lib/codec/method.h"
#include "src/lib/device/batch.h"

/*
 * What src/lib/memory/memory.h is on the CPU, for a worker whose tensors stay on a device: every kind, bit for bit. Momentum,
 * accumulation and masking are passes of their own there; where the kind is ef or demo, a coder that is given the
 * residual (src/lib/device/device_coder.h) has fewer.
 */
struct gcb_device_memory;

/*
 * Zero residuals for `count` elements of one of `workers` workers, in device memory. Work is queued on the stream of the
 * batch, which is borrowed as long as the memory. GCB_E_NOMEM, GCB_E_DEVICE.
 */
int gcb_device_memory_create(struct gcb_device_memory **out, struct gcb_device_batch *b,
                             const struct gcb_memory_params *params, uint64_t count,
                             unsigned workers, struct gcb_diag *diag);
void gcb_device_memory_destroy(
    struct gcb_device_memory *m); /* NULL is fine; waits for the stream */

/*
 * As gcb_memory_compensate and gcb_memory_update, of arrays on the device: both only queue. If that fails, the wait for the
 * stream says so with words. What compensate returns is only to be read.
 */
float *gcb_device_memory_compensate(struct gcb_device_memory *m, float *g_dev);
void gcb_device_memory_update(struct gcb_device_memory *m, const float *sent_dev);

/* What has not been sent yet (count floats on the device), or NULL where nothing is kept. */
const float *gcb_device_memory_residual(const struct gcb_device_memory *m);

#endif
