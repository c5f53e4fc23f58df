#include "src/lib/memory/checkpoint.h"

#include <string.h>

#include "src/lib/base/sized.h"

int gcb_checkpoint_save(const struct gcb_memory *memory, const struct gcb_coder *encoder,
                        uint64_t count, struct gcb_memory_state *state, struct gcb_diag *diag)
{
    struct gcb_memory_state s;
    const int err = gcb_struct_copy(&s, sizeof(s), state, "gcb_memory_state", diag);

    if (err)
        return err;
    memset(s.counters, 0, sizeof(s.counters));
    if (memory) {
        gcb_memory_save(memory, s.residual, s.momentum, &s.counters[0]);
    } else if (count) {
        if (s.residual)
            memset(s.residual, 0, count * sizeof(float));
        if (s.momentum)
            memset(s.momentum, 0, count * sizeof(float));
    }
    if (encoder)
        gcb_coder_save(encoder, s.counters + 1);
    gcb_struct_fill(state, s.size, &s, sizeof(s));
    return 0;
}

static int restore_memory(struct gcb_memory *memory, uint64_t count,
                          const struct gcb_memory_view *saved, struct gcb_diag *diag)
{
    if (memory)
        return gcb_memory_restore(memory, saved->residual, saved->momentum, saved->counters[0],
                                  diag);
    for (uint64_t i = 0; i < count; i++)
        if ((saved->residual && saved->residual[i] != 0.0f) ||
            (saved->momentum && saved->momentum[i] != 0.0f))
            return gcb_diag_set(diag, GCB_E_MISMATCH,
                                "the method keeps no memory, but one was saved");
    return saved->counters[0]
               ? gcb_diag_set(diag, GCB_E_MISMATCH, "the saved state is of a method with a delay")
               : 0;
}

/* Restores the counters of the codec. No method uses the last counters. */
static int restore_encoder(struct gcb_coder *encoder, const struct gcb_memory_view *saved,
                           struct gcb_diag *diag)
{
    bool fits = true;

    for (size_t i = encoder ? 1 + GCB_KEPT : 1;
         i < sizeof(saved->counters) / sizeof(saved->counters[0]); i++)
        fits &= saved->counters[i] == 0;
    if (fits && (!encoder || !gcb_coder_restore(encoder, saved->counters + 1)))
        return 0;
    return gcb_diag_set(diag, GCB_E_MISMATCH,
                        "the saved state is of another method: its counters do not fit");
}

int gcb_checkpoint_restore(struct gcb_memory *memory, struct gcb_coder *encoder, uint64_t count,
                           const struct gcb_memory_view *saved, struct gcb_diag *diag)
{
    struct gcb_memory_view s;
    uint64_t before[GCB_KEPT];
    int err = gcb_struct_copy(&s, sizeof(s), saved, "gcb_memory_view", diag);

    if (err)
        return err;
    if (encoder)
        gcb_coder_save(encoder, before);
    err = restore_encoder(encoder, &s, diag);
    if (err)
        return err;
    err = restore_memory(memory, count, &s, diag);
    if (err && encoder)
        (void)gcb_coder_restore(encoder, before);
    return err;
}
