#include "src/lib/sparse/transform.h"

static uint64_t none_positions(uint64_t count, uint64_t chunk)
{
    (void)chunk;
    return count;
}

static int none_init(struct gcb_transform_state *t, const struct gcb_codec_env *env,
                     struct gcb_diag *diag)
{
    (void)t;
    (void)env;
    (void)diag;
    return 0;
}

static void none_fini(struct gcb_transform_state *t)
{
    (void)t;
}

static const float *none_forward(struct gcb_transform_state *t, const struct gcb_step *at,
                                 const float *x)
{
    (void)t;
    (void)at;
    return x;
}

static const float *none_order(struct gcb_transform_state *t, const float *coef)
{
    (void)t;
    return coef;
}

static float *none_canvas(struct gcb_transform_state *t, float *out)
{
    (void)t;
    return out;
}

const struct gcb_transform gcb_transform_none = {
    .name = "none",
    .width = 1,
    .positions = none_positions,
    .init = none_init,
    .fini = none_fini,
    .forward = none_forward,
    .order = none_order,
    .canvas = none_canvas,
};
