#ifndef SRC_LIB_CODER_CODER_PRIVATE_H
#define SRC_LIB_CODER_CODER_PRIVATE_H

#include "src/lib/codec/device.h"
#include "src/lib/coder/coder.h"

/* The fields of a coder. Only src/lib/coder uses this header. */

/* Most elements of a tensor, more than any machine holds. With so many elements, sizes in bits and
 * bytes do not overflow. */
#define GCB_MAX_ELEMENTS (UINT64_C(1) << 56)

struct gcb_coder {
    struct gcb_method method;       /* method.codec is NULL in a decoder that has no method yet */
    struct gcb_codec_env env;       /* its pointers, except `probe`, point to `kept` */
    struct gcb_codec_env_copy kept; /* copies of the caller's environment */
    enum gcb_nonfinite nonfinite;
    struct gcb_frame frame;       /* the messages' frame, without payload length and stored flag */
    struct gcb_codec_base *state; /* the codec's state; NULL without a method */
    bool met_nonfinite; /* the last tensor was refused or sent raw because of an infinity or NaN */
    float *decoded;     /* scratch for the elements of a message to add; NULL until needed */
    struct gcb_place *place; /* where the codec runs; NULL: on the host */
    /* the codec's functions at the place; NULL on the host, and without a method */
    const struct gcb_device_ops *there;
};

/* The codec's functions on the host. The coder must have a codec. */
static inline const struct gcb_codec_ops *gcb_coder_ops(const struct gcb_coder *c)
{
    return c->method.codec->ops;
}

/* Completes the message that begins at offset `start` of `out`: reserves the checksum field and
 * rewrites the header. Returns 0, or GCB_E_NOSPACE if a part of the message did not fit; then drops
 * the message. */
int gcb_coder_finish(const struct gcb_frame *f, size_t start, struct gcb_wbuf *out,
                     struct gcb_diag *diag);

/* device_coder.c: sets c->there. Returns 0, or GCB_E_UNSUPPORTED if the codec does not run at the
 * place, or not with env.feedback. */
int gcb_coder_find_there(struct gcb_coder *c, struct gcb_diag *diag);
/* device_coder.c: gcb_coder_encode and gcb_coder_decode of a coder with a place. */
int gcb_coder_encode_view_there(struct gcb_coder *c, const struct gcb_step *at,
                                const struct gcb_view *in, struct gcb_wbuf *out,
                                struct gcb_diag *diag);
int gcb_coder_decode_there(struct gcb_coder *c, const struct gcb_frame *frame,
                           const struct gcb_rbuf *payload, const struct gcb_mview *out,
                           struct gcb_diag *diag);

#endif
