#ifndef SRC_LIB_CODEC_CODECS_H
#define SRC_LIB_CODEC_CODECS_H

#include "src/lib/codec/codec.h"

/* The descriptors of the codecs. */
extern const struct gcb_codec gcb_codec_identity; /* src/lib/codec/identity.c */
extern const struct gcb_codec gcb_codec_fp16;     /* src/lib/codec/half.c */
extern const struct gcb_codec gcb_codec_bf16;     /* src/lib/codec/half.c */
extern const struct gcb_codec gcb_codec_range;    /* src/lib/codec/range.c */
extern const struct gcb_codec gcb_codec_qsgd;     /* src/lib/codec/qsgd.c */
extern const struct gcb_codec gcb_codec_terngrad; /* src/lib/codec/terngrad.c */
extern const struct gcb_codec gcb_codec_natural;  /* src/lib/codec/natural.c */
extern const struct gcb_codec gcb_codec_sparse;   /* src/lib/sparse/sparse.c */

#endif
