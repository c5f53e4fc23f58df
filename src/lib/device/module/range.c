#include "src/lib/codec/range.h"
#include "kernels/range/range_cuda.h"
#include "src/lib/device/module/codecs.h"

struct range {
    struct gcb_range_state r;
    struct gcb_cuda_range how;
};

static int range_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct range *s = state;
    const struct gcb_range_params *p = &s->r.p;

    gcb_range_bind(&s->r);
    s->how = (struct gcb_cuda_range){
        .bits = (unsigned)p->bits,
        .mantissa = (unsigned)p->mantissa,
        .max_given = p->max != 0.0,
        .max = (float)p->max,
        .rounding = (enum gcb_range_rounding)p->rounding,
    };
    return 0;
}

static uint64_t range_scratch(const void *state)
{
    const struct range *s = state;

    return s->r.base.env.decoding ? 0 : gcb_cuda_range_scratch(&s->how, s->r.base.env.count);
}

static int range_encode(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                        const struct gcb_device_call *call)
{
    const struct range *s = state;

    return gcb_cuda_range_encode(call->stream, out_dev, in, &s->how, call->scratch_dev,
                                 call->result_dev);
}

static int range_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                        const struct gcb_device_call *call)
{
    const struct range *s = state;

    if (length != s->r.base.max_payload)
        return GCB_E_CORRUPT;
    return gcb_cuda_range_decode(call->stream, out_dev, payload_dev, s->r.base.env.count,
                                 s->how.bits, call->result_dev);
}

static int range_sum(const void *state, const struct gcb_cuda_payloads *p, float *out_dev,
                     struct gcb_device_stream *stream)
{
    const struct range *s = state;

    return gcb_cuda_range_sum(stream, out_dev, s->r.base.env.count, s->how.bits, p);
}

static bool range_alike(const void *state, const void *other)
{
    const struct range *a = state, *b = other;

    return a->how.bits == b->how.bits && a->how.mantissa == b->how.mantissa &&
           a->how.max_given == b->how.max_given && a->r.p.max == b->r.p.max &&
           a->how.rounding == b->how.rounding;
}

static int range_code_group(const void *state, bool decode, const struct gcb_device_group *group,
                            struct gcb_device_stream *stream)
{
    const struct range *s = state;

    return decode ? gcb_cuda_range_decode_group(stream, group, s->how.bits)
                  : gcb_cuda_range_encode_group(stream, group, &s->how);
}

static const struct gcb_device_group_ops range_group = {
    .alike = range_alike,
    .code_async = range_code_group,
};

const struct gcb_device_ops gcb_device_range = {
    .state_size = sizeof(struct range),
    .init = range_init,
    .scratch = range_scratch,
    .feedback = true,
    .encode_async = range_encode,
    .decode_async = range_decode,
    .sum_async = range_sum,
    .group = &range_group,
};
