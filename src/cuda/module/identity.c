#include "kernels/convert/convert_cuda.h"
#include "src/cuda/module/codecs.h"

/* float32 as it is, and the template for a codec on the device. */
struct identity {
    uint64_t count;
};

static int identity_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct identity *s = state;

    (void)diag;
    s->count = env->count;
    return 0;
}

static uint64_t identity_bound(const void *state)
{
    const struct identity *s = state;

    return s->count * sizeof(float);
}

static uint64_t identity_scratch(const void *state)
{
    (void)state;
    return 0;
}

static int identity_encode_residual(void *state, const struct gcb_step *at,
                                    const struct gcb_device_input *in, uint8_t *out_dev,
                                    const struct gcb_device_call *call)
{
    (void)state;
    (void)at;
    return gcb_cuda_put_fp32(call->stream, out_dev, in, call->result_dev);
}

static int identity_encode(void *state, const struct gcb_step *at, const float *in_dev,
                           uint8_t *out_dev, const struct gcb_device_call *call)
{
    const struct identity *s = state;
    const struct gcb_device_input in = gcb_device_plain(in_dev, s->count);

    return identity_encode_residual(state, at, &in, out_dev, call);
}

static int identity_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                           const struct gcb_device_call *call)
{
    const struct identity *s = state;

    if (length != s->count * sizeof(float))
        return GCB_E_CORRUPT;
    return gcb_cuda_get_fp32(call->stream, out_dev, payload_dev, s->count);
}

static int identity_encode_group(const void *state, const struct gcb_device_group *group,
                                 struct gcb_device_stream *stream)
{
    (void)state;
    return gcb_cuda_put_fp32_group(stream, group);
}

static int identity_decode_group(const void *state, const struct gcb_device_group *group,
                                 struct gcb_device_stream *stream)
{
    (void)state;
    return gcb_cuda_get_fp32_group(stream, group);
}

static const struct gcb_device_group_ops identity_group = {
    .encode_async = identity_encode_group,
    .decode_async = identity_decode_group,
};

const struct gcb_device_ops gcb_device_identity = {
    .state_size = sizeof(struct identity),
    .init = identity_init,
    .bound = identity_bound,
    .scratch = identity_scratch,
    .encode_async = identity_encode,
    .encode_residual_async = identity_encode_residual,
    .decode_async = identity_decode,
    .group = &identity_group,
};
