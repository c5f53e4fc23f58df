#include "src/lib/sparse/transform.h"

const struct gcb_transform gcb_transform_none = {
    .name = "none",
    .width = 1,
};

uint64_t gcb_transform_chunk(const struct gcb_transform_state *t)
{
    return t->chunk == 0 || t->chunk > t->count ? t->count : t->chunk;
}

bool gcb_transform_has_room(const struct gcb_transform_state *t)
{
    return t->count == 0 || gcb_fft_has_room(t->fft);
}

const float *gcb_transform_order(struct gcb_transform_state *t, const float *coef)
{
    return t->kernels->reduce.max_bits(coef, t->count) < GCB_INF_BITS ? coef : NULL;
}

float *gcb_transform_canvas(struct gcb_transform_state *t, float *out)
{
    return t->count ? t->coef : out;
}
