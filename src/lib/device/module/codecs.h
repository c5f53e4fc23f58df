#ifndef SRC_LIB_DEVICE_MODULE_CODECS_H
#define SRC_LIB_DEVICE_MODULE_CODECS_H

#include "src/lib/codec/device.h"

/* One line a codec; each stands at the bottom of its file in this folder. */
extern const struct gcb_device_ops gcb_device_identity; /* convert.c */
extern const struct gcb_device_ops gcb_device_fp16;     /* convert.c */
extern const struct gcb_device_ops gcb_device_bf16;     /* convert.c */
extern const struct gcb_device_ops gcb_device_range;    /* range.c */
extern const struct gcb_device_ops gcb_device_qsgd;     /* qsgd.c */
extern const struct gcb_device_ops gcb_device_terngrad; /* terngrad.c */
extern const struct gcb_device_ops gcb_device_sparse;   /* sparse.c */

/* The table of all of them (registry.c), ended by a row without ops. */
extern const struct gcb_device_codec gcb_device_codecs[];

#endif
