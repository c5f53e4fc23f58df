#ifndef SRC_LIB_DEVICE_MODULE_SHARED_SCALE_H
#define SRC_LIB_DEVICE_MODULE_SHARED_SCALE_H

#include "kernels/dither/dither_cuda.h"
#include "src/lib/codec/device.h"
#include "src/lib/codec/shared_scale.h"

/*
 * What qsgd and terngrad have in common in an all-reduce on a device
 * (src/lib/codec/shared_scale.h): absorb_async and conclude_async of a struct gcb_quantiser.
 * kept_dev begins with the scales that all workers share, one for each bucket.
 */

int gcb_device_scales_absorb(const void *state, unsigned round, const void *combined_dev,
                             const struct gcb_device_share *own,
                             const struct gcb_device_call *call);
int gcb_device_levels_conclude(const void *state, const void *combined_dev,
                               const struct gcb_device_share *own, float *update_dev,
                               float *own_dev, const struct gcb_device_call *call);

#endif
