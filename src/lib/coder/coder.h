#ifndef SRC_LIB_CODER_CODER_H
#define SRC_LIB_CODER_CODER_H

#include "src/lib/codec/method.h"
#include "src/lib/wire/message.h"

/*
 * An encoder or decoder: a method bound to one tensor, on the host or on a device. It writes and
 * checks frames, and calls the codec. Each tensor and each worker has its own coder. Not
 * thread-safe; threads work inside one call. The public functions of src/gcbench.h call these
 * functions.
 */
struct gcb_coder;

struct gcb_coder_config {
    /* Where the codec runs, borrowed: a device and its memory (src/lib/device/place.h), for which
     * env.kernels and queue are not used. NULL: the host. Views and messages are in host memory in
     * both cases. */
    struct gcb_place *place;
    /* The coder copies kernels, queue, path and shape. Defaults: if kernels is NULL, the fastest
     * for this machine; if queue is NULL, one thread; if segment is 0, 2^31. */
    struct gcb_codec_env env;
    enum gcb_nonfinite nonfinite;
    enum gcb_dtype source;
    bool checksum;         /* reserve the checksum field, which gcb_message_seal fills */
    uint64_t max_elements; /* a decoder refuses messages with more elements; 0: 2^56 */
};

/* Makes an encoder, or a decoder if config->env.decoding is true. GCB_E_UNSUPPORTED: the method
 * or its parameters do not run at the place; GCB_E_BACKEND: a library that they need there is
 * missing. */
int gcb_coder_create(struct gcb_coder **out, const struct gcb_method *method,
                     const struct gcb_coder_config *config, struct gcb_diag *diag);
/* Takes env.count, source and checksum from the message, not from `config`. */
int gcb_coder_create_decoder(struct gcb_coder **out, const void *message, size_t length,
                             const struct gcb_coder_config *config, struct gcb_diag *diag);
/* The same for a message whose parsed frame is given. */
int gcb_coder_create_like(struct gcb_coder **out, const struct gcb_frame *frame,
                          const struct gcb_coder_config *config, struct gcb_diag *diag);
/* Makes *c a decoder for this message: keeps *c if it accepts the message; otherwise replaces it,
 * or with an error by NULL. */
int gcb_coder_renew_decoder(struct gcb_coder **c, const void *message, size_t length,
                            const struct gcb_coder_config *config, struct gcb_diag *diag);
void gcb_coder_destroy(struct gcb_coder *c); /* NULL is fine */

uint64_t gcb_coder_elements(const struct gcb_coder *c);
/* Bytes of the longest payload. It is the raw tensor's if that is more and the raw tensor may be
 * sent: because the codec or the device says so, or because the tensor may have an infinity or
 * NaN. */
uint64_t gcb_coder_max_payload(const struct gcb_coder *c);
/* The most bytes of an encoder's message; 0 for a decoder. */
size_t gcb_coder_bound(const struct gcb_coder *c);
/* Bytes of an encoder's messages if all have the same length; 0 otherwise. Tensors that are sent
 * raw because of an infinity, a NaN or an overflow may have another length. */
size_t gcb_coder_length(const struct gcb_coder *c);
const struct gcb_method *gcb_coder_method(const struct gcb_coder *c);
/* The frame of an encoder's messages, without length and stored flag. */
const struct gcb_frame *gcb_coder_frame(const struct gcb_coder *c);

/* Changes the parameters of an encoder's method, without allocating. What the codec keeps from step
 * to step stays if the method can keep it. Returns false, and changes nothing, if the codec cannot
 * do this; then a coder must be remade. */
bool gcb_coder_rebind(struct gcb_coder *c, const struct gcb_method *method);
/* Makes a coder that differs from `c` only in the parameters of the method. What the codec keeps
 * from step to step is copied if the new method can keep it. */
int gcb_coder_remake(struct gcb_coder **out, const struct gcb_coder *c,
                     const struct gcb_method *method, struct gcb_diag *diag);

/* What the codec keeps from step to step (GCB_KEPT numbers). Restoring returns GCB_E_MISMATCH for
 * the numbers of another method. */
void gcb_coder_save(const struct gcb_coder *c, uint64_t *kept);
int gcb_coder_restore(struct gcb_coder *c, const uint64_t *kept);

/*
 * Appends the message of `in` to `out`. If the payload is longer than the raw tensor in its source
 * type, the raw tensor is sent instead ("stored"). The checksum field is reserved, not filled.
 */
int gcb_coder_encode(struct gcb_coder *c, const struct gcb_step *at, const struct gcb_view *in,
                     struct gcb_wbuf *out, struct gcb_diag *diag);
/*
 * On a device: takes the memory at the place that the coder needs, and encodes a tensor that is
 * there already (x_dev, valid until the message is made, read-only). gcb_coder_encode does the same
 * for a view. GCB_E_DEVICE.
 */
int gcb_coder_reserve(struct gcb_coder *c, struct gcb_diag *diag);
int gcb_coder_encode_there(struct gcb_coder *c, const struct gcb_step *at, float *x_dev,
                           struct gcb_wbuf *out, struct gcb_diag *diag);
/* The same as gcb_coder_encode for a tensor that is known to be finite, or whose message may be
 * unspecified. */
int gcb_coder_encode_finite(struct gcb_coder *c, const struct gcb_step *at,
                            const struct gcb_view *in, struct gcb_wbuf *out, struct gcb_diag *diag);
/* The number of bytes before the payload in an encoder's messages. */
size_t gcb_coder_head(const struct gcb_coder *c);
/* gcb_coder_encode_raw appends a message with the raw tensor, at most gcb_coder_raw_bytes bytes.
 * That may be more than gcb_coder_bound. */
size_t gcb_coder_raw_bytes(const struct gcb_coder *c);
int gcb_coder_encode_raw(struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out,
                         struct gcb_diag *diag);

/* Does not check the checksum. The decoder of a stored message becomes the decoder of the first
 * message that is not stored, and allocates memory for it. GCB_E_MISMATCH: this coder cannot decode
 * the message. */
int gcb_coder_decode(struct gcb_coder *c, const void *message, size_t length,
                     const struct gcb_mview *out, struct gcb_diag *diag);

/* True if the message has this decoder's codec, parameters and count. A stored message needs
 * only the same count. */
bool gcb_coder_accepts(const struct gcb_coder *c, const struct gcb_frame *frame);

/*
 * Makes the decoder accept this frame. The decoder takes the frame's parameters, and also the
 * frame's codec if the decoder was made from a stored message and has no codec yet. May allocate.
 * GCB_E_MISMATCH: another codec, count, transform or chunk. GCB_E_CORRUPT, GCB_E_UNSUPPORTED,
 * GCB_E_NOMEM. After a failure the decoder is unchanged.
 */
int gcb_coder_adopt(struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag);

/*
 * Adds a message to to->acc, which has as many elements as the tensor. The decoder adopts the
 * message's parameters. After a failure nothing was added. A sparse message without a transform
 * costs no pass over the tensor; others may use scratch of the tensor's size, which the first call
 * allocates. Does not check the checksum. Errors are those of gcb_coder_adopt.
 */
int gcb_coder_add(struct gcb_coder *c, const void *message, size_t length,
                  const struct gcb_addition *to, struct gcb_diag *diag);

/*
 * True if the decoder has a canvas of coefficients. Then gcb_coder_collect adds a message to the
 * canvas. For the first message of a sum (`joins` is false) it sets the canvas to zero before.
 * GCB_E_MISMATCH: the message is stored or has another codec, transform or chunk, so it does not
 * fit. Nothing was added after a failure. gcb_coder_rebuild writes the elements that the canvas
 * stands for.
 */
bool gcb_coder_has_canvas(const struct gcb_coder *c);
int gcb_coder_collect(struct gcb_coder *c, const void *message, size_t length, float weight,
                      bool joins, struct gcb_diag *diag);
int gcb_coder_rebuild(struct gcb_coder *c, float *out, struct gcb_diag *diag);

/* The codec's state, for functions of its descriptor, and for what it tells. */
struct gcb_codec_base *gcb_coder_codec_state(const struct gcb_coder *c);

/* The sizes of a message's parts. The decoder must be able to decode the message without an
 * error. */
struct gcb_message_parts {
    uint64_t wire_bytes, header_bytes; /* header: all except the payload; includes the checksum */
    struct gcb_parts payload;
    bool stored;
};
int gcb_coder_describe(struct gcb_coder *c, const void *message, size_t length,
                       struct gcb_message_parts *parts, struct gcb_diag *diag);

/* Elements of an encoder's last tensor that were clamped, and the bits per element of its messages
 * as the method's paper counts them. Its codec's state has more: struct gcb_codec_base. */
uint64_t gcb_coder_clamped(const struct gcb_coder *c);
double gcb_coder_nominal_bits(const struct gcb_coder *c);

#endif
