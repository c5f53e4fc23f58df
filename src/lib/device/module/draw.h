#ifndef SRC_LIB_DEVICE_MODULE_DRAW_H
#define SRC_LIB_DEVICE_MODULE_DRAW_H

#include "src/lib/codec/device.h"

/* Sets the random streams of a group's item, unless `at` is NULL. */
void gcb_device_fill_draw(const struct gcb_codec_env *env, const struct gcb_step *at,
                          struct gcb_device_item *item);

#endif
