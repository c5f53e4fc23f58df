#include "src/lib/coder/device_coder.h"

#include <string.h>

#include "kernels/base/hd.h"
#include "kernels/cuda/align.h"
#include "src/lib/coder/coder_private.h"

static const struct gcb_device_module *module_of(const struct gcb_coder *c)
{
    return c->place->device->module;
}

static const struct gcb_device_ops *find_ops(const struct gcb_device_module *module,
                                             uint8_t wire_id)
{
    for (const struct gcb_device_codec *row = module->codecs; row->ops; row++)
        if (row->wire_id == wire_id)
            return row->ops;
    return NULL;
}

int gcb_coder_find_there(struct gcb_coder *c, struct gcb_diag *diag)
{
    const struct gcb_method *method = &c->method;

    c->there = find_ops(module_of(c), method->codec->wire_id);
    if (!c->there)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "device cuda: method '%s' runs on the CPU only; use --device cpu",
                            method->name);
    if (c->env.feedback && !c->env.decoding && !c->there->feedback)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "device cuda: method '%s' has no error feedback on a device",
                            method->name);
    return 0;
}

uint64_t gcb_device_coder_scratch(const struct gcb_coder *c)
{
    return c->state && c->there->scratch ? c->there->scratch(c->state) : 0;
}

/* Describes an error of queueing, if `err` is one. The stream keeps its cause, which the next wait
 * reports. */
static int explain_queueing(const struct gcb_coder *c, int err, struct gcb_diag *diag)
{
    if (!err)
        return 0;
    return gcb_diag_set(diag, err, "device cuda: method '%s': %s",
                        c->method.name ? c->method.name : "raw", gcb_status_text(err));
}

/* Returns the encoder's input. `compensated` is the field of struct gcb_device_input. */
static struct gcb_device_input make_input(const struct gcb_coder *c,
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

/* Returns 0, or GCB_E_MISMATCH if this coder cannot encode the message. */
static int check_encoder(const struct gcb_coder *c, const struct gcb_device_message *m,
                         struct gcb_diag *diag)
{
    if (c->env.decoding)
        return gcb_diag_set(diag, GCB_E_MISMATCH, "a decoder cannot encode");
    if (m->residual_dev && !c->env.feedback)
        return gcb_diag_set(diag, GCB_E_MISMATCH,
                            "the message has a residual, but the coder was made without feedback");
    return 0;
}

int gcb_device_coder_encode_async(struct gcb_coder *c, const struct gcb_step *at,
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
    err = c->there->encode_async(c->state, &in, m->payload_dev, &call);
    /* Encoding has added the residual, if there is one, to the tensor. The sum must be finite. */
    if (!err && c->nonfinite != GCB_NONFINITE_TRUSTED)
        err = module_of(c)->tensor.max_bits(call.stream, m->in_dev, c->env.count, call.result_dev);
    return explain_queueing(c, err, diag);
}

int gcb_device_coder_encode_finish(struct gcb_coder *c, const struct gcb_device_message *m,
                                   struct gcb_frame *frame, struct gcb_diag *diag)
{
    const struct gcb_device_result *r = gcb_device_batch_result(m->batch, m->i);
    const uint64_t raw = c->env.count * gcb_raw_size(c->frame.source);
    const struct gcb_device_input in = make_input(c, m, 1);
    const bool bad = c->nonfinite != GCB_NONFINITE_TRUSTED && r->max_bits >= GCB_INF_BITS;

    *frame = c->frame;
    frame->payload_bytes = r->length;
    /* nothing is clamped in a raw tensor */
    c->state->clamped = bad || r->status || r->length > raw ? 0 : r->clamped;
    if (bad && c->nonfinite != GCB_NONFINITE_RAW)
        return gcb_diag_set(diag, GCB_E_NONFINITE, "the tensor contains an infinity or NaN");
    if (r->status && r->status != GCB_E_SEND_RAW)
        return gcb_diag_set(diag, r->status, "method '%s': %s", c->method.name,
                            gcb_status_text(r->status));
    if (!r->status && r->length <= raw && !bad)
        return 0;
    frame->flags |= GCB_WIRE_STORED;
    frame->param_bytes = 0;
    frame->payload_bytes = raw;
    return explain_queueing(c,
                            module_of(c)->tensor.put_raw(gcb_device_batch_stream(m->batch),
                                                         frame->source, m->payload_dev, &in),
                            diag);
}

int gcb_device_coder_fetch(struct gcb_coder *c, const struct gcb_device_message *m,
                           const struct gcb_frame *frame, struct gcb_wbuf *out,
                           struct gcb_diag *diag)
{
    const size_t start = out->len;
    uint8_t *payload;
    int err;

    gcb_frame_write(frame, out);
    payload = gcb_wbuf_take(out, frame->payload_bytes);
    err = gcb_coder_finish(frame, start, out, diag);
    return err ? err
               : gcb_device_batch_download(m->batch, payload, m->payload_dev, frame->payload_bytes,
                                           diag);
}

/* Describes an error of a payload or of queueing, if `err` is one. */
static int tell_damage(const struct gcb_coder *c, int err, struct gcb_diag *diag)
{
    if (err == GCB_E_CORRUPT)
        return gcb_diag_set(diag, err, "damaged message: its payload does not decode");
    return explain_queueing(c, err, diag);
}

int gcb_device_coder_decode_async(struct gcb_coder *c, const struct gcb_frame *frame,
                                  const uint8_t *payload_dev, float *out_dev,
                                  const struct gcb_device_message *m, struct gcb_diag *diag)
{
    struct gcb_device_call call;
    int err = gcb_device_batch_call(&call, m->batch, m->i, gcb_device_coder_scratch(c), diag);

    if (err)
        return err;
    if (!gcb_coder_accepts(c, frame))
        return gcb_diag_set(diag, GCB_E_MISMATCH,
                            "the message does not fit this decoder: its codec, parameters or "
                            "number of elements differ");
    if (!(frame->flags & GCB_WIRE_STORED))
        err = c->there->decode_async(c->state, payload_dev, frame->payload_bytes, out_dev, &call);
    else if (frame->payload_bytes != frame->count * gcb_raw_size(frame->source))
        err = GCB_E_CORRUPT;
    else
        err = module_of(c)->tensor.get_raw(call.stream, frame->source, out_dev, payload_dev,
                                           frame->count);
    return tell_damage(c, err, diag);
}

int gcb_device_coder_decode_finish(struct gcb_coder *c, const struct gcb_device_message *m,
                                   struct gcb_diag *diag)
{
    const int status = gcb_device_batch_result(m->batch, m->i)->status;

    return status ? gcb_diag_set(diag, status, "damaged message: its payload does not decode") : 0;
}

/* ---- one message, from and to host memory ---- */

/* Makes the place large enough to encode a message. Returns 0, GCB_E_NOMEM or GCB_E_DEVICE. */
static int reserve(struct gcb_coder *c, struct gcb_diag *diag)
{
    const struct gcb_place_size size = {.tensor = c->env.count * sizeof(float),
                                        .payload = gcb_coder_max_payload(c),
                                        .scratch = gcb_device_coder_scratch(c)};

    return gcb_place_reserve(c->place, &size, diag);
}

/* Waits for a call. `err` is what queueing returned. If the device failed, the error of the stream
 * is reported, because it says more. After any other error the call is not waited for, because its
 * result is not needed. */
static int end_call(const struct gcb_coder *c, int err, struct gcb_diag *diag)
{
    const int ended =
        err && err != GCB_E_DEVICE ? err : gcb_device_batch_finish(c->place->batch, diag);

    return ended ? ended : err;
}

int gcb_coder_encode_view_there(struct gcb_coder *c, const struct gcb_step *at,
                                const struct gcb_view *in, struct gcb_wbuf *out,
                                struct gcb_diag *diag)
{
    struct gcb_device_message m = {.batch = NULL};
    struct gcb_frame frame;
    int err = reserve(c, diag);

    if (err)
        return err;
    m.batch = c->place->batch;
    m.in_dev = c->place->tensor.dev;
    m.payload_dev = c->place->payload.dev;
    err = gcb_device_batch_upload(m.batch, m.in_dev, in->data, in->count * sizeof(float), diag);
    if (err)
        return err;
    gcb_device_batch_begin(m.batch); /* end_call reports a failure */
    err = end_call(c, gcb_device_coder_encode_async(c, at, &m, diag), diag);
    if (!err)
        err = gcb_device_coder_encode_finish(c, &m, &frame, diag);
    return err ? err : gcb_device_coder_fetch(c, &m, &frame, out, diag);
}

int gcb_coder_decode_there(struct gcb_coder *c, const struct gcb_frame *frame,
                           const struct gcb_rbuf *payload, const struct gcb_mview *out,
                           struct gcb_diag *diag)
{
    const struct gcb_place_size size = {.tensor = out->count * sizeof(float),
                                        .payload = frame->payload_bytes,
                                        .scratch = gcb_device_coder_scratch(c)};
    struct gcb_place *p = c->place;
    struct gcb_device_message m = {.i = 0};
    int err = gcb_place_reserve(p, &size, diag);

    m.batch = p->batch;
    if (!err)
        err = gcb_device_batch_upload(p->batch, p->payload.dev, payload->data, frame->payload_bytes,
                                      diag);
    if (!err && p->prefill)
        err = gcb_device_batch_upload(p->batch, p->tensor.dev, out->data, size.tensor, diag);
    if (err)
        return err;
    gcb_device_batch_begin(p->batch); /* end_call reports a failure */
    err = gcb_device_coder_decode_async(c, frame, p->payload.dev, p->tensor.dev, &m, diag);
    err = end_call(c, err, diag);
    if (!err)
        err = gcb_device_coder_decode_finish(c, &m, diag);
    return err ? err
               : gcb_device_batch_download(p->batch, out->data, p->tensor.dev, size.tensor, diag);
}

/* ---- groups of messages ---- */

static const struct gcb_device_group_ops *group_ops(const struct gcb_coder *c)
{
    return c->state ? c->there->group : NULL;
}

bool gcb_device_group_takes(const struct gcb_coder *a, const struct gcb_coder *b)
{
    const struct gcb_device_group_ops *ops = group_ops(a);

    return ops && group_ops(b) == ops && module_of(a) == module_of(b) &&
           a->env.decoding == b->env.decoding &&
           (a->nonfinite == GCB_NONFINITE_TRUSTED) == (b->nonfinite == GCB_NONFINITE_TRUSTED) &&
           (!ops->alike || ops->alike(a->state, b->state));
}

/* Bytes of scratch of one message in a group. They are rounded up, so that the next message's
 * scratch is aligned. */
static uint64_t own_scratch(const struct gcb_coder *c)
{
    return gcb_cuda_align256(gcb_device_coder_scratch(c));
}

uint64_t gcb_device_group_scratch(struct gcb_coder *const coders[], size_t count)
{
    uint64_t most = 0, sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !gcb_device_group_takes(coders[i - 1], coders[i]))
            sum = 0;
        sum += own_scratch(coders[i]);
        most = sum > most ? sum : most;
    }
    return most;
}

/* True if this message can be decoded in a group. Otherwise a single call decodes it, or reports
 * its error. */
static bool can_decode(const struct gcb_coder *c, const struct gcb_frame *frame)
{
    return c->state && gcb_coder_accepts(c, frame) && !(frame->flags & GCB_WIRE_STORED) &&
           frame->payload_bytes == c->state->max_payload;
}

/*
 * Returns the number of messages, at least 1, in the group that begins with the first message.
 * `received` is NULL to encode. The group ends before the first message that does not fit, so each
 * message is looked at only once or twice.
 */
static size_t next_group(struct gcb_coder *const coders[],
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

/* Fills the items of a group. To encode, `received` is NULL; to decode, `at` is NULL. */
static int fill_items(const struct gcb_device_group *g, struct gcb_coder *const coders[],
                      const struct gcb_step *at, const struct gcb_device_received received[],
                      const struct gcb_device_message messages[], struct gcb_diag *diag)
{
    const struct gcb_device_group_ops *ops = group_ops(coders[0]);
    uint64_t used = 0;

    for (unsigned i = 0; i < g->count; i++) {
        struct gcb_device_call call;
        int err = gcb_device_batch_call(&call, messages[i].batch, messages[i].i,
                                        gcb_device_coder_scratch(coders[i]), diag);

        if (!err && !received)
            err = check_encoder(coders[i], &messages[i], diag);
        if (err)
            return err;
        memset(&g->items[i], 0, sizeof(g->items[i]));
        g->items[i].result = call.result_dev;
        g->items[i].scratch = (uint8_t *)call.scratch_dev + used;
        g->items[i].in = received ? gcb_device_plain(received[i].out_dev, coders[i]->env.count)
                                  : make_input(coders[i], &messages[i], 0);
        g->items[i].payload =
            received ? (uint8_t *)(uintptr_t)received[i].payload_dev : messages[i].payload_dev;
        if (ops->fill)
            ops->fill(coders[i]->state, at, &g->items[i]);
        used += own_scratch(coders[i]);
    }
    return 0;
}

/* Queues the work on a group of two or more messages. */
static int run_group(struct gcb_coder *const coders[], const struct gcb_step *at,
                     const struct gcb_device_received received[],
                     const struct gcb_device_message messages[], size_t count,
                     struct gcb_diag *diag)
{
    const struct gcb_device_group g = gcb_device_batch_group(messages[0].batch, (unsigned)count);
    const struct gcb_device_group_ops *ops = group_ops(coders[0]);
    struct gcb_device_stream *s = gcb_device_batch_stream(messages[0].batch);
    int err = fill_items(&g, coders, at, received, messages, diag);

    if (err)
        return err;
    err = ops->code_async(coders[0]->state, received != NULL, &g, s);
    /* Encoding has added the residuals to the tensors. The sums must be finite. */
    if (!err && !received && coders[0]->nonfinite != GCB_NONFINITE_TRUSTED)
        err = module_of(coders[0])->tensor.max_bits_group(s, &g);
    return explain_queueing(coders[0], err, diag);
}

int gcb_device_group_encode_async(struct gcb_coder *const coders[], const struct gcb_step *at,
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0, n; i < count && !err; i += n) {
        n = coders[i]->env.decoding ? 1 : next_group(coders + i, NULL, messages + i, count - i);
        err = n > 1 ? run_group(coders + i, at, NULL, messages + i, n, diag)
                    : gcb_device_coder_encode_async(coders[i], at, &messages[i], diag);
    }
    return err;
}

int gcb_device_group_decode_async(struct gcb_coder *const coders[],
                                  const struct gcb_device_received received[],
                                  const struct gcb_device_message messages[], size_t count,
                                  struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0, n; i < count && !err; i += n) {
        n = next_group(coders + i, received + i, messages + i, count - i);
        err = n > 1 ? run_group(coders + i, NULL, received + i, messages + i, n, diag)
                    : gcb_device_coder_decode_async(coders[i], received[i].frame,
                                                    received[i].payload_dev, received[i].out_dev,
                                                    &messages[i], diag);
    }
    return err;
}
