#include "src/lib/device/device_coder.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "kernels/cuda/align.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/framing.h"

struct gcb_device_coder {
    const struct gcb_device_module *module;
    const struct gcb_device_ops *ops;
    struct gcb_method method;
    struct gcb_codec_env env;
    enum gcb_nonfinite nonfinite;
    struct gcb_frame frame; /* of its messages, except lengths and the stored flag */
    char *path;
    void *state; /* NULL: the decoder of a stored message */
    uint64_t clamped;
};

void gcb_device_coder_destroy(struct gcb_device_coder *c)
{
    if (!c)
        return;
    if (c->state && c->ops->fini)
        c->ops->fini(c->state);
    gcb_free(c->state);
    gcb_free(c->path);
    gcb_free(c);
}

static int allocate_coder(struct gcb_device_coder **out, const struct gcb_device *device,
                          const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_device_coder *c = gcb_alloc_zero(1, sizeof(*c));
    const char *path = config->env.path ? config->env.path : "";

    if (!c)
        return gcb_diag_nomem(diag, sizeof(*c), "a coder");
    c->module = device->module;
    c->env = config->env;
    c->env.kernels = NULL;
    c->env.queue = NULL;
    if (!c->env.segment)
        c->env.segment = UINT64_C(1) << 31;
    c->nonfinite = config->nonfinite;
    c->path = gcb_strdup(path);
    c->env.path = c->path;
    *out = c;
    return c->path ? 0 : gcb_diag_nomem(diag, strlen(path) + 1, "a path");
}

static const struct gcb_device_ops *find_ops(const struct gcb_device_module *module,
                                             uint8_t wire_id)
{
    for (const struct gcb_device_codec *row = module->codecs; row->ops; row++)
        if (row->wire_id == wire_id)
            return row->ops;
    return NULL;
}

static int start_codec(struct gcb_device_coder *c, struct gcb_diag *diag)
{
    const struct gcb_codec *codec = c->method.codec;

    c->ops = find_ops(c->module, codec->wire_id);
    if (!c->ops)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "device cuda: method '%s' runs on the CPU only; use --device cpu",
                            c->method.name);
    c->state = gcb_alloc_zero(1, c->ops->state_size ? c->ops->state_size : 1);
    if (!c->state)
        return gcb_diag_nomem(diag, c->ops->state_size, "a codec's state");
    gcb_param_store(codec->params, c->method.value, c->state);
    return c->ops->init ? c->ops->init(c->state, &c->env, diag) : 0;
}

int gcb_device_coder_create(struct gcb_device_coder **out, const struct gcb_device *device,
                            const struct gcb_method *method, const struct gcb_coder_config *config,
                            struct gcb_diag *diag)
{
    struct gcb_device_coder *c = NULL;
    int err = allocate_coder(&c, device, config, diag);

    *out = NULL;
    if (err)
        goto out;
    if (c->env.count > GCB_MAX_ELEMENTS) {
        err = gcb_diag_set(diag, GCB_E_NOMEM, "%" PRIu64 " elements are too many", c->env.count);
        goto out;
    }
    c->method = *method;
    c->env.decoding = false;
    err = start_codec(c, diag);
    if (!err && c->env.feedback && !c->ops->feedback)
        err = gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                           "device cuda: method '%s' has no error feedback there", method->name);
    if (err)
        goto out;
    c->frame.source = config->source;
    c->frame.count = c->env.count;
    c->frame.flags = config->checksum ? GCB_WIRE_CHECKSUM : 0;
    err = gcb_framing_prepare(&c->frame, method->codec, c->state, gcb_device_coder_max_payload(c),
                              diag);
    if (err)
        goto out;
    *out = c;
    c = NULL;
out:
    gcb_device_coder_destroy(c);
    return err;
}

int gcb_device_coder_create_decoder(struct gcb_device_coder **out, const struct gcb_device *device,
                                    const void *message, size_t length,
                                    const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    const uint64_t limit = config->max_elements ? config->max_elements : GCB_MAX_ELEMENTS;
    struct gcb_device_coder *c = NULL;
    struct gcb_rbuf payload;
    int err = allocate_coder(&c, device, config, diag);

    *out = NULL;
    if (err)
        goto out;
    err = gcb_frame_parse(&c->frame, &payload, message, length, diag);
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
    gcb_device_coder_destroy(c);
    return err;
}

uint64_t gcb_device_coder_scratch(const struct gcb_device_coder *c)
{
    return c->state ? c->ops->scratch(c->state) : 0;
}

uint64_t gcb_device_coder_max_payload(const struct gcb_device_coder *c)
{
    return gcb_framing_max_payload(c->env.count, c->frame.source,
                                   c->state ? c->ops->max_payload(c->state) : 0);
}

uint64_t gcb_device_coder_bound(const struct gcb_device_coder *c)
{
    return gcb_frame_head(&c->frame) + gcb_device_coder_max_payload(c) + gcb_frame_tail(&c->frame);
}

/* Puts a failure of queueing into words. The stream knows the cause, and tells it when it is waited for. */
static int explain_queueing(const struct gcb_device_coder *c, int err, struct gcb_diag *diag)
{
    return err ? gcb_diag_set(diag, err, "device cuda: method '%s': %s",
                              c->method.name ? c->method.name : "raw", gcb_status_text(err))
               : 0;
}

/* The encoder's input; `compensated` as in struct gcb_device_input. */
static struct gcb_device_input make_input(const struct gcb_device_coder *c,
                                          const struct gcb_device_message *m, int compensated)
{
    return (struct gcb_device_input){
        .x = m->in_dev,
        .n = c->env.count,
        .residual = m->residual_dev,
        .carry = m->carry,
        .compensated = compensated,
    };
}

/* Can this coder encode the message? */
static int check_encoder(const struct gcb_device_coder *c, const struct gcb_device_message *m,
                         struct gcb_diag *diag)
{
    if (c->env.decoding)
        return gcb_diag_set(diag, GCB_E_MISMATCH, "a decoder cannot encode");
    if (m->residual_dev && !c->env.feedback)
        return gcb_diag_set(diag, GCB_E_MISMATCH,
                            "the message has a residual, but the coder was made without feedback");
    return 0;
}

int gcb_device_coder_encode_async(struct gcb_device_coder *c, const struct gcb_step *at,
                                  const struct gcb_device_message *m, struct gcb_diag *diag)
{
    const struct gcb_device_input in = make_input(c, m, 0);
    struct gcb_device_call call;
    int err = gcb_device_batch_call(&call, m->batch, m->i, gcb_device_coder_scratch(c), diag);

    if (!err)
        err = check_encoder(c, m, diag);
    if (err)
        return err;
    call.at = *at;
    err = c->ops->encode_async(c->state, &in, m->payload_dev, &call);
    /* after encoding, which adds the residual: the sum has to be finite */
    if (!err && c->nonfinite != GCB_NONFINITE_TRUSTED)
        err = c->module->max_bits(call.stream, m->in_dev, c->env.count, call.result_dev);
    return explain_queueing(c, err, diag);
}

int gcb_device_coder_encode_finish(struct gcb_device_coder *c, const struct gcb_device_message *m,
                                   struct gcb_frame *frame, struct gcb_diag *diag)
{
    const struct gcb_device_result *r = gcb_device_batch_result(m->batch, m->i);
    const uint64_t raw = c->env.count * gcb_framing_raw_size(c->frame.source);
    const struct gcb_device_input in = make_input(c, m, 1);
    const bool bad = c->nonfinite != GCB_NONFINITE_TRUSTED && r->max_bits >= GCB_INF_BITS;

    *frame = c->frame;
    frame->payload_bytes = r->length;
    c->clamped = bad || r->status ? 0 : r->clamped; /* a raw tensor has no clamped elements */
    if (bad && c->nonfinite != GCB_NONFINITE_RAW)
        return gcb_diag_set(diag, GCB_E_NONFINITE, "the tensor holds an infinity or NaN");
    if (r->status && r->status != GCB_E_SEND_RAW)
        return gcb_diag_set(diag, r->status, "method '%s': %s", c->method.name,
                            gcb_status_text(r->status));
    if (!r->status && r->length <= raw && !bad)
        return 0;
    frame->flags |= GCB_WIRE_STORED;
    frame->param_bytes = 0;
    frame->payload_bytes = raw;
    return explain_queueing(
        c,
        c->module->put_raw(gcb_device_batch_stream(m->batch), frame->source, m->payload_dev, &in),
        diag);
}

int gcb_device_coder_fetch(struct gcb_device_coder *c, const struct gcb_device_message *m,
                           const struct gcb_frame *frame, struct gcb_wbuf *out,
                           struct gcb_diag *diag)
{
    const size_t start = out->len;
    uint8_t *payload;

    (void)c;
    gcb_frame_write(frame, out);
    payload = gcb_wbuf_take(out, frame->payload_bytes);
    gcb_wbuf_take(out, gcb_frame_tail(frame));
    if (out->failed) {
        out->len = start;
        return gcb_diag_set(diag, GCB_E_NOSPACE, "the output buffer is too small for the message");
    }
    gcb_frame_patch(frame, out->data + start);
    return gcb_device_batch_download(m->batch, payload, m->payload_dev, frame->payload_bytes, diag);
}

bool gcb_device_coder_accepts(const struct gcb_device_coder *c, const struct gcb_frame *f)
{
    if (!c->env.decoding || f->count != c->env.count)
        return false;
    if (f->flags & GCB_WIRE_STORED)
        return true;
    return c->state && f->codec == c->method.codec->wire_id &&
           f->param_bytes == c->frame.param_bytes &&
           memcmp(f->params, c->frame.params, f->param_bytes) == 0;
}

int gcb_device_coder_decode_async(struct gcb_device_coder *c, const struct gcb_frame *frame,
                                  const uint8_t *payload_dev, float *out_dev,
                                  const struct gcb_device_message *m, struct gcb_diag *diag)
{
    struct gcb_device_call call;
    int err = gcb_device_batch_call(&call, m->batch, m->i, gcb_device_coder_scratch(c), diag);

    if (err)
        return err;
    if (!gcb_device_coder_accepts(c, frame))
        return gcb_diag_set(diag, GCB_E_MISMATCH, "the message is not of the decoder's kind");
    if (!(frame->flags & GCB_WIRE_STORED))
        err = c->ops->decode_async(c->state, payload_dev, frame->payload_bytes, out_dev, &call);
    else if (frame->payload_bytes != frame->count * gcb_framing_raw_size(frame->source))
        err = GCB_E_CORRUPT;
    else
        err = c->module->get_raw(call.stream, frame->source, out_dev, payload_dev, frame->count);
    if (err == GCB_E_CORRUPT)
        return gcb_diag_set(diag, err, "damaged message: its payload does not decode");
    return explain_queueing(c, err, diag);
}

int gcb_device_coder_decode_finish(struct gcb_device_coder *c, const struct gcb_device_message *m,
                                   struct gcb_diag *diag)
{
    const int status = gcb_device_batch_result(m->batch, m->i)->status;

    (void)c;
    return status ? gcb_diag_set(diag, status, "damaged message: its payload does not decode") : 0;
}

uint64_t gcb_device_coder_clamped(const struct gcb_device_coder *c)
{
    return c->clamped;
}

/* ---- groups ---- */

static const struct gcb_device_group_ops *group_ops(const struct gcb_device_coder *c)
{
    return c->state ? c->ops->group : NULL;
}

bool gcb_device_group_takes(const struct gcb_device_coder *a, const struct gcb_device_coder *b)
{
    const struct gcb_device_group_ops *ops = group_ops(a);

    return ops && group_ops(b) == ops && a->module == b->module &&
           a->env.decoding == b->env.decoding &&
           (a->nonfinite == GCB_NONFINITE_TRUSTED) == (b->nonfinite == GCB_NONFINITE_TRUSTED) &&
           (!ops->alike || ops->alike(a->state, b->state));
}

/* Scratch of one message in a group, rounded up to where the next message's begins. */
static uint64_t own_scratch(const struct gcb_device_coder *c)
{
    return gcb_cuda_align256(gcb_device_coder_scratch(c));
}

uint64_t gcb_device_group_scratch(struct gcb_device_coder *const coders[], size_t count)
{
    uint64_t most = 0, sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum = i > 0 && gcb_device_group_takes(coders[i - 1], coders[i])
                  ? sum + own_scratch(coders[i])
                  : own_scratch(coders[i]);
        most = sum > most ? sum : most;
    }
    return most;
}

/* Can a group decode this message? If not, a single call decodes it or finds what is wrong. */
static bool can_decode(const struct gcb_device_coder *c, const struct gcb_frame *frame)
{
    return c->state && gcb_device_coder_accepts(c, frame) && !(frame->flags & GCB_WIRE_STORED) &&
           frame->payload_bytes == c->ops->max_payload(c->state);
}

/*
 * The number of messages, at least 1, that the next launches handle. `received` is NULL to encode. The search ends at
 * the first message that does not fit, so that many small groups cost no more than one large group.
 */
static size_t next_group(struct gcb_device_coder *const coders[],
                         const struct gcb_device_received received[],
                         const struct gcb_device_message messages[], size_t count)
{
    const uint64_t room = gcb_device_batch_scratch(messages[0].batch);
    const uint64_t tables = gcb_device_batch_tables(messages[0].batch);
    uint64_t scratch = own_scratch(coders[0]), elements = coders[0]->env.count;
    size_t n = 1;

    if (received && !can_decode(coders[0], received[0].frame))
        return 1;
    for (; n < count && n < tables; n++) {
        scratch += own_scratch(coders[n]);
        elements += coders[n]->env.count;
        if (!gcb_device_group_takes(coders[0], coders[n]) ||
            messages[n].batch != messages[0].batch || scratch > room ||
            elements > GCB_DEVICE_GROUP_ELEMENTS ||
            (received && !can_decode(coders[n], received[n].frame)))
            break;
    }
    return n;
}

/* Fills what encoding and decoding have in common: results and scratch. */
static int fill_items(const struct gcb_device_group *g, struct gcb_device_coder *const coders[],
                      const struct gcb_device_message messages[], struct gcb_diag *diag)
{
    uint64_t used = 0;

    for (unsigned i = 0; i < g->count; i++) {
        struct gcb_device_call call;
        const int err = gcb_device_batch_call(&call, messages[i].batch, messages[i].i,
                                              gcb_device_coder_scratch(coders[i]), diag);

        if (err)
            return err;
        memset(&g->items[i], 0, sizeof(g->items[i]));
        g->items[i].result = call.result_dev;
        g->items[i].scratch = (uint8_t *)call.scratch_dev + used;
        used += own_scratch(coders[i]);
    }
    return 0;
}

static int encode_group(const struct gcb_device_group *g, struct gcb_device_coder *const coders[],
                        const struct gcb_step *at, const struct gcb_device_message messages[],
                        struct gcb_diag *diag)
{
    const struct gcb_device_group_ops *ops = group_ops(coders[0]);
    struct gcb_device_stream *s = gcb_device_batch_stream(messages[0].batch);
    int err = fill_items(g, coders, messages, diag);

    for (unsigned i = 0; i < g->count && !err; i++)
        err = check_encoder(coders[i], &messages[i], diag);
    if (err)
        return err;
    for (unsigned i = 0; i < g->count; i++) {
        g->items[i].in = make_input(coders[i], &messages[i], 0);
        g->items[i].payload = messages[i].payload_dev;
        if (ops->fill)
            ops->fill(coders[i]->state, at, &g->items[i]);
    }
    err = ops->encode_async(coders[0]->state, g, s);
    /* after encoding, which adds the residual: the sum has to be finite */
    if (!err && coders[0]->nonfinite != GCB_NONFINITE_TRUSTED)
        err = coders[0]->module->max_bits_group(s, g);
    return explain_queueing(coders[0], err, diag);
}

int gcb_device_group_encode_async(struct gcb_device_coder *const coders[],
                                  const struct gcb_step *at,
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0, n; i < count && !err; i += n) {
        n = coders[i]->env.decoding ? 1 : next_group(coders + i, NULL, messages + i, count - i);
        if (n > 1) {
            const struct gcb_device_group g =
                gcb_device_batch_group(messages[i].batch, (unsigned)n);

            err = encode_group(&g, coders + i, at, messages + i, diag);
        } else {
            err = gcb_device_coder_encode_async(coders[i], at, &messages[i], diag);
        }
    }
    return err;
}

static int decode_group(const struct gcb_device_group *g, struct gcb_device_coder *const coders[],
                        const struct gcb_device_received received[],
                        const struct gcb_device_message messages[], struct gcb_diag *diag)
{
    const struct gcb_device_group_ops *ops = group_ops(coders[0]);
    int err = fill_items(g, coders, messages, diag);

    if (err)
        return err;
    for (unsigned i = 0; i < g->count; i++) {
        g->items[i].in = gcb_device_plain(received[i].out_dev, coders[i]->env.count);
        g->items[i].payload = (uint8_t *)(uintptr_t)received[i].payload_dev;
        if (ops->fill)
            ops->fill(coders[i]->state, NULL, &g->items[i]);
    }
    err = ops->decode_async(coders[0]->state, g, gcb_device_batch_stream(messages[0].batch));
    return explain_queueing(coders[0], err, diag);
}

int gcb_device_group_decode_async(struct gcb_device_coder *const coders[],
                                  const struct gcb_device_received received[],
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0, n; i < count && !err; i += n) {
        n = next_group(coders + i, received + i, messages + i, count - i);
        if (n > 1) {
            const struct gcb_device_group g =
                gcb_device_batch_group(messages[i].batch, (unsigned)n);

            err = decode_group(&g, coders + i, received + i, messages + i, diag);
        } else {
            err =
                gcb_device_coder_decode_async(coders[i], received[i].frame, received[i].payload_dev,
                                              received[i].out_dev, &messages[i], diag);
        }
    }
    return err;
}
