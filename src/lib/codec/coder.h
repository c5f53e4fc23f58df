#ifndef SRC_LIB_CODEC_CODER_H
#define SRC_LIB_CODEC_CODER_H

#include "src/lib/codec/method.h"
#include "src/lib/wire/message.h"

/*
 * An encoder or decoder: a method bound to one tensor. It writes and checks frames, and calls the codec. Each tensor and
 * each worker has its own coder. Not thread-safe; threads work inside one call. The public functions of src/gcbench.h
 * call these functions.
 */
struct gcb_coder;

struct gcb_coder_config {
    /* kernels, queue and path are copied. Defaults: kernels NULL is the fastest for this machine, queue NULL is one
     * thread, segment 0 is 2^31. */
    struct gcb_codec_env env;
    enum gcb_nonfinite nonfinite;
    enum gcb_dtype source;
    bool checksum;         /* reserve the checksum field, which gcb_message_seal fills */
    uint64_t max_elements; /* a decoder refuses messages with more; 0: 2^56 */
};

int gcb_coder_create(struct gcb_coder **out, const struct gcb_method *method,
                     const struct gcb_coder_config *config, struct gcb_diag *diag);
/* The message gives env.count, source and checksum. */
int gcb_coder_create_decoder(struct gcb_coder **out, const void *message, size_t length,
                             const struct gcb_coder_config *config, struct gcb_diag *diag);
void gcb_coder_destroy(struct gcb_coder *c); /* NULL is fine */

/*
 * Appends the message of `in` to `out`. If the payload is longer than the raw tensor in its source type, the raw tensor is
 * sent instead ("stored"). The checksum field is reserved, not filled.
 */
int gcb_coder_encode(struct gcb_coder *c, const struct gcb_step *at, const struct gcb_view *in,
                     struct gcb_wbuf *out, struct gcb_diag *diag);
/* Bytes of an encoder's messages before the payload. */
size_t gcb_coder_head(const struct gcb_coder *c);
/* Appends a message with the raw tensor, which has at most gcb_coder_raw_bytes bytes: gcb_coder_bound may be less. */
size_t gcb_coder_raw_bytes(const struct gcb_coder *c);
int gcb_coder_encode_raw(struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out,
                         struct gcb_diag *diag);

/* Does not check the checksum. GCB_E_MISMATCH: gcb_coder_accepts is false. */
int gcb_coder_decode(struct gcb_coder *c, const void *message, size_t length,
                     const struct gcb_mview *out, struct gcb_diag *diag);

/* Can this decoder decode the message? Codec, parameters and count must be the same; for a stored message, the count. */
bool gcb_coder_accepts(const struct gcb_coder *c, const struct gcb_frame *frame);

/* What a message consists of. The decoder has decoded it before. */
struct gcb_message_parts {
    uint64_t wire_bytes, header_bytes; /* header: all except the payload, so with the checksum */
    struct gcb_parts payload;
    bool stored;
};
int gcb_coder_describe(struct gcb_coder *c, const void *message, size_t length,
                       struct gcb_message_parts *parts, struct gcb_diag *diag);

/* What an encoder knows; the first two are about its last message. See struct gcb_codec_ops. */
uint64_t gcb_coder_clamped(const struct gcb_coder *c);    /* number of clamped elements */
double gcb_coder_largest(const struct gcb_coder *c);      /* largest magnitude, or NAN */
double gcb_coder_nominal_bits(const struct gcb_coder *c); /* per element */
double gcb_coder_density(const struct gcb_coder *c);      /* requested; NAN: nothing is dropped */

#endif
