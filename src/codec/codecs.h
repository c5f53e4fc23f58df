#ifndef SRC_CODEC_CODECS_H
#define SRC_CODEC_CODECS_H

#include "src/codec/codec.h"

/* One line a codec; each stands at the bottom of the file of its name. */
extern const struct gcb_codec gcb_codec_identity; /* src/codec/identity.c */
extern const struct gcb_codec gcb_codec_fp16;     /* src/codec/half.c */
extern const struct gcb_codec gcb_codec_bf16;     /* src/codec/half.c */
extern const struct gcb_codec gcb_codec_range;    /* src/codec/range.c */
extern const struct gcb_codec gcb_codec_qsgd;     /* src/codec/qsgd.c */
extern const struct gcb_codec gcb_codec_terngrad; /* src/codec/terngrad.c */
extern const struct gcb_codec gcb_codec_sparse;   /* src/sparse/sparse.c */

#endif
