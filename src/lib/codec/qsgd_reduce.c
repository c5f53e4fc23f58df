#include "src/lib/codec/qsgd_private.h"

/* QSGD in an all-reduce: norms that all workers share, and sums of levels (src/lib/codec/shared_scale.h). */

static enum gcb_reduction qsgd_reduction(const void *state, unsigned round)
{
    return gcb_shared_scale_reduction(&((const struct gcb_qsgd *)state)->shared, round);
}

static uint64_t qsgd_reduce_count(const void *state, unsigned round)
{
    return gcb_shared_scale_count(&((const struct gcb_qsgd *)state)->shared, round);
}

static void measure_unit(void *ctx, uint64_t i)
{
    const struct gcb_qsgd_job *job = ctx;
    const struct gcb_qsgd *s = job->s;
    const uint64_t first = i * s->unit, last = first + gcb_qsgd_run(s, i, s->unit);

    gcb_qsgd_put_norms(job, first / s->l.bucket, (last + s->l.bucket - 1) / s->l.bucket);
}

/* Rounds weight * x to levels of the shared norms. */
static void level_unit(void *ctx, uint64_t i)
{
    const struct gcb_qsgd_job *job = ctx;
    const struct gcb_qsgd *s = job->s;
    const uint64_t first = i * s->unit, last = first + gcb_qsgd_run(s, i, s->unit);
    float weighted[GCB_TILE];
    uint16_t code[GCB_TILE];

    for (uint64_t at = first; at < last; at += GCB_TILE) {
        const size_t n = last - at < GCB_TILE ? last - at : GCB_TILE;

        for (size_t k = 0; k < n; k++)
            weighted[k] = job->weight * job->from[at + k];
        gcb_qsgd_quantise(job, weighted, at, n, code);
        for (size_t k = 0; k < n; k++) {
            const int level = code[k] & ((1 << s->l.sign_bit) - 1);

            gcb_shared_scale_put(&s->shared, at + k, code[k] >> s->l.sign_bit ? -level : level);
        }
    }
}

/* If weight * x overflows, a norm is infinite, and so all workers know. */
static int qsgd_contribute(void *state, const struct gcb_reduce_at *at, unsigned round,
                           const float *x, void *values)
{
    const struct gcb_qsgd *s = state;
    struct gcb_qsgd_job job = {
        .s = s,
        .draw = gcb_rounding_draw(&s->env, &at->step),
        .from = x,
        .weight = at->weight,
        .norms_out = round == 0 ? values : (uint8_t *)s->shared.scale,
    };

    gcb_parallel(s->env.queue, gcb_qsgd_units(s), round == 0 ? measure_unit : level_unit, &job);
    if (round == 1)
        gcb_shared_scale_send(&s->shared, values);
    return 0;
}

static void qsgd_absorb(void *state, unsigned round, const void *combined)
{
    gcb_shared_scale_absorb(&((struct gcb_qsgd *)state)->shared, combined);
}

static void qsgd_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                          const void *combined, float *update, float *own)
{
    gcb_shared_scale_conclude(&((const struct gcb_qsgd *)state)->shared, at->weight, combined,
                              update, own);
}

const struct gcb_reduce_ops gcb_qsgd_reduce = {
    .rounds = 2,
    .reduction = qsgd_reduction,
    .count = qsgd_reduce_count,
    .contribute = qsgd_contribute,
    .absorb = qsgd_absorb,
    .conclude = qsgd_conclude,
    .conserves = true,
};
