#include "src/lib/sparse/select.h"

#include "src/lib/base/alloc.h"

/* Unused floats at the end of `value`: a larger array begins at another distance from `pos`.
 * Positions and values are written in turn. On an AMD EPYC, a message took twice the time if the
 * addresses of the two arrays differed by little more than a power of two. */
#define APART 0x4400u

int gcb_selection_init(struct gcb_selection *s, uint64_t positions, const struct gcb_codec_env *env,
                       struct gcb_diag *diag)
{
    s->count = env->count;
    s->positions = positions;
    s->segment = env->segment;
    s->segments = (positions + env->segment - 1) / env->segment;
    s->kernels = env->kernels;
    s->queue = env->queue;
    /* room for all positions: a page that is never written takes no memory */
    s->pos = gcb_alloc_array(positions, sizeof(*s->pos));
    s->segment_kept = gcb_alloc_array(s->segments, sizeof(*s->segment_kept));
    s->value = gcb_alloc_array(positions + APART, sizeof(*s->value));
    s->ranked = gcb_alloc_array(positions + 1, sizeof(*s->ranked));
    s->sample = gcb_alloc_array(GCB_SAMPLE_MAX, sizeof(*s->sample));
    if (s->pos && s->segment_kept && s->value && s->ranked && s->sample)
        return 0;
    return gcb_diag_nomem(diag, positions * (sizeof(*s->pos) + 2 * sizeof(*s->value)),
                          "a selection");
}

void gcb_selection_fini(struct gcb_selection *s)
{
    gcb_free(s->pos);
    gcb_free(s->segment_kept);
    gcb_free(s->value);
    gcb_free(s->ranked);
    gcb_free(s->sample);
}
