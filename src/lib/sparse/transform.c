#include "src/lib/sparse/transform.h"

#include <inttypes.h>

#include "src/lib/base/alloc.h"

const struct gcb_transform gcb_transform_none = {
    .width = 1,
};

uint64_t gcb_transform_chunk(const struct gcb_transform_state *t)
{
    return t->chunk == 0 || t->chunk > t->length ? t->length : t->chunk;
}

void gcb_transform_fini(struct gcb_transform_state *t)
{
    gcb_fft_destroy(t->fft);
    gcb_free(t->coef);
    gcb_free(t->magnitude);
    gcb_free(t->room);
}

int gcb_transform_round_init(struct gcb_transform_state *t, struct gcb_diag *diag)
{
    const uint64_t n = t->env.count;

    t->rounded = gcb_alloc_array(n ? n : 1, sizeof(*t->rounded));
    return t->rounded ? 0 : gcb_diag_nomem(diag, n * sizeof(*t->rounded), "rounded elements");
}

struct round_job {
    struct gcb_transform_state *t;
    const float *x;
};

static void round_span(void *ctx, uint64_t i)
{
    const struct round_job *job = ctx;
    const struct gcb_convert_fns *f = &job->t->env.kernels->convert;
    const uint64_t first = i * GCB_SPAN, end = first + gcb_span_length(job->t->env.count, i);
    uint64_t saturated = 0;

    for (uint64_t at = first; at < end; at += GCB_TILE) {
        const size_t n = gcb_tile_length(end, at);
        uint8_t half[2 * GCB_TILE];

        saturated += f->to_fp16(half, job->x + at, n);
        f->from_fp16(job->t->rounded + at, half, n);
    }
    if (saturated)
        __atomic_fetch_add(&job->t->saturated, saturated, __ATOMIC_RELAXED);
}

const float *gcb_transform_round(struct gcb_transform_state *t, const float *x)
{
    struct round_job job = {t, x};

    t->saturated = 0;
    gcb_parallel(t->env.queue, gcb_span_count(t->env.count), round_span, &job);
    return t->rounded;
}

int gcb_transform_plan(struct gcb_transform_state *t, enum gcb_fft_kind kind, struct gcb_diag *diag)
{
    const unsigned width = kind == GCB_FFT_DCT ? 1 : 2;
    const struct gcb_fft_config config = {
        .kind = kind,
        .n = t->length,
        .zeros = t->length - t->env.count,
        .chunk = t->chunk,
        .threads = t->env.queue->threads,
        .engine = t->env.fft_engine,
        .fns = &t->env.kernels->fft,
        .inverse = t->env.decoding,
    };
    int err;

    t->coef = gcb_alloc_huge(t->positions, width * sizeof(float));
    if (!t->coef)
        return gcb_diag_nomem(diag, t->positions * width * sizeof(float), "a spectrum");
    err = gcb_fft_create(&t->fft, &config);
    if (err == GCB_E_UNSUPPORTED)
        return gcb_diag_set(diag, err,
                            "a transform of %" PRIu64 " elements in chunks of %" PRIu64
                            " needs FFTW, which this build does not have: lengths that are even, "
                            "with the factors 2, 3, 5 and 7, do not need it",
                            t->length, gcb_transform_chunk(t));
    if (err)
        return gcb_diag_set(diag, err, "out of memory (for a transform of %" PRIu64 " elements)",
                            t->length);
    t->group = gcb_fft_group(t->fft, &t->workers);
    return 0;
}

void gcb_transform_chunks(const struct gcb_transform_state *t, float *coef, const float *x,
                          float *out, const struct gcb_fft_chunks *which)
{
    if (x)
        gcb_fft_forward_chunks(t->fft, x, which, coef);
    else
        gcb_fft_inverse_chunks(t->fft, coef, which, out);
}

bool gcb_transform_has_room(const struct gcb_transform_state *t)
{
    return t->env.count == 0 || gcb_fft_has_room(t->fft);
}

const float *gcb_transform_order(struct gcb_transform_state *t, const float *coef)
{
    return t->env.kernels->reduce.max_bits(coef, t->length) < GCB_INF_BITS ? coef : NULL;
}

void gcb_transform_scale(const struct gcb_transform_state *t, float *values, const uint32_t *pos,
                         size_t n, uint64_t base)
{
    const float unitary = t->unitary;

    for (size_t j = 0; j < n; j++)
        values[j] *= unitary;
}

float *gcb_transform_canvas(struct gcb_transform_state *t, float *out)
{
    return t->env.count ? t->coef : out;
}
