#include "src/lib/memory/checkpoint.h"

#include <string.h>

#include "src/lib/base/sized.h"

/* ---- the array `kept`: what the encoder keeps, then what the collective keeps ---- */

static const struct gcb_kept_ops *kept_ops_of(const struct gcb_checkpoint *c)
{
    return c->encoder ? gcb_coder_method(c->encoder)->codec->ops->kept_ops : NULL;
}

static uint64_t bytes_of(const struct gcb_kept_ops *kept_ops, const void *state)
{
    return kept_ops ? kept_ops->bytes(state) : 0;
}

uint64_t gcb_checkpoint_bytes(struct gcb_checkpoint c)
{
    const struct gcb_kept_ops *codec = kept_ops_of(&c);

    return (codec ? bytes_of(codec, gcb_coder_codec_state(c.encoder)) : 0) +
           bytes_of(c.kept_ops, c.state);
}

static int write_kept(const struct gcb_checkpoint *c, struct gcb_memory_state *s,
                      struct gcb_diag *diag)
{
    const struct gcb_kept_ops *codec = kept_ops_of(c);
    const uint64_t bytes = gcb_checkpoint_bytes(*c);
    struct gcb_wbuf out = {.data = s->kept, .cap = s->kept_bytes};

    if (s->kept_bytes < bytes)
        return gcb_diag_set(diag, GCB_E_NOSPACE, "the method keeps %llu bytes, not %zu",
                            (unsigned long long)bytes, s->kept_bytes);
    if (codec)
        codec->write(gcb_coder_codec_state(c->encoder), &out);
    if (c->kept_ops)
        c->kept_ops->write(c->state, &out);
    s->kept_bytes = out.len;
    if (out.failed || out.len != bytes)
        return gcb_diag_set(diag, GCB_E_INTERNAL, "a state has another length");
    return 0;
}

/* Restores the encoder and the collective from the array, or makes them as new if it is NULL. If
 * the collective fails, the caller drops its state, which is new. */
static int read_kept(const struct gcb_checkpoint *c, const struct gcb_memory_view *s)
{
    const struct gcb_kept_ops *codec = kept_ops_of(c);
    struct gcb_rbuf in = {.data = s->kept, .len = s->kept_bytes};
    int err = 0;

    if (s->kept && s->kept_bytes != gcb_checkpoint_bytes(*c))
        return GCB_E_MISMATCH;
    if (codec)
        err = codec->read(gcb_coder_codec_state(c->encoder), s->kept ? &in : NULL);
    if (!err && c->kept_ops)
        err = c->kept_ops->read(c->state, s->kept ? &in : NULL);
    return err;
}

/* ---- saving ---- */

int gcb_checkpoint_save(struct gcb_checkpoint c, struct gcb_memory_state *state,
                        struct gcb_diag *diag)
{
    struct gcb_memory_state s;
    int err = gcb_struct_copy(&s, sizeof(s), state, "gcb_memory_state", diag);

    if (!err && s.kept)
        err = write_kept(&c, &s, diag);
    if (err)
        return err;
    memset(s.counters, 0, sizeof(s.counters));
    gcb_memory_save(c.memory, s.residual, s.momentum, &s.counters[0]);
    if (c.encoder)
        gcb_coder_save(c.encoder, s.counters + 1);
    gcb_struct_fill(state, s.size, &s, sizeof(s));
    return 0;
}

/* ---- restoring ---- */

/* Restores the codec's counters. Returns GCB_E_MISMATCH if they do not fit the codec, or if a
 * counter that nothing uses is not 0. */
static int restore_counters(struct gcb_coder *encoder, const struct gcb_memory_view *s)
{
    for (size_t i = encoder ? 1 + GCB_KEPT : 1; i < sizeof(s->counters) / sizeof(s->counters[0]);
         i++)
        if (s->counters[i])
            return GCB_E_MISMATCH;
    return encoder ? gcb_coder_restore(encoder, s->counters + 1) : 0;
}

static int restore_codec(const struct gcb_checkpoint *c, const struct gcb_memory_view *s,
                         struct gcb_diag *diag)
{
    uint64_t before[GCB_KEPT];

    if (c->encoder)
        gcb_coder_save(c->encoder, before);
    if (restore_counters(c->encoder, s))
        return gcb_diag_set(diag, GCB_E_MISMATCH,
                            "the saved state is of another method: its counters do not fit");
    if (!read_kept(c, s))
        return 0;
    if (c->encoder) /* its counters have been restored; undo that */
        (void)gcb_coder_restore(c->encoder, before);
    return gcb_diag_set(diag, GCB_E_MISMATCH,
                        "the saved state is of another method, or damaged: what the method keeps "
                        "does not fit");
}

int gcb_checkpoint_restore(struct gcb_checkpoint c, const struct gcb_memory_view *saved,
                           struct gcb_diag *diag)
{
    struct gcb_memory_view s;
    int err = gcb_struct_copy(&s, sizeof(s), saved, "gcb_memory_view", diag);

    if (!err)
        err = gcb_memory_check(c.memory, s.residual, s.momentum, s.counters[0], diag);
    if (!err)
        err = restore_codec(&c, &s, diag);
    if (!err)
        gcb_memory_restore(c.memory, s.residual, s.momentum, s.counters[0]);
    return err;
}
