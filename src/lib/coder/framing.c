#include "src/lib/coder/framing.h"

#include <inttypes.h>
#include <string.h>

#include "src/lib/base/alloc.h"

uint64_t gcb_framing_raw_bytes(const struct gcb_framing *f)
{
    return f->env.count * gcb_raw_size(f->frame.source);
}

uint64_t gcb_framing_max_payload(const struct gcb_framing *f, uint64_t own, bool may_send_raw)
{
    const uint64_t raw = gcb_framing_raw_bytes(f);

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

int gcb_framing_method(struct gcb_framing *f, const struct gcb_method *method,
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

int gcb_framing_learn(struct gcb_framing *f, const struct gcb_frame *frame, struct gcb_diag *diag)
{
    f->frame = *frame;
    return find_method(f, diag);
}

void gcb_framing_forget(struct gcb_framing *f, void (*fini)(void *state))
{
    if (f->state && fini)
        fini(f->state);
    gcb_free(f->state);
    f->state = NULL;
    f->method = (struct gcb_method){0};
}

int gcb_framing_like(struct gcb_framing *f, const struct gcb_frame *frame,
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

int gcb_framing_prepare(struct gcb_framing *f, uint64_t own, struct gcb_diag *diag)
{
    struct gcb_wbuf params = {.data = f->frame.params, .cap = sizeof(f->frame.params)};

    if (f->frame.count > UINT32_MAX || own > UINT32_MAX || gcb_framing_raw_bytes(f) > UINT32_MAX)
        f->frame.flags |= GCB_WIRE_WIDE;
    gcb_param_write(f->method.codec->params, f->state, &params);
    f->frame.param_bytes = (uint8_t)params.len;
    return params.failed ? gcb_diag_set(diag, GCB_E_INTERNAL, "too many header parameters") : 0;
}

void gcb_framing_fini(struct gcb_framing *f, void (*fini)(void *state))
{
    gcb_framing_forget(f, fini);
    gcb_free(f->path);
    gcb_free(f->shape);
}

bool gcb_framing_accepts(const struct gcb_framing *f, const struct gcb_frame *frame)
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

int gcb_framing_explain(const struct gcb_framing *f, const struct gcb_frame *frame,
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
