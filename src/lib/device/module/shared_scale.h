#ifndef SRC_LIB_DEVICE_MODULE_SHARED_SCALE_H
#define SRC_LIB_DEVICE_MODULE_SHARED_SCALE_H

#include "kernels/dither/dither_cuda.h"
#include "src/lib/codec/device.h"

/*
 * What qsgd and terngrad have in common in an all-reduce on a device (src/lib/codec/shared_scale.h). kept_dev begins with
 * the scales that all workers share, one for each bucket.
 */

struct gcb_cuda_shared_scale gcb_device_shared_scale(const struct gcb_codec_env *env,
                                                     uint64_t bucket, uint32_t levels);
/* Bytes of the scales. */
uint64_t gcb_device_scale_bytes(const struct gcb_cuda_shared_scale *how);

/* absorb_async and conclude_async. */
int gcb_device_scales_absorb(const struct gcb_cuda_shared_scale *how, const void *combined_dev,
                             const struct gcb_device_share *own,
                             const struct gcb_device_call *call);
int gcb_device_levels_conclude(const struct gcb_cuda_shared_scale *how, const void *combined_dev,
                               const struct gcb_device_share *own, float *update_dev,
                               float *own_dev, const struct gcb_device_call *call);

#endif
