#include "src/lib/codec/coder.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/framing.h"

struct gcb_coder {
    struct gcb_method method;
    struct gcb_codec_env env;
    struct gcb_queue queue;
    struct gcb_kernels kernels;
    enum gcb_nonfinite nonfinite;
    struct gcb_frame frame; /* of its messages; lengths and the stored flag vary */
    char *path;
    void *state; /* NULL: a decoder of stored messages only */
};

/* Fills what the caller left open and takes copies of what it lent. */
static int bind_env(struct gcb_coder *c, const struct gcb_coder_config *config,
                    struct gcb_diag *diag)
{
    const char *path = config->env.path ? config->env.path : "";

    c->env = config->env;
    c->nonfinite = config->nonfinite;
    c->queue = config->env.queue ? *config->env.queue : (struct gcb_queue){.threads = 1};
    c->env.queue = &c->queue;
    if (config->env.kernels)
        c->kernels = *config->env.kernels;
    else
        gcb_kernels_init(&c->kernels, gcb_cpu_detect());
    c->env.kernels = &c->kernels;
    if (!c->env.segment)
        c->env.segment = UINT64_C(1) << 31;
    c->path = gcb_strdup(path);
    c->env.path = c->path;
    return c->path ? 0 : gcb_diag_nomem(diag, strlen(path) + 1, "a path");
}

static int start_codec(struct gcb_coder *c, struct gcb_diag *diag)
{
    const struct gcb_codec *codec = c->method.codec;

    c->state = gcb_alloc_zero(1, codec->ops->state_size ? codec->ops->state_size : 1);
    if (!c->state)
        return gcb_diag_nomem(diag, codec->ops->state_size, "a codec's state");
    gcb_param_store(codec->params, c->method.value, c->state);
    return codec->ops->init ? codec->ops->init(c->state, &c->env, diag) : 0;
}

static uint64_t max_payload(const struct gcb_coder *c)
{
    return gcb_framing_max_payload(c->env.count, c->frame.source,
                                   c->method.codec->ops->max_payload(c->state));
}

/* The head of this coder's messages. */
static int prepare_frame(struct gcb_coder *c, const struct gcb_coder_config *config,
                         struct gcb_diag *diag)
{
    c->frame.source = config->source;
    c->frame.count = c->env.count;
    c->frame.flags = config->checksum ? GCB_WIRE_CHECKSUM : 0;
    return gcb_framing_prepare(&c->frame, c->method.codec, c->state, max_payload(c), diag);
}

int gcb_coder_create(struct gcb_coder **out, const struct gcb_method *method,
                     const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_coder *c = gcb_alloc_zero(1, sizeof(*c));
    int err = c ? 0 : gcb_diag_nomem(diag, sizeof(*c), "a coder");

    if (err)
        return err;
    c->method = *method;
    err = config->env.count > GCB_MAX_ELEMENTS
              ? gcb_diag_set(diag, GCB_E_NOMEM, "%" PRIu64 " elements are too many",
                             config->env.count)
              : bind_env(c, config, diag);
    if (err)
        goto out;
    c->env.decoding = false;
    err = start_codec(c, diag);
    if (err)
        goto out;
    err = prepare_frame(c, config, diag);
    if (err)
        goto out;
    *out = c;
    c = NULL;
out:
    gcb_coder_destroy(c);
    return err;
}

int gcb_coder_create_decoder(struct gcb_coder **out, const void *message, size_t length,
                             const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_coder *c = gcb_alloc_zero(1, sizeof(*c));
    struct gcb_rbuf payload;
    const uint64_t limit = config->max_elements && config->max_elements < GCB_MAX_ELEMENTS
                               ? config->max_elements
                               : GCB_MAX_ELEMENTS;
    int err;

    if (!c)
        return gcb_diag_nomem(diag, sizeof(*c), "a coder");
    err = gcb_frame_parse(&c->frame, &payload, message, length, diag);
    if (err)
        goto out;
    err = bind_env(c, config, diag);
    if (err)
        goto out;
    c->env.count = c->frame.count;
    c->env.decoding = true;
    if (c->frame.count > limit)
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "message promises %" PRIu64 " elements, at most %" PRIu64 " are allowed",
                           c->frame.count, limit);
    else if (!(c->frame.flags & GCB_WIRE_STORED))
        err = gcb_framing_method(&c->method, &c->frame, diag);
    if (!err && c->method.codec)
        err = start_codec(c, diag);
    err = gcb_framing_verdict(err, diag);
    if (err)
        goto out;
    *out = c;
    c = NULL;
out:
    gcb_coder_destroy(c);
    return err;
}

void gcb_coder_destroy(struct gcb_coder *c)
{
    if (!c)
        return;
    if (c->state && c->method.codec->ops->fini)
        c->method.codec->ops->fini(c->state);
    gcb_free(c->state);
    gcb_free(c->path);
    gcb_free(c);
}

uint64_t gcb_coder_elements(const struct gcb_coder *c)
{
    return c->env.count;
}

size_t gcb_coder_bound(const struct gcb_coder *c)
{
    if (!c->state || c->env.decoding)
        return 0;
    return gcb_frame_head(&c->frame) + max_payload(c) + gcb_frame_tail(&c->frame);
}

size_t gcb_coder_head(const struct gcb_coder *c)
{
    return gcb_frame_head(&c->frame);
}

/* The tensor in its source type, as a stored message holds it. */
static void write_raw(const struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out)
{
    uint8_t *p = gcb_wbuf_take(out, in->count * gcb_framing_raw_size(c->frame.source));

    if (!p || in->count == 0)
        return;
    if (c->frame.source == GCB_F16)
        c->kernels.convert.to_fp16(p, in->data, in->count);
    else if (c->frame.source == GCB_BF16)
        c->kernels.convert.to_bf16(p, in->data, in->count);
    else
        memcpy(p, in->data, in->count * sizeof(float));
}

static int read_raw(const struct gcb_coder *c, enum gcb_dtype source, struct gcb_rbuf *in,
                    const struct gcb_mview *out)
{
    const uint8_t *p = gcb_rbuf_take(in, out->count * gcb_framing_raw_size(source));

    if (!p || gcb_rbuf_left(in))
        return GCB_E_CORRUPT;
    if (out->count == 0)
        return 0;
    if (source == GCB_F16)
        c->kernels.convert.from_fp16(out->data, p, out->count);
    else if (source == GCB_BF16)
        c->kernels.convert.from_bf16(out->data, p, out->count);
    else
        memcpy(out->data, p, out->count * sizeof(float));
    return 0;
}

/* Closes the message that starts at `start`: final head, room for the checksum. */
static int finish(const struct gcb_frame *f, size_t start, struct gcb_wbuf *out,
                  struct gcb_diag *diag)
{
    gcb_wbuf_take(out, gcb_frame_tail(f));
    if (out->failed) {
        out->len = start;
        return gcb_diag_set(diag, GCB_E_NOSPACE, "the output buffer is too small for the message");
    }
    gcb_frame_patch(f, out->data + start);
    return 0;
}

static int check_finite(const struct gcb_coder *c, const struct gcb_view *in, bool *raw,
                        struct gcb_diag *diag)
{
    *raw = false;
    if (c->nonfinite == GCB_NONFINITE_TRUSTED ||
        c->kernels.reduce.max_bits(in->data, in->count) < GCB_INF_BITS)
        return 0;
    *raw = c->nonfinite == GCB_NONFINITE_RAW;
    return *raw ? 0 : gcb_diag_set(diag, GCB_E_NONFINITE, "the tensor holds an infinity or NaN");
}

int gcb_coder_encode_raw(struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out,
                         struct gcb_diag *diag)
{
    struct gcb_frame frame = c->frame;
    const size_t start = out->len;

    if (in->count != c->env.count || c->env.decoding)
        return gcb_diag_set(diag, GCB_E_MISMATCH, "the coder is for another tensor");
    frame.flags |= GCB_WIRE_STORED;
    frame.param_bytes = 0;
    frame.payload_bytes = in->count * gcb_framing_raw_size(frame.source);
    gcb_frame_write(&frame, out);
    write_raw(c, in, out);
    return finish(&frame, start, out, diag);
}

int gcb_coder_encode(struct gcb_coder *c, const struct gcb_step *at, const struct gcb_view *in,
                     struct gcb_wbuf *out, struct gcb_diag *diag)
{
    const size_t start = out->len;
    struct gcb_frame frame = c->frame;
    bool raw;
    int err;

    if (in->count != c->env.count || c->env.decoding)
        return gcb_diag_set(diag, GCB_E_MISMATCH, "the coder is for another tensor");
    err = check_finite(c, in, &raw, diag);
    if (err)
        return err;
    if (raw)
        return gcb_coder_encode_raw(c, in, out, diag);
    gcb_frame_write(&frame, out);
    err = c->method.codec->ops->encode(c->state, at, in, out);
    frame.payload_bytes = out->len - start - gcb_frame_head(&frame);
    if (err == GCB_E_SEND_RAW) {
        out->len = start;
        return gcb_coder_encode_raw(c, in, out, diag);
    }
    if (err || out->failed) {
        out->len = start;
        return gcb_diag_set(diag, err ? err : GCB_E_NOSPACE, "method '%s': %s", c->method.name,
                            gcb_status_text(err ? err : GCB_E_NOSPACE));
    }
    if (frame.payload_bytes > in->count * gcb_framing_raw_size(frame.source)) {
        out->len = start;
        return gcb_coder_encode_raw(c, in, out, diag);
    }
    return finish(&frame, start, out, diag);
}

bool gcb_coder_accepts(const struct gcb_coder *c, const struct gcb_frame *f)
{
    if (f->count != c->env.count)
        return false;
    if (f->flags & GCB_WIRE_STORED)
        return true;
    return c->state && f->codec == c->method.codec->wire_id &&
           f->param_bytes == c->frame.param_bytes &&
           memcmp(f->params, c->frame.params, f->param_bytes) == 0;
}

/* Parses a message and says whether it is one for this decoder. */
static int open_message(const struct gcb_coder *c, struct gcb_frame *frame,
                        struct gcb_rbuf *payload, const void *message, size_t length,
                        struct gcb_diag *diag)
{
    const int err = gcb_frame_parse(frame, payload, message, length, diag);

    if (err)
        return err;
    if (!c->env.decoding || !gcb_coder_accepts(c, frame))
        return gcb_diag_set(diag, GCB_E_MISMATCH, "the message is not of the decoder's kind");
    return 0;
}

int gcb_coder_decode(struct gcb_coder *c, const void *message, size_t length,
                     const struct gcb_mview *out, struct gcb_diag *diag)
{
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    int err = open_message(c, &frame, &payload, message, length, diag);

    if (err)
        return err;
    if (out->count != frame.count)
        return gcb_diag_set(diag, GCB_E_MISMATCH, "the output has another size than the message");
    if (frame.flags & GCB_WIRE_STORED)
        err = read_raw(c, frame.source, &payload, out);
    else
        err = c->method.codec->ops->decode(c->state, &payload, out);
    if (!err && (payload.failed || gcb_rbuf_left(&payload)))
        err = GCB_E_CORRUPT;
    if (err == GCB_E_NOMEM)
        return gcb_diag_set(diag, err, "method '%s': %s", c->method.name, gcb_status_text(err));
    return err ? gcb_diag_set(diag, err, "damaged message: its payload does not decode") : 0;
}

int gcb_coder_describe(struct gcb_coder *c, const void *message, size_t length,
                       struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    int err = open_message(c, &frame, &payload, message, length, diag);

    if (err)
        return err;
    memset(parts, 0, sizeof(*parts));
    parts->wire_bytes = length;
    parts->header_bytes = length - frame.payload_bytes;
    parts->stored = frame.flags & GCB_WIRE_STORED;
    if (!parts->stored) {
        err = c->method.codec->ops->describe(c->state, &payload, &parts->payload);
        return err ? gcb_diag_set(diag, err, "payload: %s", gcb_status_text(err)) : 0;
    }
    parts->payload.value_bytes = frame.payload_bytes;
    parts->payload.kept = parts->payload.positions = frame.count;
    parts->payload.entropy0_bits = 8.0 * (double)frame.payload_bytes;
    return 0;
}

uint64_t gcb_coder_clamped(const struct gcb_coder *c)
{
    const struct gcb_codec_ops *ops = c->method.codec->ops;

    return ops->clamped ? ops->clamped(c->state) : 0;
}

double gcb_coder_largest(const struct gcb_coder *c)
{
    const struct gcb_codec_ops *ops = c->method.codec->ops;

    return ops->largest ? ops->largest(c->state) : NAN;
}

double gcb_coder_nominal_bits(const struct gcb_coder *c)
{
    const struct gcb_preset *preset = c->method.preset;

    return preset && preset->nominal_bits ? preset->nominal_bits(c->state)
                                          : c->method.codec->ops->nominal_bits(c->state);
}

double gcb_coder_density(const struct gcb_coder *c)
{
    const struct gcb_codec_ops *ops = c->method.codec->ops;

    return ops->density ? ops->density(c->state) : NAN;
}
