#include "kernels/dither/dither_cuda.h"
#include "kernels/dither/natural_elem.h"
#include "src/lib/device/module/codecs.h"
#include "src/lib/device/module/draw.h"

struct natural {
    struct gcb_codec_base base;
    struct gcb_cuda_draw draw; /* random streams are not set: each message has its own */
};

static int natural_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct natural *s = state;

    s->base.max_payload = (env->count * GCB_NATURAL_WIDTH + 7) / 8;
    s->base.may_send_raw = true;
    s->base.nominal_bits = GCB_NATURAL_WIDTH;
    s->draw.keys = gcb_philox_keys_of(env->seed);
    return 0;
}

static int natural_encode(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                          const struct gcb_device_call *call)
{
    const struct natural *s = state;
    const struct gcb_rounding_draw streams = gcb_rounding_draw(&s->base.env, &call->at);
    struct gcb_cuda_draw draw = s->draw;

    draw.coarse = streams.coarse;
    draw.fine = streams.fine;
    return gcb_cuda_natural_encode(call->stream, out_dev, in, &draw, call->result_dev);
}

static int natural_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                          const struct gcb_device_call *call)
{
    const struct natural *s = state;

    if (length != s->base.max_payload)
        return GCB_E_CORRUPT;
    return gcb_cuda_natural_decode(call->stream, out_dev, payload_dev, s->base.env.count,
                                   call->result_dev);
}

static int natural_sum(const void *state, const struct gcb_cuda_payloads *p, float *out_dev,
                       struct gcb_device_stream *stream)
{
    const struct natural *s = state;

    return gcb_cuda_natural_sum(stream, out_dev, s->base.env.count, p);
}

static bool natural_alike(const void *state, const void *other)
{
    const struct natural *a = state, *b = other;

    return a->base.env.seed == b->base.env.seed;
}

static void natural_fill(const void *state, const struct gcb_step *at, struct gcb_device_item *item)
{
    gcb_device_fill_draw(&((const struct natural *)state)->base.env, at, item);
}

static int natural_code_group(const void *state, bool decode, const struct gcb_device_group *group,
                              struct gcb_device_stream *stream)
{
    const struct natural *s = state;

    return decode ? gcb_cuda_natural_decode_group(stream, group)
                  : gcb_cuda_natural_encode_group(stream, group, &s->draw);
}

static const struct gcb_device_group_ops natural_group = {
    .alike = natural_alike,
    .fill = natural_fill,
    .code_async = natural_code_group,
};

const struct gcb_device_ops gcb_device_natural = {
    .state_size = sizeof(struct natural),
    .init = natural_init,
    .feedback = true,
    .encode_async = natural_encode,
    .decode_async = natural_decode,
    .sum_async = natural_sum,
    .group = &natural_group,
};
