#ifndef SRC_LIB_CODEC_CODER_STATE_H
#define SRC_LIB_CODEC_CODER_STATE_H

#include "src/lib/codec/coder.h"
#include "src/lib/codec/framing.h"

/* The fields of a coder. Only coder.c and coder_add.c use this header. */
struct gcb_coder {
    struct gcb_framing base;
    struct gcb_queue queue;
    struct gcb_kernels kernels;
    bool nonfinite; /* the last tensor was refused or sent raw because of an infinity or NaN */
    float *decoded; /* elements of a message to add; NULL until a message needs it */
};

/* The coder must have a codec. */
static inline const struct gcb_codec_ops *gcb_coder_ops(const struct gcb_coder *c)
{
    return c->base.method.codec->ops;
}

#endif
