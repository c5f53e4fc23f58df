#ifndef SRC_LIB_CODEC_PROBE_H
#define SRC_LIB_CODEC_PROBE_H

/*
 * Calls its owner after each stage of an encode, so that the owner can time the stages. Codecs do
 * not read a clock. The stages are those of the FFT paper: Tf, Ts, Tm, Tp.
 */
enum gcb_stage {
    GCB_STAGE_TRANSFORM,
    GCB_STAGE_SELECT,   /* computes magnitudes and selects positions */
    GCB_STAGE_QUANTISE, /* kept values are gathered and written */
    GCB_STAGE_INDEX,    /* positions are written */
    GCB_STAGES
};

struct gcb_probe {
    void (*mark)(void *ctx, enum gcb_stage stage); /* called when a stage ends; NULL: off */
    void *ctx;
};

/* Codecs call this. `probe` may be NULL. A probe does not change the message. */
static inline void gcb_probe_mark(const struct gcb_probe *probe, enum gcb_stage stage)
{
    if (probe && probe->mark)
        probe->mark(probe->ctx, stage);
}

#endif
