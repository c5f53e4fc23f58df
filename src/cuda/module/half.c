#include "kernels/convert/convert_cuda.h"
#include "src/cuda/module/codecs.h"

/* fp16 and bf16: one read, one write. */
struct half {
    uint64_t count;
};

static int half_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct half *s = state;

    (void)diag;
    s->count = env->count;
    return 0;
}

static uint64_t half_bound(const void *state)
{
    const struct half *s = state;

    return s->count * 2;
}

static uint64_t half_scratch(const void *state)
{
    (void)state;
    return 0;
}

static int fp16_encode_residual(void *state, const struct gcb_step *at,
                                const struct gcb_device_input *in, uint8_t *out_dev,
                                const struct gcb_device_call *call)
{
    (void)state;
    (void)at;
    return gcb_cuda_put_fp16(call->stream, out_dev, in, call->result_dev);
}

static int fp16_encode(void *state, const struct gcb_step *at, const float *in_dev,
                       uint8_t *out_dev, const struct gcb_device_call *call)
{
    const struct half *s = state;
    const struct gcb_device_input in = gcb_device_plain(in_dev, s->count);

    return fp16_encode_residual(state, at, &in, out_dev, call);
}

static int bf16_encode_residual(void *state, const struct gcb_step *at,
                                const struct gcb_device_input *in, uint8_t *out_dev,
                                const struct gcb_device_call *call)
{
    (void)state;
    (void)at;
    return gcb_cuda_put_bf16(call->stream, out_dev, in, call->result_dev);
}

static int bf16_encode(void *state, const struct gcb_step *at, const float *in_dev,
                       uint8_t *out_dev, const struct gcb_device_call *call)
{
    const struct half *s = state;
    const struct gcb_device_input in = gcb_device_plain(in_dev, s->count);

    return bf16_encode_residual(state, at, &in, out_dev, call);
}

static int fp16_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                       const struct gcb_device_call *call)
{
    const struct half *s = state;

    if (length != s->count * 2)
        return GCB_E_CORRUPT;
    return gcb_cuda_get_fp16(call->stream, out_dev, payload_dev, s->count);
}

static int bf16_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                       const struct gcb_device_call *call)
{
    const struct half *s = state;

    if (length != s->count * 2)
        return GCB_E_CORRUPT;
    return gcb_cuda_get_bf16(call->stream, out_dev, payload_dev, s->count);
}

static int fp16_encode_group(const void *state, const struct gcb_device_group *group,
                             struct gcb_device_stream *stream)
{
    (void)state;
    return gcb_cuda_put_fp16_group(stream, group);
}

static int fp16_decode_group(const void *state, const struct gcb_device_group *group,
                             struct gcb_device_stream *stream)
{
    (void)state;
    return gcb_cuda_get_fp16_group(stream, group);
}

static const struct gcb_device_group_ops fp16_group = {
    .encode_async = fp16_encode_group,
    .decode_async = fp16_decode_group,
};

static int bf16_encode_group(const void *state, const struct gcb_device_group *group,
                             struct gcb_device_stream *stream)
{
    (void)state;
    return gcb_cuda_put_bf16_group(stream, group);
}

static int bf16_decode_group(const void *state, const struct gcb_device_group *group,
                             struct gcb_device_stream *stream)
{
    (void)state;
    return gcb_cuda_get_bf16_group(stream, group);
}

static const struct gcb_device_group_ops bf16_group = {
    .encode_async = bf16_encode_group,
    .decode_async = bf16_decode_group,
};

const struct gcb_device_ops gcb_device_fp16 = {
    .state_size = sizeof(struct half),
    .init = half_init,
    .bound = half_bound,
    .scratch = half_scratch,
    .encode_async = fp16_encode,
    .encode_residual_async = fp16_encode_residual,
    .decode_async = fp16_decode,
    .group = &fp16_group,
};

const struct gcb_device_ops gcb_device_bf16 = {
    .state_size = sizeof(struct half),
    .init = half_init,
    .bound = half_bound,
    .scratch = half_scratch,
    .encode_async = bf16_encode,
    .encode_residual_async = bf16_encode_residual,
    .decode_async = bf16_decode,
    .group = &bf16_group,
};
