#ifndef SRC_LIB_CODEC_CODER_H
#define SRC_LIB_CODEC_CODER_H

#include "src/lib/codec/method.h"
#include "src/lib/wire/message.h"

/*
 * A method bound to one tensor: frames, checks, and calls through the codec's table. One per tensor and
 * worker; not thread-safe (threads work inside kernels). The public functions of src/gcbench.h are thin
 * wrappers over these.
 */
struct gcb_coder;

struct gcb_coder_config {
    struct gcb_codec_env env; /* kernels and queue are borrowed; path is copied. kernels NULL: this
                                 machine's best; queue NULL: one thread; segment 0: 2^31 */
    enum gcb_nonfinite nonfinite;
    enum gcb_dtype source;
    bool checksum;         /* reserve the field; gcb_message_seal fills it */
    uint64_t max_elements; /* decoder: refuse more; 0: 2^56 */
};

int gcb_coder_create(struct gcb_coder **out, const struct gcb_method *method,
                     const struct gcb_coder_config *config, struct gcb_diag *diag);
/* env.count, source and checksum come from the message. */
int gcb_coder_create_decoder(struct gcb_coder **out, const void *message, size_t length,
                             const struct gcb_coder_config *config, struct gcb_diag *diag);
void gcb_coder_destroy(struct gcb_coder *c); /* NULL is fine */

/*
 * Appends the message of `in` to `out`. A payload longer than the raw tensor in its source type is
 * replaced by the raw tensor (stored). The checksum field, if any, is reserved, not filled.
 */
int gcb_coder_encode(struct gcb_coder *c, const struct gcb_step *at, const struct gcb_view *in,
                     struct gcb_wbuf *out, struct gcb_diag *diag);
/* Bytes of an encoder's message in front of its payload. */
size_t gcb_coder_head(const struct gcb_coder *c);
/* Appends the tensor raw, whatever the method. */
int gcb_coder_encode_raw(struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out,
                         struct gcb_diag *diag);

/* The checksum is not checked here. GCB_E_MISMATCH: not a message of this coder's kind. */
int gcb_coder_decode(struct gcb_coder *c, const void *message, size_t length,
                     const struct gcb_mview *out, struct gcb_diag *diag);

/* Would this decoder take the message? (Same codec, count and parameters; stored ones always.) */
bool gcb_coder_accepts(const struct gcb_coder *c, const struct gcb_frame *frame);

/* What a message that this decoder has decoded is made of. */
struct gcb_message_parts {
    uint64_t wire_bytes, header_bytes; /* header: all but the payload, checksum included */
    struct gcb_parts payload;
    bool stored;
};
int gcb_coder_describe(struct gcb_coder *c, const void *message, size_t length,
                       struct gcb_message_parts *parts, struct gcb_diag *diag);

/* Of an encoder: elements clamped by the last encode, nominal bits per element, density asked for (NAN
 * where nothing is dropped). */
uint64_t gcb_coder_clamped(const struct gcb_coder *c);
/* Also of the last encode: the largest magnitude that was given a code whose range came of the data; else NAN. */
double gcb_coder_largest(const struct gcb_coder *c);
double gcb_coder_nominal_bits(const struct gcb_coder *c);
double gcb_coder_density(const struct gcb_coder *c);

#endif
