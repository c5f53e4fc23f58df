#include "src/lib/codec/terngrad.h"

#include "kernels/dither/dither_cuda.h"
#include "src/lib/device/module/codecs.h"
#include "src/lib/device/module/draw.h"

struct terngrad {
    struct gcb_terngrad p;
    const struct gcb_codec_env *env;
    struct gcb_cuda_terngrad how; /* random streams are not set: each message has its own */
};

static int terngrad_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct terngrad *s = state;

    s->env = env;
    gcb_terngrad_bind(&s->p);
    s->how = (struct gcb_cuda_terngrad){
        .draw.keys = gcb_philox_keys_of(env->seed),
        .clip = s->p.clip,
        .base3 = s->p.packing == GCB_TERNGRAD_BASE3,
    };
    return 0;
}

static uint64_t terngrad_scratch(const void *state)
{
    const struct terngrad *s = state;

    return s->env->decoding ? 0 : gcb_cuda_terngrad_scratch(&s->how, s->env->count);
}

/* Returns s->how with the random streams of a step. */
static struct gcb_cuda_terngrad how_at(const struct terngrad *s, const struct gcb_step *at)
{
    const struct gcb_rounding_draw draw = gcb_rounding_draw(s->env, at);
    struct gcb_cuda_terngrad how = s->how;

    how.draw.coarse = draw.coarse;
    how.draw.fine = draw.fine;
    return how;
}

static int terngrad_encode(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                           const struct gcb_device_call *call)
{
    const struct terngrad *s = state;
    const struct gcb_cuda_terngrad how = how_at(s, &call->at);

    return gcb_cuda_terngrad_encode(call->stream, out_dev, in, &how, call->scratch_dev,
                                    call->result_dev);
}

static int terngrad_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                           const struct gcb_device_call *call)
{
    const struct terngrad *s = state;

    if (length != s->p.q.base.max_payload)
        return GCB_E_CORRUPT;
    return gcb_cuda_terngrad_decode(call->stream, out_dev, payload_dev, s->env->count, &s->how,
                                    call->result_dev);
}

static int terngrad_sum(const void *state, const struct gcb_cuda_payloads *p, float *out_dev,
                        struct gcb_device_stream *stream)
{
    const struct terngrad *s = state;

    return gcb_cuda_terngrad_sum(stream, out_dev, s->env->count, &s->how, p);
}

static bool terngrad_alike(const void *state, const void *other)
{
    const struct terngrad *a = state, *b = other;

    return a->env->seed == b->env->seed && a->p.clip == b->p.clip && a->how.base3 == b->how.base3;
}

static void terngrad_fill(const void *state, const struct gcb_step *at,
                          struct gcb_device_item *item)
{
    gcb_device_fill_draw(((const struct terngrad *)state)->env, at, item);
}

static int terngrad_code_group(const void *state, bool decode, const struct gcb_device_group *group,
                               struct gcb_device_stream *stream)
{
    const struct terngrad *s = state;

    return (decode ? gcb_cuda_terngrad_decode_group : gcb_cuda_terngrad_encode_group)(stream, group,
                                                                                      &s->how);
}

static const struct gcb_device_group_ops terngrad_group = {
    .alike = terngrad_alike,
    .fill = terngrad_fill,
    .code_async = terngrad_code_group,
};

const struct gcb_device_ops gcb_device_terngrad = {
    .state_size = sizeof(struct terngrad),
    .init = terngrad_init,
    .scratch = terngrad_scratch,
    .feedback = true,
    .encode_async = terngrad_encode,
    .decode_async = terngrad_decode,
    .sum_async = terngrad_sum,
    .group = &terngrad_group,
};
