#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/coder/framing.h"

/* Decoders that add: to elements, or to a canvas of coefficients. */

/* Gives the decoder the message's method, with a new state. After a failure the decoder is unchanged. */
static int learn(struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag)
{
    struct gcb_framing *f = &c->base;
    struct gcb_framing old = *f;
    int err;

    f->state = NULL;
    err = gcb_framing_learn(f, frame, diag);
    if (!err)
        err = gcb_framing_start(f, gcb_coder_ops(c)->state_size, gcb_coder_ops(c)->init, diag);
    if (err) {
        gcb_framing_forget(f, f->state ? gcb_coder_ops(c)->fini : NULL);
        *f = old;
    } else {
        gcb_framing_forget(&old, old.state ? old.method.codec->ops->fini : NULL);
    }
    return err;
}

/* Gives the decoder's state the parameters of the frame, if it can take them. */
static int rebind(struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag)
{
    struct gcb_framing *f = &c->base;
    const struct gcb_method method = f->method;
    const struct gcb_frame own = f->frame;
    int err = gcb_framing_learn(f, frame, diag);

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
    return err == GCB_E_MISMATCH ? gcb_framing_explain(f, frame, diag) : err;
}

int gcb_coder_adopt(struct gcb_coder *c, const struct gcb_frame *frame, struct gcb_diag *diag)
{
    struct gcb_framing *f = &c->base;

    if (gcb_framing_accepts(f, frame))
        return 0;
    if (frame->count != f->env.count || (f->state && frame->codec != f->frame.codec))
        return gcb_framing_explain(f, frame, diag);
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
    err = gcb_coder_ops(c)->decode(c->base.state, in, &(struct gcb_mview){c->decoded, count});
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
    else if (gcb_coder_has_canvas(c) || !gcb_coder_ops(c)->add)
        err = GCB_E_UNSUPPORTED;
    else
        err = gcb_coder_ops(c)->add(c->base.state, &payload, to);
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
    return tell_damage(c, gcb_coder_ops(c)->add(c->base.state, &payload, &to), diag);
}

int gcb_coder_rebuild(struct gcb_coder *c, float *out, struct gcb_diag *diag)
{
    return tell_damage(c, gcb_coder_ops(c)->inverse(c->base.state, out), diag);
}
