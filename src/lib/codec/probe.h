#ifndef SRC_LIB_CODEC_PROBE_H
#define SRC_LIB_CODEC_PROBE_H

/* The stages of the sparse codec's encode and decode. The paper of the method `fft`
 * (docs/codecs/fft.md) times the same stages. */
enum gcb_stage {
    GCB_STAGE_TRANSFORM,
    GCB_STAGE_SELECT,   /* magnitudes are computed and positions selected; decoding: scattering */
    GCB_STAGE_QUANTISE, /* kept values are gathered and written, or read */
    GCB_STAGE_INDEX,    /* positions are written or read */
    GCB_STAGES
};

/* Tells its owner when a stage ends, so that the owner can time stages. Codecs read no clock. */
struct gcb_probe {
    void (*mark)(void *ctx, enum gcb_stage stage); /* called when a stage ends; NULL: off */
    void *ctx;
};

/* The sparse codec calls this function when a stage ends. `probe` may be NULL. A probe does not
 * change the message. */
static inline void gcb_probe_mark(const struct gcb_probe *probe, enum gcb_stage stage)
{
    if (probe && probe->mark)
        probe->mark(probe->ctx, stage);
}

#endif
