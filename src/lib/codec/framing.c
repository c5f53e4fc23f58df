#include "src/lib/codec/framing.h"

size_t gcb_framing_raw_size(enum gcb_dtype source)
{
    return source == GCB_F64 ? 4 : gcb_dtype_size(source);
}

uint64_t gcb_framing_max_payload(uint64_t count, enum gcb_dtype source, uint64_t own)
{
    const uint64_t raw = count * gcb_framing_raw_size(source);

    return own > raw ? own : raw;
}

int gcb_framing_prepare(struct gcb_frame *f, const struct gcb_codec *codec, const void *state,
                        uint64_t max_payload, struct gcb_diag *diag)
{
    struct gcb_wbuf params = {.data = f->params, .cap = sizeof(f->params)};

    f->codec = codec->wire_id;
    if (f->count > UINT32_MAX || max_payload > UINT32_MAX)
        f->flags |= GCB_WIRE_WIDE;
    gcb_param_write(codec->params, state, &params);
    f->param_bytes = (uint8_t)params.len;
    return params.failed ? gcb_diag_set(diag, GCB_E_INTERNAL, "too many header parameters") : 0;
}

int gcb_framing_method(struct gcb_method *m, const struct gcb_frame *f, struct gcb_diag *diag)
{
    struct gcb_rbuf params = {.data = f->params, .len = f->param_bytes};

    m->codec = gcb_codec_by_wire_id(f->codec);
    if (!m->codec)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "message of an unknown codec (wire id %u)",
                            f->codec);
    m->name = m->codec->name;
    return gcb_param_read(m->codec->params, m->value, &params, diag);
}

int gcb_framing_verdict(int err, struct gcb_diag *diag)
{
    if (err != GCB_E_INVALID)
        return err;
    if (diag)
        diag->status = GCB_E_CORRUPT;
    return GCB_E_CORRUPT;
}
