#ifndef SRC_LIB_DEVICE_MODULE_CODECS_H
#define SRC_LIB_DEVICE_MODULE_CODECS_H

#include "src/lib/codec/device.h"

extern const struct gcb_device_ops gcb_device_convert; /* convert.c: identity, fp16, bf16 */
extern const struct gcb_device_ops gcb_device_range;
extern const struct gcb_device_ops gcb_device_qsgd;
extern const struct gcb_device_ops gcb_device_terngrad;
extern const struct gcb_device_ops gcb_device_natural;
extern const struct gcb_device_ops gcb_device_randomk;
/* blocks.c */
extern const struct gcb_device_ops gcb_device_float, gcb_device_affine, gcb_device_codebook;
extern const struct gcb_device_ops gcb_device_sparse;

/* The codecs of the module. A row without ops ends the table. */
extern const struct gcb_device_codec gcb_device_codecs[];

#endif
