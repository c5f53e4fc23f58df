#include "src/lib/coder/coder_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/foreign.h"
#include "src/lib/codec/packed.h"

/* ---- creating and destroying coders ---- */

/* Bytes of the raw tensor, as the payload of a stored message. */
static uint64_t raw_bytes(const struct gcb_coder *c)
{
    return c->env.count * gcb_raw_size(c->frame.source);
}

uint64_t gcb_coder_max_payload(const struct gcb_coder *c)
{
    const uint64_t raw = raw_bytes(c), own = c->state ? c->state->max_payload : 0;
    const bool may_send_raw =
        c->place || c->state->may_send_raw || c->nonfinite == GCB_NONFINITE_RAW;

    return own < raw && may_send_raw ? raw : own;
}

/* Copies an array, which may be NULL. Returns false if there is no memory. */
static bool copy_numbers(uint64_t **out, const uint64_t *from, size_t count)
{
    *out = from ? gcb_alloc_array(count, sizeof(**out)) : NULL;
    if (*out && count)
        memcpy(*out, from, count * sizeof(**out));
    return *out || !from;
}

int gcb_codec_env_keep(struct gcb_codec_env *env, struct gcb_codec_env_copy *copy,
                       struct gcb_diag *diag)
{
    const char *path = env->path ? env->path : "";

    copy->queue = env->queue ? *env->queue : (struct gcb_queue){.threads = 1};
    if (env->kernels)
        copy->kernels = *env->kernels;
    else
        gcb_kernels_init(&copy->kernels, gcb_cpu_detect());
    copy->path = gcb_strdup(path);
    if (!copy->path || !copy_numbers(&copy->shape, env->shape, env->rank) ||
        !copy_numbers(&copy->joined, env->joined, env->joined_length))
        return gcb_diag_nomem(diag, strlen(path) + 1, "a path and a shape");
    env->queue = &copy->queue;
    env->kernels = &copy->kernels;
    env->path = copy->path;
    env->shape = copy->shape;
    env->joined = copy->joined;
    return 0;
}

void gcb_codec_env_drop(struct gcb_codec_env_copy *copy)
{
    gcb_free(copy->path);
    gcb_free(copy->shape);
    gcb_free(copy->joined);
}

/* Sets the coder's environment from `config`. The frame must be set. */
static int set_environment(struct gcb_coder *c, const struct gcb_coder_config *config,
                           struct gcb_diag *diag)
{
    c->place = config->place;
    c->nonfinite = config->nonfinite;
    c->env = config->env;
    c->env.count = c->frame.count;
    c->env.wire_id = c->frame.codec;
    if (!c->env.segment)
        c->env.segment = UINT64_C(1) << 31;
    return gcb_codec_env_keep(&c->env, &c->kept, diag);
}

/* Makes the codec's state, if there is a codec. Parameters from a message may be hostile. If init
 * calls them invalid, the message is damaged, so the error becomes GCB_E_CORRUPT. */
static int make_state(struct gcb_coder *c, struct gcb_diag *diag)
{
    size_t size;
    int err = 0;

    if (!c->method.codec)
        return 0;
    if (c->place)
        err = gcb_coder_find_there(c, diag);
    if (err)
        return err;
    size = c->there ? c->there->state_size : gcb_coder_ops(c)->state_size;
    c->state = gcb_alloc_zero(1, size);
    if (!c->state)
        return gcb_diag_nomem(diag, size, "a codec's state");
    c->state->env = c->env;
    c->state->nominal_bits = c->state->density = (double)NAN;
    gcb_param_store(c->method.codec->params, c->method.value, c->state);
    err = (c->there ? c->there->init : gcb_coder_ops(c)->init)(c->state, &c->state->env, diag);
    if (err != GCB_E_INVALID || !c->env.from_message)
        return err;
    if (diag)
        diag->status = GCB_E_CORRUPT;
    return GCB_E_CORRUPT;
}

/* Frees the codec's state, if there is one. */
static void free_state(struct gcb_coder *c)
{
    void (*fini)(void *state);

    if (!c->state)
        return;
    fini = c->there ? c->there->fini : gcb_coder_ops(c)->fini;
    if (fini)
        fini(c->state);
    gcb_free(c->state);
}

/* Sets the parameters in the frame of the coder's messages, and the flag WIDE if lengths may need
 * 64 bits. The codec's state must exist. */
static int complete_frame(struct gcb_coder *c, struct gcb_diag *diag)
{
    struct gcb_wbuf params = {.data = c->frame.params, .cap = sizeof(c->frame.params)};

    if (c->frame.count > UINT32_MAX || c->state->max_payload > UINT32_MAX ||
        raw_bytes(c) > UINT32_MAX)
        c->frame.flags |= GCB_WIRE_WIDE;
    gcb_param_write(c->method.codec->params, c->state, &params);
    c->frame.param_bytes = (uint8_t)params.len;
    return params.failed ? gcb_diag_set(diag, GCB_E_INTERNAL, "too many header parameters") : 0;
}

/* Refuses a parameter with GCB_PARAM_ADDED whose value differs from `absent` in its table row, if
 * the parameter has no meaning with the message's other parameters. */
static int check_added(const struct gcb_method *m, struct gcb_diag *diag)
{
    const struct gcb_param *table = m->codec->params;

    for (size_t row = 0; table && table[row].name; row++)
        if (table[row].flags & GCB_PARAM_ADDED && islessgreater(m->value[row], table[row].absent) &&
            !gcb_method_applies(m, row))
            return gcb_diag_set(diag, GCB_E_CORRUPT,
                                "message header: '%s' has a meaning only with %s", table[row].name,
                                table[row].needs);
    return 0;
}

/* Sets the decoder's frame, method and parameters from a message's frame. */
static int take_frame(struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag)
{
    struct gcb_rbuf params = {.data = frame->params, .len = frame->param_bytes};
    struct gcb_method *m = &c->method;
    int err;

    c->frame = *frame;
    m->codec = gcb_codec_by_wire_id(frame->codec);
    if (!m->codec)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            frame->codec < GCB_WIRE_FOREIGN
                                ? "the message has an unknown codec (wire id %u)"
                                : "the message is of a plug-in (wire id %u), which is needed to "
                                  "decode it",
                            frame->codec);
    m->name = m->codec->name;
    c->env.wire_id = frame->codec;
    c->env.from_message = true;
    err = gcb_param_read(m->codec->params, m->value, &params, diag);
    return err ? err : check_added(m, diag);
}

/* Makes a coder for messages with this frame: an encoder or a decoder of the method or, if `method`
 * is NULL, a decoder of the method that the frame names. The decoder of a stored frame has no
 * method yet. */
static int make_coder(struct gcb_coder **out, const struct gcb_method *method,
                      const struct gcb_frame *frame, const struct gcb_coder_config *config,
                      struct gcb_diag *diag)
{
    struct gcb_coder *c = gcb_alloc_zero(1, sizeof(*c));
    int err;

    if (!c)
        return gcb_diag_nomem(diag, sizeof(*c), "a coder");
    c->frame = *frame;
    err = set_environment(c, config, diag);
    if (method)
        c->method = *method;
    else
        c->env.decoding = true;
    if (!err && !method && !(frame->flags & GCB_WIRE_STORED))
        err = take_frame(c, frame, diag);
    if (!err)
        err = make_state(c, diag);
    if (!err && method)
        err = complete_frame(c, diag);
    if (err)
        gcb_coder_destroy(c);
    else
        *out = c;
    return err;
}

int gcb_coder_create(struct gcb_coder **out, const struct gcb_method *method,
                     const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    const struct gcb_frame frame = {
        .source = config->source,
        .count = config->env.count,
        .flags = config->checksum ? GCB_WIRE_CHECKSUM : 0,
        .codec = method->codec->wire_id,
    };

    if (frame.count > GCB_MAX_ELEMENTS)
        return gcb_diag_set(diag, GCB_E_NOMEM, "%" PRIu64 " elements are too many", frame.count);
    return make_coder(out, method, &frame, config, diag);
}

int gcb_coder_create_like(struct gcb_coder **out, const struct gcb_frame *frame,
                          const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    const uint64_t limit = config->max_elements && config->max_elements < GCB_MAX_ELEMENTS
                               ? config->max_elements
                               : GCB_MAX_ELEMENTS;

    if (frame->count > limit)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the message declares %" PRIu64 " elements; at most %" PRIu64
                            " are allowed",
                            frame->count, limit);
    return make_coder(out, NULL, frame, config, diag);
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

int gcb_coder_create_decoder(struct gcb_coder **out, const void *message, size_t length,
                             const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    *out = NULL;
    return gcb_coder_renew_decoder(out, message, length, config, diag);
}

void gcb_coder_destroy(struct gcb_coder *c)
{
    if (!c)
        return;
    free_state(c);
    gcb_codec_env_drop(&c->kept);
    gcb_free(c->decoded);
    gcb_free(c);
}

/* ---- properties and parameters of a coder ---- */

uint64_t gcb_coder_elements(const struct gcb_coder *c)
{
    return c->env.count;
}

size_t gcb_coder_bound(const struct gcb_coder *c)
{
    if (!c->state || c->env.decoding)
        return 0;
    return gcb_frame_head(&c->frame) + gcb_coder_max_payload(c) + gcb_frame_tail(&c->frame);
}

size_t gcb_coder_length(const struct gcb_coder *c)
{
    const uint64_t raw = raw_bytes(c);
    struct gcb_frame frame = c->frame;
    uint64_t payload = c->state->max_payload;

    if (c->state->length_varies)
        return 0;
    if (payload > raw) { /* always sent raw */
        payload = raw;
        frame.param_bytes = 0;
    }
    return gcb_frame_head(&frame) + payload + gcb_frame_tail(&frame);
}

const struct gcb_method *gcb_coder_method(const struct gcb_coder *c)
{
    return &c->method;
}

const struct gcb_frame *gcb_coder_frame(const struct gcb_coder *c)
{
    return &c->frame;
}

struct gcb_codec_base *gcb_coder_codec_state(const struct gcb_coder *c)
{
    return c->state;
}

uint64_t gcb_coder_clamped(const struct gcb_coder *c)
{
    return c->met_nonfinite ? 0 : c->state->clamped;
}

double gcb_coder_nominal_bits(const struct gcb_coder *c)
{
    const struct gcb_preset *preset = c->method.preset;

    return preset && preset->nominal_bits ? preset->nominal_bits(c->state) : c->state->nominal_bits;
}

/* Restores what gcb_coder_save saved if it fits the coder's parameters. Otherwise the codec begins
 * anew. */
static void restore_kept(struct gcb_coder *c, const uint64_t *kept)
{
    static const uint64_t nothing[GCB_KEPT];

    if (gcb_coder_restore(c, kept))
        gcb_coder_restore(c, nothing);
}

bool gcb_coder_rebind(struct gcb_coder *c, const struct gcb_method *method)
{
    const struct gcb_codec_ops *ops = gcb_coder_ops(c);
    uint64_t kept[GCB_KEPT];

    if (!ops->rebind)
        return false;
    gcb_coder_save(c, kept);
    gcb_param_store(method->codec->params, method->value, c->state);
    if (ops->rebind(c->state)) {
        gcb_param_store(c->method.codec->params, c->method.value, c->state);
        return false;
    }
    c->method = *method;
    c->frame.flags &= (uint8_t)~GCB_WIRE_WIDE;
    complete_frame(c, NULL);
    restore_kept(c, kept);
    return true;
}

int gcb_coder_remake(struct gcb_coder **out, const struct gcb_coder *c,
                     const struct gcb_method *method, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = {
        .env = c->env,
        .nonfinite = c->nonfinite,
        .source = c->frame.source,
        .checksum = c->frame.flags & GCB_WIRE_CHECKSUM,
    };
    uint64_t kept[GCB_KEPT];
    const int err = gcb_coder_create(out, method, &config, diag);

    if (err)
        return err;
    gcb_coder_save(c, kept);
    restore_kept(*out, kept);
    return 0;
}

void gcb_coder_save(const struct gcb_coder *c, uint64_t *kept)
{
    memset(kept, 0, GCB_KEPT * sizeof(*kept));
    if (c->state && gcb_coder_ops(c)->save)
        gcb_coder_ops(c)->save(c->state, kept);
}

int gcb_coder_restore(struct gcb_coder *c, const uint64_t *kept)
{
    if (gcb_coder_ops(c)->restore)
        return gcb_coder_ops(c)->restore(c->state, kept);
    for (size_t i = 0; i < GCB_KEPT; i++)
        if (kept[i])
            return GCB_E_MISMATCH;
    return 0;
}

size_t gcb_coder_raw_bytes(const struct gcb_coder *c)
{
    return gcb_frame_head(&c->frame) + raw_bytes(c) + gcb_frame_tail(&c->frame);
}

size_t gcb_coder_head(const struct gcb_coder *c)
{
    return gcb_frame_head(&c->frame);
}

/* ---- encoding ---- */

/* Writes the tensor in its source type, as the payload of a stored message. */
static void write_raw(const struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out)
{
    const struct gcb_convert_fns *f = &c->kept.kernels.convert;
    uint8_t *p = gcb_wbuf_take(out, in->count * gcb_raw_size(c->frame.source));

    if (!p || in->count == 0)
        return;
    if (c->frame.source == GCB_F16)
        f->to_fp16(p, in->data, in->count);
    else if (c->frame.source == GCB_BF16)
        f->to_bf16(p, in->data, in->count);
    else
        memcpy(p, in->data, in->count * sizeof(float));
}

int gcb_coder_finish(const struct gcb_frame *f, size_t start, struct gcb_wbuf *out,
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

/* Sends a tensor with infinities or NaNs raw, or refuses it. */
static int encode_nonfinite(struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out,
                            struct gcb_diag *diag)
{
    c->met_nonfinite = true;
    if (c->nonfinite == GCB_NONFINITE_RAW)
        return gcb_coder_encode_raw(c, in, out, diag);
    return gcb_diag_set(diag, GCB_E_NONFINITE, "the tensor contains an infinity or NaN");
}

static int check_count(const struct gcb_coder *c, const struct gcb_view *in, struct gcb_diag *diag)
{
    if (in->count == c->env.count && !c->env.decoding)
        return 0;
    return gcb_diag_set(diag, GCB_E_MISMATCH,
                        c->env.decoding ? "a decoder cannot encode"
                                        : "the tensor and the encoder have different sizes");
}

int gcb_coder_encode_raw(struct gcb_coder *c, const struct gcb_view *in, struct gcb_wbuf *out,
                         struct gcb_diag *diag)
{
    struct gcb_frame frame = c->frame;
    const size_t start = out->len;
    const int err = check_count(c, in, diag);

    if (err)
        return err;
    c->state->clamped = 0; /* nothing is clamped in a raw tensor */
    frame.flags |= GCB_WIRE_STORED;
    frame.param_bytes = 0;
    frame.payload_bytes = in->count * gcb_raw_size(frame.source);
    gcb_frame_write(&frame, out);
    write_raw(c, in, out);
    return gcb_coder_finish(&frame, start, out, diag);
}

int gcb_coder_encode(struct gcb_coder *c, const struct gcb_step *at, const struct gcb_view *in,
                     struct gcb_wbuf *out, struct gcb_diag *diag)
{
    const struct gcb_wbuf before = *out;
    int err = check_count(c, in, diag);

    if (err)
        return err;
    if (c->place)
        return gcb_coder_encode_view_there(c, at, in, out, diag);
    if (c->nonfinite == GCB_NONFINITE_TRUSTED)
        return gcb_coder_encode_finite(c, at, in, out, diag);
    if (c->state->sees_nonfinite)
        c->state->nonfinite = true;
    else if (gcb_max_bits(in->data, in->count, c->env.kernels, c->env.queue) >= GCB_INF_BITS)
        return encode_nonfinite(c, in, out, diag);
    err = gcb_coder_encode_finite(c, at, in, out, diag);
    if (!c->state->sees_nonfinite || !c->state->nonfinite)
        return err;
    c->state->nonfinite = false;
    if (err == GCB_E_NOSPACE) /* the codec may have stopped before it looked for NaNs */
        return err;
    *out = before;
    return encode_nonfinite(c, in, out, diag);
}

int gcb_coder_encode_finite(struct gcb_coder *c, const struct gcb_step *at,
                            const struct gcb_view *in, struct gcb_wbuf *out, struct gcb_diag *diag)
{
    const size_t start = out->len;
    struct gcb_frame frame = c->frame;
    int err = check_count(c, in, diag);

    if (err)
        return err;
    c->met_nonfinite = false;
    gcb_frame_write(&frame, out);
    err = gcb_coder_ops(c)->encode(c->state, at, in, out);
    frame.payload_bytes = out->len - start - gcb_frame_head(&frame);
    if (err == GCB_E_SEND_RAW || (!err && !out->failed && frame.payload_bytes > raw_bytes(c))) {
        out->len = start;
        return gcb_coder_encode_raw(c, in, out, diag);
    }
    if (err || out->failed) {
        out->len = start;
        return err && c->state->words
                   ? gcb_diag_set(diag, err, "%s", c->state->words)
                   : gcb_diag_set(diag, err ? err : GCB_E_NOSPACE, "method '%s': %s",
                                  c->method.name, gcb_status_text(err ? err : GCB_E_NOSPACE));
    }
    return gcb_coder_finish(&frame, start, out, diag);
}

/* ---- decoding and describing ---- */

bool gcb_coder_accepts(const struct gcb_coder *c, const struct gcb_frame *frame)
{
    if (!c->env.decoding || frame->count != c->env.count)
        return false;
    if (frame->flags & GCB_WIRE_STORED)
        return true;
    return c->state && frame->codec == c->frame.codec &&
           frame->param_bytes == c->frame.param_bytes &&
           memcmp(frame->params, c->frame.params, frame->param_bytes) == 0;
}

static int explain_codec(const struct gcb_coder *c, const struct gcb_frame *frame,
                         struct gcb_diag *diag)
{
    const struct gcb_codec *sent = gcb_codec_by_wire_id(frame->codec);

    if (!sent)
        return gcb_diag_set(diag, GCB_E_MISMATCH,
                            "the message has an unknown codec (wire id %u), the decoder expects "
                            "'%s'",
                            frame->codec, c->method.codec->name);
    return gcb_diag_set(diag, GCB_E_MISMATCH,
                        "the message is of codec '%s', the decoder expects '%s'", sent->name,
                        c->method.codec->name);
}

/* Says why a decoder with a method does not accept a message: which of count, codec and parameters
 * differs. Returns GCB_E_MISMATCH, or GCB_E_CORRUPT if a parameter is out of its range. */
static int explain(const struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag)
{
    const struct gcb_param *table;
    struct gcb_rbuf sent = {.data = frame->params, .len = frame->param_bytes};
    struct gcb_rbuf own = {.data = c->frame.params, .len = c->frame.param_bytes};
    double got[GCB_MAX_PARAMS], expected[GCB_MAX_PARAMS];
    char texts[2][GCB_PARAM_TEXT];
    int err;

    if (frame->count != c->env.count)
        return gcb_diag_set(diag, GCB_E_MISMATCH,
                            "the message has %" PRIu64 " elements, the decoder %" PRIu64,
                            frame->count, c->env.count);
    if (frame->codec != c->frame.codec)
        return explain_codec(c, frame, diag);
    table = c->method.codec->params;
    err = gcb_param_read(table, got, &sent, diag);
    if (!err)
        err = gcb_param_read(table, expected, &own, diag);
    if (err)
        return err;
    for (size_t i = 0; table && table[i].name; i++)
        if (got[i] < expected[i] || got[i] > expected[i])
            return gcb_diag_set(diag, GCB_E_MISMATCH,
                                "the message has %s=%s, the decoder expects %s", table[i].name,
                                gcb_param_text(texts[0], &table[i], got[i]),
                                gcb_param_text(texts[1], &table[i], expected[i]));
    return gcb_diag_set(diag, GCB_E_MISMATCH, "the message does not fit this decoder");
}

/* Parses a message and checks that this decoder can decode it. A decoder without a method adopts
 * the frame. */
static int open_message(struct gcb_coder *c, struct gcb_frame *frame, struct gcb_rbuf *payload,
                        const void *message, size_t length, struct gcb_diag *diag)
{
    const int err = gcb_frame_parse(frame, payload, message, length, diag);

    if (err)
        return err;
    if (!c->env.decoding)
        return gcb_diag_set(diag, GCB_E_MISMATCH, "the coder is an encoder");
    if (gcb_coder_accepts(c, frame))
        return 0;
    if (!c->state && frame->count == c->env.count)
        return gcb_coder_adopt(c, frame, diag);
    return explain(c, frame, diag);
}

/* Describes an error of a codec's `read`, `split` or `inverse`. GCB_E_MISMATCH stays without
 * words. */
static int tell_damage(const struct gcb_coder *c, int err, struct gcb_diag *diag)
{
    if (!err || err == GCB_E_MISMATCH)
        return err;
    if (c->state && c->state->words)
        return gcb_diag_set(diag, err, "%s", c->state->words);
    if (err == GCB_E_NOMEM)
        return gcb_diag_set(diag, err, "method '%s': %s", c->method.name, gcb_status_text(err));
    return gcb_diag_set(diag, err, "damaged message: its payload does not decode");
}

/* Decodes a payload to `out`. Returns what `read` returns, or GCB_E_CORRUPT if the payload is too
 * short or too long. */
static int decode_payload(const struct gcb_coder *c, struct gcb_rbuf *in, float *out)
{
    const int err = gcb_coder_ops(c)->read(c->state, in, out, NULL);

    return !err && (in->failed || gcb_rbuf_left(in)) ? GCB_E_CORRUPT : err;
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
    if (frame.flags & GCB_WIRE_STORED) { /* gcb_frame_parse has checked the length */
        gcb_widen(out->data, payload.data, frame.count, frame.source, c->env.kernels, c->env.queue);
        return 0;
    }
    return tell_damage(c, decode_payload(c, &payload, out->data), diag);
}

/* Describes a message by a decoder on the host, because codecs on a device do not describe. */
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
        err = gcb_coder_ops(c)->describe(c->state, &payload, &parts->payload);
        if (err && c->state->words)
            return gcb_diag_set(diag, err, "%s", c->state->words);
        return err ? gcb_diag_set(diag, err, "payload: %s", gcb_status_text(err)) : 0;
    }
    parts->payload.value_bytes = frame.payload_bytes;
    parts->payload.kept = parts->payload.positions = frame.count;
    parts->payload.entropy0_bits = 8.0 * (double)frame.payload_bytes;
    return 0;
}

int gcb_coder_split(struct gcb_coder *c, const void *message, size_t length, const float *x,
                    const float *y, struct gcb_error_split *sums, struct gcb_diag *diag)
{
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    const int err = open_message(c, &frame, &payload, message, length, diag);

    if (err || frame.flags & GCB_WIRE_STORED || !gcb_coder_ops(c)->split)
        return err;
    return tell_damage(c, gcb_coder_ops(c)->split(c->state, &payload, x, y, sums), diag);
}

/* ---- decoders that add: to elements, or to a canvas of coefficients ---- */

/* Rebinds the codec's state to the frame's parameters, or makes a new state if there is none yet or
 * the codec has no `rebind`. */
int gcb_coder_adopt(struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag)
{
    const bool rebinds = c->state && gcb_coder_ops(c)->rebind;
    struct gcb_coder old;
    int err;

    if (gcb_coder_accepts(c, frame))
        return 0;
    if (frame->count != c->env.count || (c->state && frame->codec != c->frame.codec))
        return explain(c, frame, diag);
    old = *c;
    err = take_frame(c, frame, diag);
    if (!err && rebinds) {
        gcb_param_store(c->method.codec->params, c->method.value, c->state);
        err = gcb_coder_ops(c)->rebind(c->state);
        if (err)
            gcb_param_store(old.method.codec->params, old.method.value, c->state);
    } else if (!err) {
        c->state = NULL;
        err = make_state(c, diag);
        free_state(err ? c : &old);
    }
    if (err)
        *c = old;
    return rebinds && err == GCB_E_MISMATCH ? explain(c, frame, diag) : err;
}

/* Decodes a payload to c->decoded, which the first call allocates, and adds these elements. */
static int decode_and_add(struct gcb_coder *c, struct gcb_rbuf *in, const struct gcb_addition *to)
{
    const uint64_t count = c->env.count;
    int err;

    if (!c->decoded)
        c->decoded = gcb_alloc_array(count, sizeof(*c->decoded));
    if (!c->decoded)
        return GCB_E_NOMEM;
    err = decode_payload(c, in, c->decoded);
    if (!err)
        gcb_add_raw(to, c->decoded, count, GCB_F32, c->env.kernels, c->env.queue);
    return err;
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
        gcb_add_raw(to, payload.data, frame.count, frame.source, c->env.kernels, c->env.queue);
    else if (gcb_coder_has_canvas(c) || (to->mask && !gcb_coder_ops(c)->marks))
        err = GCB_E_UNSUPPORTED;
    else
        err = gcb_coder_ops(c)->read(c->state, &payload, NULL, to);
    if (err == GCB_E_UNSUPPORTED)
        err = decode_and_add(c, &again, to);
    return tell_damage(c, err, diag);
}

bool gcb_coder_has_canvas(const struct gcb_coder *c)
{
    uint64_t floats;

    return c->state && gcb_coder_ops(c)->canvas && gcb_coder_ops(c)->canvas(c->state, &floats);
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
    to.acc = gcb_coder_ops(c)->canvas(c->state, &floats);
    if (!joins)
        memset(to.acc, 0, floats * sizeof(*to.acc));
    return tell_damage(c, gcb_coder_ops(c)->read(c->state, &payload, NULL, &to), diag);
}

int gcb_coder_rebuild(struct gcb_coder *c, float *out, struct gcb_diag *diag)
{
    return tell_damage(c, gcb_coder_ops(c)->inverse(c->state, out), diag);
}
