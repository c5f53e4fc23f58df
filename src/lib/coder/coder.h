#ifndef SRC_LIB_CODER_CODER_H
#define SRC_LIB_CODER_CODER_H

#include "src/lib/codec/method.h"
#include "src/lib/wire/message.h"

/*
 * An encoder or decoder: a method bound to one tensor, on the host or on a device. It writes and
 * checks frames (src/lib/wire/message.h), and calls the codec. Each tensor and each worker has its
 * own coder. Not thread-safe; threads work inside one call. The public functions of src/gcbench.h
 * call these functions.
 *
 * A stored message has the raw tensor, in its source type, as its payload.
 */
struct gcb_coder;

struct gcb_coder_config {
    /* The device and the memory where the codec runs (src/lib/device/place.h), borrowed. With a
     * place the codec uses neither env.kernels nor env.queue. NULL: the codec runs on the host.
     * Views and messages are in host memory in both cases. */
    struct gcb_place *place;
    /* The coder copies what the pointers point to, except the probe. Defaults: if kernels is NULL,
     * the fastest for this machine; if queue is NULL, one thread; if path is NULL, ""; if segment
     * is 0, 2^31. */
    struct gcb_codec_env env;
    enum gcb_nonfinite nonfinite; /* what an encoder does with an infinity or NaN */
    enum gcb_dtype source;        /* type of the elements in stored messages */
    bool checksum;                /* reserve the checksum field, which gcb_message_seal fills */
    uint64_t max_elements;        /* a decoder refuses messages with more elements; 0: 2^56 */
};

/*
 * Makes an encoder, or a decoder if config->env.decoding is true. Copies the method. The caller
 * frees *out with gcb_coder_destroy; after an error *out is unchanged. Returns 0 or:
 *   GCB_E_INVALID      the parameters do not fit this tensor
 *   GCB_E_UNSUPPORTED  the method or its parameters do not run at the place or in this build
 *   GCB_E_BACKEND      a library that they need is missing
 *   GCB_E_NOMEM, GCB_E_DEVICE
 */
int gcb_coder_create(struct gcb_coder **out, const struct gcb_method *method,
                     const struct gcb_coder_config *config, struct gcb_diag *diag);
/* Makes a decoder. Takes the method, env.count, source and checksum from a message. Returns 0,
 * GCB_E_CORRUPT, or an error of gcb_coder_create or gcb_frame_parse; after an error *out is
 * NULL. */
int gcb_coder_create_decoder(struct gcb_coder **out, const void *message, size_t length,
                             const struct gcb_coder_config *config, struct gcb_diag *diag);
/* Does what gcb_coder_create_decoder does for a message whose frame the caller has parsed. After an
 * error *out is unchanged. */
int gcb_coder_create_like(struct gcb_coder **out, const struct gcb_frame *frame,
                          const struct gcb_coder_config *config, struct gcb_diag *diag);
/* Makes *c a decoder for this message. Keeps *c if it accepts the message, or if the message's
 * header is damaged; otherwise destroys it and makes another. If that fails, *c becomes NULL. *c
 * may be NULL before. Returns 0 or an error of gcb_coder_create_decoder. */
int gcb_coder_renew_decoder(struct gcb_coder **c, const void *message, size_t length,
                            const struct gcb_coder_config *config, struct gcb_diag *diag);
void gcb_coder_destroy(struct gcb_coder *c); /* NULL is fine */

/* Number of elements of the tensor. It is known even before a decoder has a method. */
uint64_t gcb_coder_elements(const struct gcb_coder *c);
/* Most bytes of a payload. This is enough for the raw tensor too, if the codec or a device may send
 * it, or if config.nonfinite is GCB_NONFINITE_RAW. The coder must have a method (see
 * gcb_coder_decode). */
uint64_t gcb_coder_max_payload(const struct gcb_coder *c);
/* Most bytes of an encoder's message; 0 for a decoder. */
size_t gcb_coder_bound(const struct gcb_coder *c);
/* Bytes of an encoder's messages if all have the same length; 0 otherwise. Tensors that are sent
 * raw because of an infinity, a NaN or an overflow may have another length. */
size_t gcb_coder_length(const struct gcb_coder *c);
/* Returns the coder's method, which belongs to the coder. `codec` is NULL in a decoder that has no
 * method yet (see gcb_coder_decode). */
const struct gcb_method *gcb_coder_method(const struct gcb_coder *c);
/* The frame of an encoder's messages, without payload length and stored flag. */
const struct gcb_frame *gcb_coder_frame(const struct gcb_coder *c);

/* Changes the parameters of an encoder on the host to those of `method`, which has the same codec,
 * without allocating. What the codec keeps from step to step (GCB_KEPT numbers) stays if the method
 * can keep it. Returns false, and changes nothing, if the coder must be remade for these
 * parameters. */
bool gcb_coder_rebind(struct gcb_coder *c, const struct gcb_method *method);
/* Makes a coder that differs from `c`, a coder on the host, only in the parameters of the method.
 * What the codec keeps from step to step (GCB_KEPT numbers) is copied if the new method can keep
 * it. The caller frees *out; after an error *out is unchanged. Returns 0 or an error of
 * gcb_coder_create. */
int gcb_coder_remake(struct gcb_coder **out, const struct gcb_coder *c,
                     const struct gcb_method *method, struct gcb_diag *diag);

/* Save and restore what the codec of a coder on the host keeps from step to step (GCB_KEPT
 * numbers). Restoring returns 0, or GCB_E_MISMATCH for numbers of another method. */
void gcb_coder_save(const struct gcb_coder *c, uint64_t *kept);
int gcb_coder_restore(struct gcb_coder *c, const uint64_t *kept);

/*
 * Appends the message of a tensor to `out`. The message is stored if the payload would be longer
 * than the raw tensor, if the codec cannot represent the tensor, or if the tensor has an infinity
 * or NaN and config.nonfinite is GCB_NONFINITE_RAW. The checksum field is reserved, not filled.
 * Returns 0, an error of a foreign method, or:
 *   GCB_E_MISMATCH   the coder is a decoder, or is for a tensor of another size
 *   GCB_E_NONFINITE  the tensor has an infinity or NaN, and config.nonfinite is
 *                    GCB_NONFINITE_ERROR
 *   GCB_E_NOSPACE    `out` is too small
 *   GCB_E_NOMEM, GCB_E_DEVICE
 */
int gcb_coder_encode(struct gcb_coder *c, const struct gcb_step *at, const struct gcb_view *in,
                     struct gcb_wbuf *out, struct gcb_diag *diag);
/* Does what gcb_coder_encode does, for a coder on the host, but does not look for infinities and
 * NaNs. With them the message is unspecified. */
int gcb_coder_encode_finite(struct gcb_coder *c, const struct gcb_step *at,
                            const struct gcb_view *in, struct gcb_wbuf *out, struct gcb_diag *diag);
/* Number of bytes before the payload in an encoder's messages. Stored messages may have fewer. */
size_t gcb_coder_head(const struct gcb_coder *c);
/* Most bytes of a stored message. This may be more than gcb_coder_bound. */
size_t gcb_coder_raw_bytes(const struct gcb_coder *c);
/* Appends a stored message. Returns 0, GCB_E_MISMATCH or GCB_E_NOSPACE, as gcb_coder_encode. */
int gcb_coder_encode_raw(struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out,
                         struct gcb_diag *diag);

/*
 * Decodes a message to `out`. Does not check the checksum. A decoder that was made from a stored
 * message takes the method of the first message that is not stored, and allocates memory for it.
 * Returns 0, an error of a foreign method, or:
 *   GCB_E_MISMATCH  the coder is an encoder, it is for other messages, or `out` has another size
 *   GCB_E_CORRUPT, GCB_E_UNSUPPORTED, GCB_E_BACKEND, GCB_E_NOMEM, GCB_E_DEVICE
 */
int gcb_coder_decode(struct gcb_coder *c, const void *message, size_t length,
                     const struct gcb_mview *out, struct gcb_diag *diag);

/* True if the frame has this decoder's codec, parameters and count. The frame of a stored message
 * needs only the same count. */
bool gcb_coder_accepts(const struct gcb_coder *c, const struct gcb_frame *frame);

/*
 * Makes the decoder accept this frame: the decoder takes the frame's parameters and, if it has no
 * method yet, the frame's codec. A decoder with a method must be on the host. May allocate. After
 * an error the decoder is unchanged. Returns 0 or:
 *   GCB_E_MISMATCH  another codec, count or transform, or parameters that need another decoder
 *   GCB_E_CORRUPT, GCB_E_UNSUPPORTED, GCB_E_BACKEND, GCB_E_NOMEM, GCB_E_DEVICE
 */
int gcb_coder_adopt(struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag);

/*
 * Adds a message to to->acc, which has as many elements as the tensor. The decoder is on the host,
 * and adopts the message's parameters. A sparse message without a transform costs no pass over the
 * tensor. Other messages may need scratch of the tensor's size, which the first call allocates.
 * Does not check the checksum. Returns 0 or an error of gcb_coder_adopt; after an error nothing was
 * added.
 */
int gcb_coder_add(struct gcb_coder *c, const void *message, size_t length,
                  const struct gcb_addition *to, struct gcb_diag *diag);

/* True if the decoder's method has a transform. Then the decoder has a canvas: an array of
 * coefficients to which messages are added before the inverse transform. */
bool gcb_coder_has_canvas(const struct gcb_coder *c);
/*
 * Adds a message times `weight` to the canvas of a decoder on the host that has one. For the first
 * message of a sum (`joins` is false) sets the canvas to zero before. The decoder adopts the
 * message's parameters. Returns 0, GCB_E_MISMATCH for a stored message, or an error of
 * gcb_coder_adopt; after an error nothing was added.
 */
int gcb_coder_collect(struct gcb_coder *c, const void *message, size_t length, float weight,
                      bool joins, struct gcb_diag *diag);
/* Transforms the canvas to the elements `out`, and overwrites the canvas. Returns 0 or
 * GCB_E_NOMEM. */
int gcb_coder_rebuild(struct gcb_coder *c, float *out, struct gcb_diag *diag);

/* Returns the codec's state, which belongs to the coder; NULL if the coder has no method yet (see
 * gcb_coder_decode). */
struct gcb_codec_base *gcb_coder_codec_state(const struct gcb_coder *c);

/* The sizes of a message's parts. */
struct gcb_message_parts {
    uint64_t wire_bytes, header_bytes; /* the whole message; all except the payload */
    struct gcb_parts payload;
    bool stored;
};
/* Describes a message that the decoder decodes without an error. Returns 0 or an error of
 * gcb_coder_decode. */
int gcb_coder_describe(struct gcb_coder *c, const void *message, size_t length,
                       struct gcb_message_parts *parts, struct gcb_diag *diag);

/* Adds the squared error of y, decoded from a message of x, to the sums by its causes
 * (gcb_codec_ops.split). Adds nothing if the message is stored or the codec cannot split errors.
 * The decoder is on the host. Returns 0 or an error of gcb_coder_decode. */
int gcb_coder_split(struct gcb_coder *c, const void *message, size_t length, const float *x,
                    const float *y, struct gcb_error_split *sums, struct gcb_diag *diag);

/* Number of clamped elements in an encoder's last message. A stored message has none. */
uint64_t gcb_coder_clamped(const struct gcb_coder *c);
/* Bits per element of an encoder's messages, as the method's paper counts them; NAN: unknown. */
double gcb_coder_nominal_bits(const struct gcb_coder *c);

#endif
