#include <math.h>

#include "src/lib/sparse/transform.h"

/*
 * Orthonormal DCT-II of the message or of its chunks (DeMo: Peng, Quesnelle, Kingma 2024). The
 * transform of kernels/fft is not scaled, and a chunk's first coefficient is sqrt(2) times too
 * large. correct_chunk corrects this coefficient in place, and brings a shorter last chunk to the
 * scale of the other chunks. Then a factor t->unitary makes the transform orthonormal. Only kept
 * coefficients are multiplied by this factor.
 */

static int dct_init(struct gcb_transform_state *t, const struct gcb_codec_env *env,
                    struct gcb_diag *diag)
{
    if (env->count == 0)
        return 0;
    t->unitary = (float)(1.0 / sqrt(2.0 * (double)gcb_transform_chunk(t)));
    return gcb_transform_plan(t, GCB_FFT_DCT, diag);
}

/* Multiplies the first of a chunk's n coefficients by `first`. Multiplies all coefficients of a
 * shorter last chunk by sqrt(length of a chunk / its length). */
static void correct_chunk(const struct gcb_transform_state *t, float *coef, size_t n, float first)
{
    const uint64_t length = gcb_transform_chunk(t);
    const float scale = (float)sqrt((double)length / (double)n);

    coef[0] *= first;
    for (size_t i = 0; n < length && i < n; i++)
        coef[i] *= scale;
}

static void correct_scale(struct gcb_transform_state *t, float first)
{
    const uint64_t length = gcb_transform_chunk(t);

    for (uint64_t c = 0; c < t->length; c += length)
        correct_chunk(t, t->coef + c, t->length - c < length ? t->length - c : length, first);
}

static const float *dct_order_chunk(const struct gcb_transform_state *t, float *coef,
                                    uint64_t first, size_t n, float *room)
{
    correct_chunk(t, coef, n, (float)sqrt(0.5));
    return coef;
}

static void dct_unscale_chunk(const struct gcb_transform_state *t, float *coef, size_t n)
{
    correct_chunk(t, coef, n, (float)sqrt(2.0));
}

static const float *dct_forward(struct gcb_transform_state *t, const float *x)
{
    if (t->env.count == 0)
        return x;
    gcb_fft_forward(t->fft, x, t->coef);
    correct_scale(t, (float)sqrt(0.5));
    return t->coef;
}

static void dct_inverse(struct gcb_transform_state *t, float *out)
{
    if (t->env.count == 0)
        return;
    correct_scale(t, (float)sqrt(2.0));
    gcb_fft_inverse(t->fft, t->coef, out);
}

const struct gcb_transform gcb_transform_dct = {
    .width = 1,
    .pads = true,
    .init = dct_init,
    .fini = gcb_transform_fini,
    .has_room = gcb_transform_has_room,
    .forward = dct_forward,
    .order = gcb_transform_order,
    .chunks = gcb_transform_chunks,
    .order_chunk = dct_order_chunk,
    .unscale_chunk = dct_unscale_chunk,
    .scale = gcb_transform_scale,
    .canvas = gcb_transform_canvas,
    .inverse = dct_inverse,
};
