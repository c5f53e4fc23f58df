#include <string.h>

#include "src/lib/codec/packed.h"

/*
 * The tensor as it is, in float32: the baseline that shows what a coder itself costs, and the template for a new codec.
 */
struct identity {
    uint64_t count;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

static int identity_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct identity *s = state;

    s->count = env->count;
    s->kernels = env->kernels;
    s->queue = env->queue;
    return 0;
}

static uint64_t identity_max_payload(const void *state)
{
    const struct identity *s = state;

    return s->count * sizeof(float);
}

static int identity_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                           struct gcb_wbuf *out)
{
    uint8_t *p = gcb_wbuf_take(out, in->count * sizeof(float));

    if (!p)
        return GCB_E_NOSPACE;
    if (in->count)
        memcpy(p, in->data, in->count * sizeof(float));
    return 0;
}

static int identity_read(void *state, struct gcb_rbuf *in, float *out,
                         const struct gcb_addition *to)
{
    const struct identity *s = state;
    const uint8_t *p = gcb_rbuf_take(in, s->count * sizeof(float));

    if (!p || gcb_rbuf_left(in))
        return GCB_E_CORRUPT;
    if (to)
        gcb_add_raw(to, p, s->count, GCB_F32, s->kernels, s->queue);
    else if (s->count)
        memcpy(out, p, s->count * sizeof(float));
    return 0;
}

static int identity_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct identity *s = state;

    parts->value_bytes = gcb_rbuf_left(in);
    parts->kept = parts->positions = s->count;
    parts->entropy0_bits = 32.0 * (double)s->count;
    return 0;
}

/* ---- all-reduce: the sum of float32 elements ---- */

static enum gcb_reduction identity_reduction(const void *state, unsigned round)
{
    return GCB_SUM_F32;
}

static uint64_t identity_count(const void *state, unsigned round)
{
    return ((const struct identity *)state)->count;
}

static int identity_contribute(void *state, const struct gcb_reduce_at *at, unsigned round,
                               const float *x, void *values)
{
    const struct identity *s = state;

    gcb_weigh(values, x, at->weight, s->count, s->queue);
    return 0;
}

static void identity_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                              const void *combined, float *update, float *own)
{
    const struct identity *s = state;

    if (update && s->count)
        memcpy(update, combined, s->count * sizeof(float));
    if (own && s->count)
        memcpy(own, x, s->count * sizeof(float));
}

static const struct gcb_reduce_ops identity_reduce = {
    .rounds = 1,
    .reduction = identity_reduction,
    .count = identity_count,
    .contribute = identity_contribute,
    .conclude = identity_conclude,
    .conserves = true,
};

static const struct gcb_codec_ops identity_ops = {
    .state_size = sizeof(struct identity),
    .init = identity_init,
    .max_payload = identity_max_payload,
    .encode = identity_encode,
    .read = identity_read,
    .marks = true,
    .describe = identity_describe,
    .bits = 32,
};

const struct gcb_codec gcb_codec_identity = {
    .name = "identity",
    .baseline = true,
    .summary = "float32 as it is: the baseline without compression",
    .source = "none",
    .guarantee = "lossless",
    .wire_id = 1,
    .caps = GCB_CAP_LOSSLESS | GCB_CAP_UNBIASED | GCB_CAP_LINEAR,
    .ops = &identity_ops,
    .reduce = &identity_reduce,
    .collective = GCB_COLLECTIVE_ALLREDUCE,
    .collectives = GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_TWOSHOT),
};
