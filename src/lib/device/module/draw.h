#ifndef SRC_LIB_DEVICE_MODULE_DRAW_H
#define SRC_LIB_DEVICE_MODULE_DRAW_H

#include "src/lib/codec/device.h"

/* Sets item->coarse and item->fine, the random streams of a message. Does nothing if `at` is NULL,
 * which means decoding. */
void gcb_device_fill_draw(const struct gcb_codec_env *env, const struct gcb_step *at,
                          struct gcb_device_item *item);

#endif
