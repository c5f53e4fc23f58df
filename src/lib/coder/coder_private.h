#ifndef SRC_LIB_CODER_CODER_PRIVATE_H
#define SRC_LIB_CODER_CODER_PRIVATE_H

#include "src/lib/codec/device.h"
#include "src/lib/coder/coder.h"

/* The fields of a coder: a method, the tensor that it is bound to, and the frame of its messages. Only src/lib/coder uses
 * this header. */

/* More elements than any machine holds. Below it, sizes in bits and bytes cannot overflow. */
#define GCB_MAX_ELEMENTS (UINT64_C(1) << 56)

/* The caller zeroes the struct first. */
struct gcb_framing {
    struct gcb_method method; /* its codec is NULL in the decoder of a stored message */
    struct gcb_codec_env env; /* kernels and queue belong to the caller */
    enum gcb_nonfinite nonfinite;
    struct gcb_frame frame; /* the messages' frame, without payload length and stored flag */
    bool from_message;      /* the method comes from a message, which may be hostile */
    char *path;             /* owned; env.path points to it */
    uint64_t *shape;        /* owned; env.shape points to it */
    void *state;            /* the codec's state; NULL in the decoder of a stored message */
};

/* Makes the codec's state: `size` zeroed bytes, the parameters, then init (may be NULL). If the parameters came from a
 * message, GCB_E_INVALID from init becomes GCB_E_CORRUPT, in `diag` too. */
int gcb_framing_start(struct gcb_framing *f, size_t size,
                      int (*init)(void *state, const struct gcb_codec_env *env,
                                  struct gcb_diag *diag),
                      struct gcb_diag *diag);

/* Bytes of a message's longest payload; `own` is the length of the codec's longest payload. The result is the raw
 * tensor's length if that is more and the raw tensor may be sent: because the codec says so (`may_send_raw`), or
 * because the tensor may have an infinity or NaN. A raw tensor that replaces a longer payload needs no extra room. */
uint64_t gcb_framing_max_payload(const struct gcb_framing *f, uint64_t own, bool may_send_raw);

struct gcb_coder {
    struct gcb_framing base;
    struct gcb_queue queue;
    struct gcb_kernels kernels;
    bool nonfinite; /* the last tensor was refused or sent raw because of an infinity or NaN */
    float *decoded; /* elements of a message to add; NULL until a message needs it */
    struct gcb_place *place;            /* NULL: the host */
    const struct gcb_device_ops *there; /* the codec's at the place; NULL on the host */
    uint64_t clamped;                   /* elements of the last message, on a device */
};

/* The coder must have a codec. */
static inline const struct gcb_codec_ops *gcb_coder_ops(const struct gcb_coder *c)
{
    return c->base.method.codec->ops;
}

/* For a coder with a place (device_coder.c): as the functions of coder.h without "there". */
int gcb_coder_start_there(struct gcb_coder *c, struct gcb_diag *diag);
int gcb_coder_encode_view_there(struct gcb_coder *c, const struct gcb_step *at,
                                const struct gcb_view *in, struct gcb_wbuf *out,
                                struct gcb_diag *diag);
int gcb_coder_decode_there(struct gcb_coder *c, const struct gcb_frame *frame,
                           const struct gcb_rbuf *payload, const struct gcb_mview *out,
                           struct gcb_diag *diag);

#endif
