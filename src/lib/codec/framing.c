#include "src/lib/codec/framing.h"

#include <inttypes.h>
#include <string.h>

#include "src/lib/base/alloc.h"

size_t gcb_framing_raw_size(enum gcb_dtype source)
{
    return source == GCB_F64 ? 4 : gcb_dtype_size(source);
}

uint64_t gcb_framing_raw_bytes(const struct gcb_framing *f)
{
    return f->env.count * gcb_framing_raw_size(f->frame.source);
}

uint64_t gcb_framing_max_payload(const struct gcb_framing *f, uint64_t own, bool may_send_raw)
{
    const uint64_t raw = gcb_framing_raw_bytes(f);

    return own < raw && (may_send_raw || f->nonfinite == GCB_NONFINITE_RAW) ? raw : own;
}

static int bind(struct gcb_framing *f, const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    const char *path = config->env.path ? config->env.path : "";

    f->env = config->env;
    f->env.count = f->frame.count;
    f->env.wire_id = f->frame.codec;
    f->env.decoding = false;
    if (!f->env.segment)
        f->env.segment = UINT64_C(1) << 31;
    f->nonfinite = config->nonfinite;
    f->path = gcb_strdup(path);
    f->env.path = f->path;
    return f->path ? 0 : gcb_diag_nomem(diag, strlen(path) + 1, "a path");
}

int gcb_framing_encoder(struct gcb_framing *f, const struct gcb_method *method,
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

/* The method that the frame names, with the frame's parameters. */
static int find_method(struct gcb_framing *f, struct gcb_diag *diag)
{
    struct gcb_rbuf params = {.data = f->frame.params, .len = f->frame.param_bytes};
    struct gcb_method *m = &f->method;

    m->codec = gcb_codec_by_wire_id(f->frame.codec);
    if (!m->codec)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "the message has an unknown codec (wire id %u)", f->frame.codec);
    m->name = m->codec->name;
    return gcb_param_read(m->codec->params, m->value, &params, diag);
}

int gcb_framing_decoder(struct gcb_framing *f, const void *message, size_t length,
                        const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    const uint64_t limit = config->max_elements && config->max_elements < GCB_MAX_ELEMENTS
                               ? config->max_elements
                               : GCB_MAX_ELEMENTS;
    struct gcb_rbuf payload;
    int err = gcb_frame_parse(&f->frame, &payload, message, length, diag);

    if (!err)
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
    if (err != GCB_E_INVALID || !f->env.decoding)
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
    if (f->state && fini)
        fini(f->state);
    gcb_free(f->state);
    gcb_free(f->path);
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
