#ifndef SRC_LIB_DEVICE_MODULE_SHARED_SCALE_H
#define SRC_LIB_DEVICE_MODULE_SHARED_SCALE_H

#include "kernels/dither/dither_cuda.h"
#include "src/lib/codec/device.h"
#include "src/lib/codec/shared_scale.h"

/* Functions that qsgd and terngrad on a device share. */

/* Sets the random streams of a group's item, unless `at` is NULL. */
void gcb_device_fill_draw(const struct gcb_codec_env *env, const struct gcb_step *at,
                          struct gcb_device_item *item);

/* absorb_async and conclude_async of an all-reduce (src/lib/codec/shared_scale.h). The state begins
 * with struct gcb_quantiser. own->kept_dev begins with the shared scales, one for each bucket. */
int gcb_device_scales_absorb(const void *state, unsigned round, const void *combined_dev,
                             const struct gcb_device_share *own,
                             const struct gcb_device_call *call);
int gcb_device_levels_conclude(const void *state, const void *combined_dev,
                               const struct gcb_device_share *own, float *update_dev,
                               float *own_dev, const struct gcb_device_call *call);

#endif
