#ifndef SRC_LIB_CODEC_PROBE_H
#define SRC_LIB_CODEC_PROBE_H

/*
 * Where a codec says how far an encode has come, so that its caller can time the parts: codecs read no
 * clock. Parts as the FFT paper counts them: Tf, Ts, Tm, Tp.
 */
enum gcb_stage {
    GCB_STAGE_TRANSFORM,
    GCB_STAGE_SELECT,   /* with the magnitudes it orders by */
    GCB_STAGE_QUANTISE, /* kept values gathered and written */
    GCB_STAGE_INDEX,    /* positions written */
    GCB_STAGES
};

struct gcb_probe {
    void (*mark)(void *ctx, enum gcb_stage stage); /* called as a stage ends; NULL: not now */
    void *ctx;
};

/* What a codec calls; NULL where nobody listens. It writes the same bytes either way. */
static inline void gcb_probe_mark(const struct gcb_probe *probe, enum gcb_stage stage)
{
    if (probe && probe->mark)
        probe->mark(probe->ctx, stage);
}

#endif
