#include <math.h>

#include "kernels/select/select_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/sparse/transform.h"

static int fft_init(struct gcb_transform_state *t, const struct gcb_codec_env *env,
                    struct gcb_diag *diag)
{
    if (env->count == 0)
        return 0;
    if (!env->decoding) {
        t->magnitude = gcb_alloc_huge(t->positions, sizeof(float));
        if (!t->magnitude)
            return gcb_diag_nomem(diag, t->positions * sizeof(float), "a spectrum");
    }
    return gcb_transform_plan(t, GCB_FFT_REAL, diag);
}

static const float *fft_forward(struct gcb_transform_state *t, const float *x)
{
    if (t->env.count)
        gcb_fft_forward(t->fft, x, t->coef);
    return t->coef;
}

/* First bin of a shorter last chunk, or the number of bins if all chunks have the same length. */
static uint64_t tail_bin(const struct gcb_transform_state *t)
{
    if (t->chunk == 0 || t->chunk >= t->length || t->length % t->chunk == 0)
        return t->positions;
    return t->length / t->chunk * (t->chunk / 2 + 1);
}

struct power_job {
    struct gcb_transform_state *t;
    uint64_t tail; /* the result of tail_bin */
    float scale;   /* multiplies all bins */
    float weight;  /* multiplies the powers of the last chunk: a shorter chunk has smaller bins */
};

static void power_span(void *ctx, uint64_t i)
{
    const struct power_job *job = ctx;
    struct gcb_transform_state *t = job->t;
    const uint64_t first = i * GCB_SPAN, end = first + gcb_span_length(t->positions, i);
    uint64_t split = job->tail < end ? job->tail : end;

    split = split > first ? split : first;
    t->env.kernels->select.power(t->magnitude + first, t->coef + 2 * first, split - first,
                                 job->scale, 1.0f);
    t->env.kernels->select.power(t->magnitude + split, t->coef + 2 * split, end - split, job->scale,
                                 job->weight);
}

/* Computes the squared magnitudes of all bins. The bins are first multiplied by a power of two, so
 * that the largest is near 1. Otherwise the squares of small bins would underflow. */
static const float *fft_order(struct gcb_transform_state *t, const float *coef)
{
    struct power_job job = {.t = t, .tail = tail_bin(t), .weight = 1.0f};
    uint32_t top;

    if (t->positions == 0)
        return coef;
    top = t->env.kernels->reduce.max_bits(coef, 2 * t->positions);
    if (top >= GCB_INF_BITS)
        return NULL;
    job.scale = gcb_select_power_scale(top);
    if (job.tail < t->positions)
        job.weight = (float)t->chunk / (float)(t->length % t->chunk);
    gcb_parallel(t->env.queue, gcb_span_count(t->positions), power_span, &job);
    return t->magnitude;
}

static const float *fft_order_chunk(const struct gcb_transform_state *t, float *coef,
                                    uint64_t first, size_t n, float *room)
{
    const float weight =
        first >= tail_bin(t) ? (float)t->chunk / (float)(t->length % t->chunk) : 1.0f;

    t->env.kernels->select.power(room, coef, n, gcb_select_power_scale(t->top), weight);
    return room;
}

static void fft_scale(const struct gcb_transform_state *t, float *values, const uint32_t *pos,
                      size_t n, uint64_t base)
{
    const uint64_t tail = tail_bin(t);
    const float whole = (float)(1.0 / sqrt((double)gcb_transform_chunk(t)));
    size_t split = n; /* positions before number `split` are in whole chunks */

    while (split > 0 && base + pos[split - 1] >= tail)
        split--;
    for (size_t j = 0; j < 2 * split; j++)
        values[j] *= whole;
    if (split < n) {
        const float last = (float)(1.0 / sqrt((double)(t->length % t->chunk)));

        for (size_t j = 2 * split; j < 2 * n; j++)
            values[j] *= last;
    }
}

static void fft_inverse(struct gcb_transform_state *t, float *out)
{
    if (t->env.count)
        gcb_fft_inverse(t->fft, t->coef, out);
}

const struct gcb_transform gcb_transform_fft = {
    .width = 2,
    .pads = true,
    .positions = gcb_fft_bins,
    .init = fft_init,
    .fini = gcb_transform_fini,
    .has_room = gcb_transform_has_room,
    .forward = fft_forward,
    .order = fft_order,
    .chunks = gcb_transform_chunks,
    .order_chunk = fft_order_chunk,
    .scale = fft_scale,
    .canvas = gcb_transform_canvas,
    .inverse = fft_inverse,
};
