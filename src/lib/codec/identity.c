#include <string.h>

#include "src/lib/codec/packed.h"

/*
 * Sends the tensor as it is, in float32. This codec is the baseline that shows what a coder itself
 * costs. It is also the template for a new codec.
 */
static int identity_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_codec_base *s = state;

    s->max_payload = env->count * sizeof(float);
    s->nominal_bits = 32;
    s->rounds = 1;
    s->round[0] = (struct gcb_reduce_round){GCB_SUM_F32, env->count};
    return 0;
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
    return gcb_read_raw(&((struct gcb_codec_base *)state)->env, GCB_F32, in, out, to);
}

static int identity_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct gcb_codec_base *s = state;

    parts->value_bytes = gcb_rbuf_left(in);
    parts->kept = parts->positions = s->env.count;
    parts->entropy0_bits = 32.0 * (double)s->env.count;
    return 0;
}

/* ---- all-reduce: the sum of float32 elements ---- */

static int identity_contribute(void *state, const struct gcb_reduce_at *at, unsigned round,
                               const float *x, void *values)
{
    const struct gcb_codec_base *s = state;

    gcb_weigh(values, x, at->weight, s->env.count, s->env.queue);
    return 0;
}

static void identity_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                              const void *combined, float *update, float *own)
{
    gcb_conclude_whole(((struct gcb_codec_base *)state)->env.count, x, combined, update, own);
}

static const struct gcb_reduce_ops identity_reduce = {
    .rounds = 1,
    .contribute = identity_contribute,
    .conclude = identity_conclude,
    .conserves = true,
};

static const struct gcb_codec_ops identity_ops = {
    .state_size = sizeof(struct gcb_codec_base),
    .init = identity_init,
    .encode = identity_encode,
    .read = identity_read,
    .marks = true,
    .describe = identity_describe,
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
    .collectives = GCB_COLLECTIVES_DENSE,
};
