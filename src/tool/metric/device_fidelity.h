#ifndef SRC_TOOL_METRIC_DEVICE_FIDELITY_H
#define SRC_TOOL_METRIC_DEVICE_FIDELITY_H

#include "src/lib/device/batch.h"
#include "src/tool/metric/fidelity.h"

/* Bytes of scratch that the batch needs for tensors of n elements. */
uint64_t gcb_device_fidelity_scratch(const struct gcb_device *device, uint64_t n);

/*
 * Does the work of gcb_fidelity_add for two tensors on the device, and waits for it. The sums of one tensor have the
 * same bits as on the CPU. They are then merged into `f`, so a total over several tensors may differ from the CPU's
 * total in the last bits. Returns GCB_E_INTERNAL if the batch has too little scratch.
 */
int gcb_device_fidelity_add(struct gcb_fidelity *f, struct gcb_device_batch *b, const float *x_dev,
                            const float *y_dev, uint64_t n, struct gcb_diag *diag);

#endif
