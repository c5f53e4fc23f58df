#include "src/lib/sparse/transform.h"

#include <inttypes.h>

#include "src/lib/base/alloc.h"

const struct gcb_transform gcb_transform_none = {
    .name = "none",
    .width = 1,
};

uint64_t gcb_transform_chunk(const struct gcb_transform_state *t)
{
    return t->chunk == 0 || t->chunk > t->env.count ? t->env.count : t->chunk;
}

void gcb_transform_fini(struct gcb_transform_state *t)
{
    gcb_fft_destroy(t->fft);
    gcb_free(t->coef);
    gcb_free(t->magnitude);
}

int gcb_transform_plan(struct gcb_transform_state *t, enum gcb_fft_kind kind, struct gcb_diag *diag)
{
    const unsigned width = kind == GCB_FFT_DCT ? 1 : 2;
    const struct gcb_fft_config config = {
        .kind = kind,
        .n = t->env.count,
        .chunk = t->chunk,
        .threads = t->env.queue->threads,
        .rigor = t->env.fft_rigor,
        .inverse = t->env.decoding,
    };

    t->coef = gcb_alloc_array(t->positions, width * sizeof(float));
    if (!t->coef)
        return gcb_diag_nomem(diag, t->positions * width * sizeof(float), "a spectrum");
    if (gcb_fft_create(&t->fft, &config))
        return gcb_diag_set(diag, GCB_E_NOMEM,
                            "out of memory (for a transform of %" PRIu64 " elements)",
                            t->env.count);
    return 0;
}

bool gcb_transform_has_room(const struct gcb_transform_state *t)
{
    return t->env.count == 0 || gcb_fft_has_room(t->fft);
}

const float *gcb_transform_order(struct gcb_transform_state *t, const float *coef)
{
    return t->env.kernels->reduce.max_bits(coef, t->env.count) < GCB_INF_BITS ? coef : NULL;
}

void gcb_transform_scale(const struct gcb_transform_state *t, float *values, const uint32_t *pos,
                         size_t n, uint64_t base)
{
    const float unitary = t->unitary;

    (void)pos;
    (void)base;
    for (size_t j = 0; j < n; j++)
        values[j] *= unitary;
}

float *gcb_transform_canvas(struct gcb_transform_state *t, float *out)
{
    return t->env.count ? t->coef : out;
}
