#include "kernels/block/blocks_cuda.h"
#include "kernels/convert/convert_cuda.h"
#include "src/lib/codec/blocks.h"
#include "src/lib/device/module/codecs.h"
#include "src/lib/device/module/draw.h"

/* The codecs identity, fp16 and bf16. They differ only in the conversion of elements. */
struct convert {
    struct gcb_half h;                 /* its parameters are unused by identity */
    struct gcb_cuda_blocks drawn;      /* the kernels' parameters for stochastic rounding */
    const struct gcb_cuda_convert *by; /* the functions that convert elements */
};

/* The conversion of each codec, by wire id (src/lib/codec/identity.c, half.c). No codec has the
 * wire id 0. */
static const struct gcb_cuda_convert *const types[] = {NULL, &gcb_cuda_fp32, &gcb_cuda_fp16,
                                                       &gcb_cuda_bf16};

static int convert_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct convert *s = state;

    s->by = types[env->wire_id];
    s->drawn.keys = gcb_philox_keys_of(env->seed);
    s->drawn.scaling.f =
        gcb_small_float_of(s->by == &gcb_cuda_bf16 ? GCB_SMALL_BF16 : GCB_SMALL_FP16);
    s->drawn.width = 16;
    s->drawn.log2 = GCB_BLOCKS_ALL;
    s->drawn.drawn = 1;
    s->drawn.too_much = UINT32_MAX;
    s->h.base.max_payload = env->count * s->by->bytes;
    s->h.base.nominal_bits = 8.0 * (double)s->by->bytes;
    return 0;
}

static int convert_encode(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                          const struct gcb_device_call *call)
{
    const struct convert *s = state;

    if (s->h.rounding)
        return gcb_cuda_blocks_encode(call->stream, out_dev, in, &s->drawn,
                                      gcb_draw_stream(&s->h.base.env, &call->at, GCB_DRAW_COARSE),
                                      NULL, call->result_dev);
    return s->by->put(call->stream, out_dev, in, call->result_dev);
}

static int convert_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                          const struct gcb_device_call *call)
{
    const struct convert *s = state;

    if (length != s->h.base.max_payload)
        return GCB_E_CORRUPT;
    return s->by->get(call->stream, out_dev, payload_dev, s->h.base.env.count);
}

static int convert_code_group(const void *state, bool decode, const struct gcb_device_group *group,
                              struct gcb_device_stream *stream)
{
    const struct convert *s = state;

    if (!decode && s->h.rounding)
        return gcb_cuda_blocks_encode_group(stream, group, &s->drawn);
    return (decode ? s->by->get_group : s->by->put_group)(stream, group);
}

static int convert_sum(const void *state, const struct gcb_cuda_payloads *p, float *out_dev,
                       struct gcb_device_stream *stream)
{
    const struct convert *s = state;

    return s->by->sum(stream, out_dev, s->h.base.env.count, p);
}

static bool convert_alike(const void *state, const void *other)
{
    const struct convert *a = state, *b = other;

    return a->by == b->by && a->h.rounding == b->h.rounding &&
           (!a->h.rounding || a->h.base.env.seed == b->h.base.env.seed);
}

static void convert_fill(const void *state, const struct gcb_step *at, struct gcb_device_item *item)
{
    gcb_device_fill_draw(&((const struct convert *)state)->h.base.env, at, item);
}

static const struct gcb_device_group_ops convert_group = {
    .alike = convert_alike,
    .fill = convert_fill,
    .code_async = convert_code_group,
};

const struct gcb_device_ops gcb_device_convert = {
    .state_size = sizeof(struct convert),
    .init = convert_init,
    .feedback = true,
    .encode_async = convert_encode,
    .decode_async = convert_decode,
    .sum_async = convert_sum,
    .group = &convert_group,
};
