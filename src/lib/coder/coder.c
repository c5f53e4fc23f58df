#include "src/lib/coder/coder_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

/* ---- frames ---- */

/* Bytes of the raw tensor, as the payload of a stored message. */
static uint64_t framing_raw_bytes(const struct gcb_framing *f)
{
    return f->env.count * gcb_raw_size(f->frame.source);
}

uint64_t gcb_framing_max_payload(const struct gcb_framing *f, uint64_t own, bool may_send_raw)
{
    const uint64_t raw = framing_raw_bytes(f);

    return own < raw && (may_send_raw || f->nonfinite == GCB_NONFINITE_RAW) ? raw : own;
}

/* Copies the shape and the path. */
static int copy_names(struct gcb_framing *f, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    const char *path = env->path ? env->path : "";

    f->path = gcb_strdup(path);
    f->env.path = f->path;
    if (env->shape)
        f->shape = gcb_alloc_array(env->rank, sizeof(*f->shape));
    f->env.shape = f->shape;
    if (!f->path || (env->shape && !f->shape))
        return gcb_diag_nomem(diag, strlen(path) + 1, "a path and a shape");
    if (env->shape)
        memcpy(f->shape, env->shape, env->rank * sizeof(*f->shape));
    return 0;
}

static int bind(struct gcb_framing *f, const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    f->env = config->env;
    f->env.count = f->frame.count;
    f->env.wire_id = f->frame.codec;
    if (!f->env.segment)
        f->env.segment = UINT64_C(1) << 31;
    f->nonfinite = config->nonfinite;
    return copy_names(f, &config->env, diag);
}

/* Binds an encoder, or a decoder if config->env.decoding is true, to a tensor of config->env.count elements.
 * GCB_E_NOMEM: there is no memory, or too many elements. */
static int framing_method(struct gcb_framing *f, const struct gcb_method *method,
                          const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    if (config->env.count > GCB_MAX_ELEMENTS)
        return gcb_diag_set(diag, GCB_E_NOMEM, "%" PRIu64 " elements are too many",
                            config->env.count);
    f->method = *method;
    f->frame.source = config->source;
    f->frame.count = config->env.count;
    f->frame.flags = config->checksum ? GCB_WIRE_CHECKSUM : 0;
    f->frame.codec = method->codec->wire_id;
    return bind(f, config, diag);
}

/* Refuses a parameter with GCB_PARAM_ADDED that has no meaning with the message's other parameters. */
static int check_added(const struct gcb_method *m, struct gcb_diag *diag)
{
    const struct gcb_param *table = m->codec->params;

    for (size_t row = 0; table && table[row].name; row++)
        if (table[row].flags & GCB_PARAM_ADDED && m->value[row] > table[row].def &&
            !gcb_method_applies(m, row))
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "message header: '%s' has a meaning only with %s", table[row].name,
                                table[row].needs);
    return 0;
}

/* Finds the method that the frame names, with the frame's parameters. */
static int find_method(struct gcb_framing *f, struct gcb_diag *diag)
{
    struct gcb_rbuf params = {.data = f->frame.params, .len = f->frame.param_bytes};
    struct gcb_method *m = &f->method;
    int err;

    m->codec = gcb_codec_by_wire_id(f->frame.codec);
    if (!m->codec)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "the message has an unknown codec (wire id %u)", f->frame.codec);
    m->name = m->codec->name;
    f->env.wire_id = f->frame.codec;
    f->from_message = true;
    err = gcb_param_read(m->codec->params, m->value, &params, diag);
    return err ? err : check_added(m, diag);
}

/* Gives the decoder of a stored message the method of another message. Call framing_start after it. Returns 0,
 * GCB_E_UNSUPPORTED or GCB_E_CORRUPT. */
static int framing_learn(struct gcb_framing *f, const struct gcb_frame *frame,
                         struct gcb_diag *diag)
{
    f->frame = *frame;
    return find_method(f, diag);
}

/* Frees the state and forgets the method. `fini` is the codec's function and may be NULL. */
static void framing_forget(struct gcb_framing *f, void (*fini)(void *state))
{
    if (f->state && fini)
        fini(f->state);
    gcb_free(f->state);
    f->state = NULL;
    f->method = (struct gcb_method){0};
}

/* Binds a decoder to messages with such a frame. Returns 0, GCB_E_NOMEM, GCB_E_UNSUPPORTED or GCB_E_CORRUPT. */
static int framing_like(struct gcb_framing *f, const struct gcb_frame *frame,
                        const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    const uint64_t limit = config->max_elements && config->max_elements < GCB_MAX_ELEMENTS
                               ? config->max_elements
                               : GCB_MAX_ELEMENTS;
    int err;

    f->frame = *frame;
    err = bind(f, config, diag);
    if (err)
        return err;
    f->env.decoding = true;
    if (f->frame.count > limit)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the message declares %" PRIu64 " elements; at most %" PRIu64
                            " are allowed",
                            f->frame.count, limit);
    return f->frame.flags & GCB_WIRE_STORED ? 0 : find_method(f, diag);
}

int gcb_framing_start(struct gcb_framing *f, size_t size,
                      int (*init)(void *state, const struct gcb_codec_env *env,
                                  struct gcb_diag *diag),
                      struct gcb_diag *diag)
{
    int err;

    f->state = gcb_alloc_zero(1, size ? size : 1);
    if (!f->state)
        return gcb_diag_nomem(diag, size, "a codec's state");
    gcb_param_store(f->method.codec->params, f->method.value, f->state);
    err = init ? init(f->state, &f->env, diag) : 0;
    if (err != GCB_E_INVALID || !f->from_message)
        return err;
    if (diag)
        diag->status = GCB_E_CORRUPT;
    return GCB_E_CORRUPT;
}

/* Completes the frame of framing_method; call it after framing_start. `own`: bytes of the codec's longest payload.
 * Returns 0 or GCB_E_INTERNAL. */
static int framing_prepare(struct gcb_framing *f, uint64_t own, struct gcb_diag *diag)
{
    struct gcb_wbuf params = {.data = f->frame.params, .cap = sizeof(f->frame.params)};

    if (f->frame.count > UINT32_MAX || own > UINT32_MAX || framing_raw_bytes(f) > UINT32_MAX)
        f->frame.flags |= GCB_WIRE_WIDE;
    gcb_param_write(f->method.codec->params, f->state, &params);
    f->frame.param_bytes = (uint8_t)params.len;
    return params.failed ? gcb_diag_set(diag, GCB_E_INTERNAL, "too many header parameters") : 0;
}

/* Frees everything. `fini` is the codec's function and may be NULL. */
static void framing_fini(struct gcb_framing *f, void (*fini)(void *state))
{
    framing_forget(f, fini);
    gcb_free(f->path);
    gcb_free(f->shape);
}

/* Does the message have the same codec, count and parameters? A stored message needs only the count. */
static bool framing_accepts(const struct gcb_framing *f, const struct gcb_frame *frame)
{
    if (frame->count != f->env.count)
        return false;
    if (frame->flags & GCB_WIRE_STORED)
        return true;
    return f->state && frame->codec == f->frame.codec &&
           frame->param_bytes == f->frame.param_bytes &&
           memcmp(frame->params, f->frame.params, frame->param_bytes) == 0;
}

static int explain_codec(const struct gcb_framing *f, const struct gcb_frame *frame,
                         struct gcb_diag *diag)
{
    const struct gcb_codec *sent = gcb_codec_by_wire_id(frame->codec);

    if (!sent)
        return gcb_diag_set(diag, GCB_E_MISMATCH,
                            "the message has an unknown codec (wire id %u), the decoder expects "
                            "'%s'",
                            frame->codec, f->method.codec->name);
    return gcb_diag_set(diag, GCB_E_MISMATCH,
                        "the message is of codec '%s', the decoder expects '%s'", sent->name,
                        f->method.codec->name);
}

/* Says why a decoder with a method does not accept a message: which of count, codec and parameters differs. Returns
 * GCB_E_MISMATCH, or GCB_E_CORRUPT if a parameter is out of its range. */
static int framing_explain(const struct gcb_framing *f, const struct gcb_frame *frame,
                           struct gcb_diag *diag)
{
    const struct gcb_param *table;
    struct gcb_rbuf sent = {.data = frame->params, .len = frame->param_bytes};
    struct gcb_rbuf own = {.data = f->frame.params, .len = f->frame.param_bytes};
    double got[GCB_MAX_PARAMS], expected[GCB_MAX_PARAMS];
    char texts[2][40];
    int err;

    if (frame->count != f->env.count)
        return gcb_diag_set(diag, GCB_E_MISMATCH,
                            "the message has %" PRIu64 " elements, the decoder %" PRIu64,
                            frame->count, f->env.count);
    if (frame->codec != f->frame.codec)
        return explain_codec(f, frame, diag);
    table = f->method.codec->params;
    err = gcb_param_read(table, got, &sent, diag);
    if (!err)
        err = gcb_param_read(table, expected, &own, diag);
    if (err)
        return err;
    for (size_t i = 0; table && table[i].name; i++)
        if (got[i] < expected[i] || got[i] > expected[i])
            return gcb_diag_set(diag, GCB_E_MISMATCH, "%s=%s, the decoder expects %s",
                                table[i].name, gcb_param_text(texts[0], &table[i], got[i]),
                                gcb_param_text(texts[1], &table[i], expected[i]));
    return gcb_diag_set(diag, GCB_E_MISMATCH, "the message does not fit this decoder");
}

/* ---- coders ---- */

void gcb_codec_env_keep(struct gcb_codec_env *env, struct gcb_kernels *kernels,
                        struct gcb_queue *queue)
{
    *queue = env->queue ? *env->queue : (struct gcb_queue){.threads = 1};
    if (env->kernels)
        *kernels = *env->kernels;
    else
        gcb_kernels_init(kernels, gcb_cpu_detect());
    env->queue = queue;
    env->kernels = kernels;
}

static int start(struct gcb_coder *c, const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    c->place = config->place;
    if (c->place)
        return gcb_coder_start_there(c, diag);
    gcb_codec_env_keep(&c->base.env, &c->kernels, &c->queue);
    return c->base.method.codec ? gcb_framing_start(&c->base, gcb_coder_ops(c)->state_size,
                                                    gcb_coder_ops(c)->init, diag)
                                : 0;
}

static uint64_t own_payload(const struct gcb_coder *c)
{
    return c->there ? c->there->max_payload(c->base.state)
                    : gcb_coder_ops(c)->max_payload(c->base.state);
}

int gcb_coder_create(struct gcb_coder **out, const struct gcb_method *method,
                     const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_coder *c = gcb_alloc_zero(1, sizeof(*c));
    int err = c ? framing_method(&c->base, method, config, diag)
                : gcb_diag_nomem(diag, sizeof(*c), "a coder");

    if (!err)
        err = start(c, config, diag);
    if (!err)
        err = framing_prepare(&c->base, own_payload(c), diag);
    if (err)
        gcb_coder_destroy(c);
    else
        *out = c;
    return err;
}

int gcb_coder_create_decoder(struct gcb_coder **out, const void *message, size_t length,
                             const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    const int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    return err ? err : gcb_coder_create_like(out, &frame, config, diag);
}

int gcb_coder_create_like(struct gcb_coder **out, const struct gcb_frame *frame,
                          const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_coder *c = gcb_alloc_zero(1, sizeof(*c));
    int err = c ? framing_like(&c->base, frame, config, diag)
                : gcb_diag_nomem(diag, sizeof(*c), "a coder");

    if (!err)
        err = start(c, config, diag);
    if (err)
        gcb_coder_destroy(c);
    else
        *out = c;
    return err;
}

int gcb_coder_renew_decoder(struct gcb_coder **c, const void *message, size_t length,
                            const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    const int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (err || (*c && gcb_coder_accepts(*c, &frame)))
        return err;
    gcb_coder_destroy(*c);
    *c = NULL;
    return gcb_coder_create_like(c, &frame, config, diag);
}

void gcb_coder_destroy(struct gcb_coder *c)
{
    if (!c)
        return;
    framing_fini(&c->base, c->there        ? c->there->fini
                           : c->base.state ? gcb_coder_ops(c)->fini
                                           : NULL);
    gcb_free(c->decoded);
    gcb_free(c);
}

uint64_t gcb_coder_elements(const struct gcb_coder *c)
{
    return c->base.env.count;
}

size_t gcb_coder_bound(const struct gcb_coder *c)
{
    bool raw;

    if (!c->base.state || c->base.env.decoding)
        return 0;
    raw = c->there ||
          (gcb_coder_ops(c)->may_send_raw && gcb_coder_ops(c)->may_send_raw(c->base.state));
    return gcb_frame_head(&c->base.frame) + gcb_framing_max_payload(&c->base, own_payload(c), raw) +
           gcb_frame_tail(&c->base.frame);
}

size_t gcb_coder_length(const struct gcb_coder *c)
{
    const uint64_t raw = framing_raw_bytes(&c->base);
    struct gcb_frame frame = c->base.frame;
    uint64_t payload = own_payload(c);

    if (gcb_coder_ops(c)->length_varies && gcb_coder_ops(c)->length_varies(c->base.state))
        return 0;
    if (payload > raw) { /* always sent raw */
        payload = raw;
        frame.param_bytes = 0;
    }
    return gcb_frame_head(&frame) + payload + gcb_frame_tail(&frame);
}

const struct gcb_method *gcb_coder_method(const struct gcb_coder *c)
{
    return &c->base.method;
}

const struct gcb_frame *gcb_coder_frame(const struct gcb_coder *c)
{
    return &c->base.frame;
}

void *gcb_coder_codec_state(struct gcb_coder *c)
{
    return c->base.state;
}

/* Restores what the coder can keep. */
static void keep(struct gcb_coder *c, const uint64_t *kept)
{
    static const uint64_t nothing[GCB_KEPT];

    if (gcb_coder_restore(c, kept))
        gcb_coder_restore(c, nothing);
}

bool gcb_coder_rebind(struct gcb_coder *c, const struct gcb_method *method)
{
    const struct gcb_codec_ops *ops = gcb_coder_ops(c);
    struct gcb_framing *f = &c->base;
    uint64_t kept[GCB_KEPT];

    if (!ops->rebind)
        return false;
    gcb_coder_save(c, kept);
    gcb_param_store(method->codec->params, method->value, f->state);
    if (ops->rebind(f->state, &f->env)) {
        gcb_param_store(f->method.codec->params, f->method.value, f->state);
        return false;
    }
    f->method = *method;
    f->frame.flags &= (uint8_t)~GCB_WIRE_WIDE;
    framing_prepare(f, own_payload(c), NULL);
    keep(c, kept);
    return true;
}

int gcb_coder_remake(struct gcb_coder **out, const struct gcb_coder *c,
                     const struct gcb_method *method, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = {
        .env = c->base.env,
        .nonfinite = c->base.nonfinite,
        .source = c->base.frame.source,
        .checksum = c->base.frame.flags & GCB_WIRE_CHECKSUM,
    };
    uint64_t kept[GCB_KEPT];
    const int err = gcb_coder_create(out, method, &config, diag);

    if (err)
        return err;
    gcb_coder_save(c, kept);
    keep(*out, kept);
    return 0;
}

void gcb_coder_save(const struct gcb_coder *c, uint64_t *kept)
{
    memset(kept, 0, GCB_KEPT * sizeof(*kept));
    if (c->base.state && gcb_coder_ops(c)->save)
        gcb_coder_ops(c)->save(c->base.state, kept);
}

int gcb_coder_restore(struct gcb_coder *c, const uint64_t *kept)
{
    if (gcb_coder_ops(c)->restore)
        return gcb_coder_ops(c)->restore(c->base.state, kept);
    for (size_t i = 0; i < GCB_KEPT; i++)
        if (kept[i])
            return GCB_E_MISMATCH;
    return 0;
}

size_t gcb_coder_raw_bytes(const struct gcb_coder *c)
{
    return gcb_frame_head(&c->base.frame) + framing_raw_bytes(&c->base) +
           gcb_frame_tail(&c->base.frame);
}

size_t gcb_coder_head(const struct gcb_coder *c)
{
    return gcb_frame_head(&c->base.frame);
}

/* Writes the tensor in its source type, as the payload of a stored message. */
static void write_raw(const struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out)
{
    uint8_t *p = gcb_wbuf_take(out, in->count * gcb_raw_size(c->base.frame.source));

    if (!p || in->count == 0)
        return;
    if (c->base.frame.source == GCB_F16)
        c->kernels.convert.to_fp16(p, in->data, in->count);
    else if (c->base.frame.source == GCB_BF16)
        c->kernels.convert.to_bf16(p, in->data, in->count);
    else
        memcpy(p, in->data, in->count * sizeof(float));
}

static int read_raw(const struct gcb_coder *c, enum gcb_dtype source, struct gcb_rbuf *in,
                    const struct gcb_mview *out)
{
    const uint8_t *p = gcb_rbuf_take(in, out->count * gcb_raw_size(source));

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

/* Completes the message that starts at `start`: reserves the checksum field and updates the head. */
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

/* A tensor with infinities or NaNs is sent raw, or refused. */
static int encode_nonfinite(struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out,
                            struct gcb_diag *diag)
{
    c->nonfinite = true;
    if (c->base.nonfinite == GCB_NONFINITE_RAW)
        return gcb_coder_encode_raw(c, in, out, diag);
    return gcb_diag_set(diag, GCB_E_NONFINITE, "the tensor contains an infinity or NaN");
}

static int check_count(const struct gcb_coder *c, const struct gcb_view *in, struct gcb_diag *diag)
{
    if (in->count == c->base.env.count && !c->base.env.decoding)
        return 0;
    return gcb_diag_set(diag, GCB_E_MISMATCH,
                        "the coder is a decoder, or is for a tensor of another size");
}

int gcb_coder_encode_raw(struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out,
                         struct gcb_diag *diag)
{
    struct gcb_frame frame = c->base.frame;
    const size_t start = out->len;
    const int err = check_count(c, in, diag);

    if (err)
        return err;
    frame.flags |= GCB_WIRE_STORED;
    frame.param_bytes = 0;
    frame.payload_bytes = in->count * gcb_raw_size(frame.source);
    gcb_frame_write(&frame, out);
    write_raw(c, in, out);
    return finish(&frame, start, out, diag);
}

int gcb_coder_encode(struct gcb_coder *c, const struct gcb_step *at, const struct gcb_view *in,
                     struct gcb_wbuf *out, struct gcb_diag *diag)
{
    const struct gcb_wbuf before = *out;
    bool *found;
    int err = check_count(c, in, diag);

    if (!err && c->place)
        return gcb_coder_encode_view_there(c, at, in, out, diag);
    if (err || c->base.nonfinite == GCB_NONFINITE_TRUSTED)
        return err ? err : gcb_coder_encode_finite(c, at, in, out, diag);
    found = gcb_coder_ops(c)->nonfinite ? gcb_coder_ops(c)->nonfinite(c->base.state) : NULL;
    if (found)
        *found = true;
    else if (gcb_max_bits(in->data, in->count, &c->kernels, &c->queue) >= GCB_INF_BITS)
        return encode_nonfinite(c, in, out, diag);
    err = gcb_coder_encode_finite(c, at, in, out, diag);
    if (!found || !*found)
        return err;
    *found = false;
    if (err == GCB_E_NOSPACE) /* the codec may not have come to look */
        return err;
    *out = before;
    return encode_nonfinite(c, in, out, diag);
}

int gcb_coder_encode_finite(struct gcb_coder *c, const struct gcb_step *at,
                            const struct gcb_view *in, struct gcb_wbuf *out, struct gcb_diag *diag)
{
    const size_t start = out->len;
    struct gcb_frame frame = c->base.frame;
    int err = check_count(c, in, diag);

    if (err)
        return err;
    c->nonfinite = false;
    gcb_frame_write(&frame, out);
    err = gcb_coder_ops(c)->encode(c->base.state, at, in, out);
    frame.payload_bytes = out->len - start - gcb_frame_head(&frame);
    if (err == GCB_E_SEND_RAW) {
        out->len = start;
        return gcb_coder_encode_raw(c, in, out, diag);
    }
    if (err || out->failed) {
        out->len = start;
        return gcb_diag_set(diag, err ? err : GCB_E_NOSPACE, "method '%s': %s", c->base.method.name,
                            gcb_status_text(err ? err : GCB_E_NOSPACE));
    }
    if (frame.payload_bytes > in->count * gcb_raw_size(frame.source)) {
        out->len = start;
        return gcb_coder_encode_raw(c, in, out, diag);
    }
    return finish(&frame, start, out, diag);
}

bool gcb_coder_accepts(const struct gcb_coder *c, const struct gcb_frame *frame)
{
    return c->base.env.decoding && framing_accepts(&c->base, frame);
}

/* Parses a message and checks that this decoder can decode it. */
static int open_message(struct gcb_coder *c, struct gcb_frame *frame, struct gcb_rbuf *payload,
                        const void *message, size_t length, struct gcb_diag *diag)
{
    const int err = gcb_frame_parse(frame, payload, message, length, diag);

    if (err)
        return err;
    if (!c->base.env.decoding)
        return gcb_diag_set(diag, GCB_E_MISMATCH, "the coder is an encoder");
    if (gcb_coder_accepts(c, frame))
        return 0;
    if (!c->place && !c->base.state && frame->count == c->base.env.count)
        return gcb_coder_adopt(c, frame, diag);
    return framing_explain(&c->base, frame, diag);
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
        return gcb_diag_set(diag, GCB_E_MISMATCH,
                            "the output and the message have different sizes");
    if (c->place)
        return gcb_coder_decode_there(c, &frame, &payload, out, diag);
    if (frame.flags & GCB_WIRE_STORED)
        err = read_raw(c, frame.source, &payload, out);
    else
        err = gcb_coder_ops(c)->read(c->base.state, &payload, out->data, NULL);
    if (!err && (payload.failed || gcb_rbuf_left(&payload)))
        err = GCB_E_CORRUPT;
    if (err == GCB_E_NOMEM)
        return gcb_diag_set(diag, err, "method '%s': %s", c->base.method.name,
                            gcb_status_text(err));
    return err ? gcb_diag_set(diag, err, "damaged message: its payload does not decode") : 0;
}

/* Codecs on a device do not describe messages, so a decoder on the host does. */
static int describe_here(const struct gcb_frame *frame, const void *message, size_t length,
                         struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = {.max_elements = frame->count};
    struct gcb_coder *here = NULL;
    int err = gcb_coder_create_like(&here, frame, &config, diag);

    if (!err)
        err = gcb_coder_describe(here, message, length, parts, diag);
    gcb_coder_destroy(here);
    return err;
}

int gcb_coder_describe(struct gcb_coder *c, const void *message, size_t length,
                       struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    int err = open_message(c, &frame, &payload, message, length, diag);

    if (err)
        return err;
    if (c->place)
        return describe_here(&frame, message, length, parts, diag);
    memset(parts, 0, sizeof(*parts));
    parts->wire_bytes = length;
    parts->header_bytes = length - frame.payload_bytes;
    parts->stored = frame.flags & GCB_WIRE_STORED;
    if (!parts->stored) {
        err = gcb_coder_ops(c)->describe(c->base.state, &payload, &parts->payload);
        return err ? gcb_diag_set(diag, err, "payload: %s", gcb_status_text(err)) : 0;
    }
    parts->payload.value_bytes = frame.payload_bytes;
    parts->payload.kept = parts->payload.positions = frame.count;
    parts->payload.entropy0_bits = 8.0 * (double)frame.payload_bytes;
    return 0;
}

uint64_t gcb_coder_clamped(const struct gcb_coder *c)
{
    if (c->place)
        return c->clamped;
    return gcb_coder_ops(c)->clamped && !c->nonfinite ? gcb_coder_ops(c)->clamped(c->base.state)
                                                      : 0;
}

double gcb_coder_largest(const struct gcb_coder *c)
{
    return gcb_coder_ops(c)->largest ? gcb_coder_ops(c)->largest(c->base.state) : NAN;
}

double gcb_coder_nominal_bits(const struct gcb_coder *c)
{
    const struct gcb_preset *preset = c->base.method.preset;
    double (*of)(const void *state) =
        preset && preset->nominal_bits ? preset->nominal_bits : gcb_coder_ops(c)->nominal_bits;

    return of ? of(c->base.state) : gcb_coder_ops(c)->bits;
}

double gcb_coder_density(const struct gcb_coder *c)
{
    return gcb_coder_ops(c)->density ? gcb_coder_ops(c)->density(c->base.state) : NAN;
}

/* ---- decoders that add: to elements, or to a canvas of coefficients ---- */

/* Gives the decoder the message's method, with a new state. After a failure the decoder is unchanged. */
static int learn(struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag)
{
    struct gcb_framing *f = &c->base;
    struct gcb_framing old = *f;
    int err;

    f->state = NULL;
    err = framing_learn(f, frame, diag);
    if (!err)
        err = gcb_framing_start(f, gcb_coder_ops(c)->state_size, gcb_coder_ops(c)->init, diag);
    if (err) {
        framing_forget(f, f->state ? gcb_coder_ops(c)->fini : NULL);
        *f = old;
    } else {
        framing_forget(&old, old.state ? old.method.codec->ops->fini : NULL);
    }
    return err;
}

/* Gives the decoder's state the parameters of the frame, if it can take them. */
static int rebind(struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag)
{
    struct gcb_framing *f = &c->base;
    const struct gcb_method method = f->method;
    const struct gcb_frame own = f->frame;
    int err = framing_learn(f, frame, diag);

    if (!err) {
        gcb_param_store(f->method.codec->params, f->method.value, f->state);
        err = gcb_coder_ops(c)->rebind(f->state, &f->env);
        if (err)
            gcb_param_store(method.codec->params, method.value, f->state);
    }
    if (err) {
        f->method = method;
        f->frame = own;
    }
    return err == GCB_E_MISMATCH ? framing_explain(f, frame, diag) : err;
}

int gcb_coder_adopt(struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag)
{
    struct gcb_framing *f = &c->base;

    if (framing_accepts(f, frame))
        return 0;
    if (frame->count != f->env.count || (f->state && frame->codec != f->frame.codec))
        return framing_explain(f, frame, diag);
    if (f->state && gcb_coder_ops(c)->rebind)
        return rebind(c, frame, diag);
    return learn(c, frame, diag);
}

/* Decodes a payload and adds the decoded tensor. */
static int decode_and_add(struct gcb_coder *c, struct gcb_rbuf *in, const struct gcb_addition *to)
{
    const uint64_t count = c->base.env.count;
    int err;

    if (!c->decoded)
        c->decoded = gcb_alloc_array(count, sizeof(*c->decoded));
    if (!c->decoded)
        return GCB_E_NOMEM;
    err = gcb_coder_ops(c)->read(c->base.state, in, c->decoded, NULL);
    if (!err && (in->failed || gcb_rbuf_left(in)))
        err = GCB_E_CORRUPT;
    if (!err)
        gcb_add_raw(to, c->decoded, count, GCB_F32, &c->kernels, &c->queue);
    return err;
}

static int tell_damage(const struct gcb_coder *c, int err, struct gcb_diag *diag)
{
    if (!err || err == GCB_E_MISMATCH)
        return err;
    if (err == GCB_E_NOMEM)
        return gcb_diag_set(diag, err, "method '%s': %s", c->base.method.name,
                            gcb_status_text(err));
    return gcb_diag_set(diag, err, "damaged message: its payload does not decode");
}

int gcb_coder_add(struct gcb_coder *c, const void *message, size_t length,
                  const struct gcb_addition *to, struct gcb_diag *diag)
{
    struct gcb_frame frame;
    struct gcb_rbuf payload, again;
    int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (!err)
        err = gcb_coder_adopt(c, &frame, diag);
    if (err)
        return err;
    again = payload;
    if (frame.flags & GCB_WIRE_STORED)
        gcb_add_raw(to, payload.data, frame.count, frame.source, &c->kernels, &c->queue);
    else if (gcb_coder_has_canvas(c) || (to->mask && !gcb_coder_ops(c)->marks))
        err = GCB_E_UNSUPPORTED;
    else
        err = gcb_coder_ops(c)->read(c->base.state, &payload, NULL, to);
    if (err == GCB_E_UNSUPPORTED)
        err = decode_and_add(c, &again, to);
    return tell_damage(c, err, diag);
}

bool gcb_coder_has_canvas(const struct gcb_coder *c)
{
    uint64_t floats;

    return c->base.state && gcb_coder_ops(c)->canvas &&
           gcb_coder_ops(c)->canvas(c->base.state, &floats);
}

int gcb_coder_collect(struct gcb_coder *c, const void *message, size_t length, float weight,
                      bool joins, struct gcb_diag *diag)
{
    struct gcb_addition to = {.weight = weight, .joins = joins};
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    uint64_t floats;
    int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (!err && frame.flags & GCB_WIRE_STORED)
        err = gcb_diag_set(diag, GCB_E_MISMATCH, "the message is the raw tensor");
    if (!err)
        err = gcb_coder_adopt(c, &frame, diag);
    if (err)
        return err;
    to.acc = gcb_coder_ops(c)->canvas(c->base.state, &floats);
    if (!joins)
        memset(to.acc, 0, floats * sizeof(*to.acc));
    return tell_damage(c, gcb_coder_ops(c)->read(c->base.state, &payload, NULL, &to), diag);
}

int gcb_coder_rebuild(struct gcb_coder *c, float *out, struct gcb_diag *diag)
{
    return tell_damage(c, gcb_coder_ops(c)->inverse(c->base.state, out), diag);
}
