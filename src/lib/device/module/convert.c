#include "kernels/convert/convert_cuda.h"
#include "src/lib/device/module/codecs.h"

/* identity, fp16 and bf16: one read, one write, by the launchers of one type. */
struct launchers {
    uint64_t bytes; /* of an element */
    int (*put)(struct gcb_device_stream *s, uint8_t *out, const struct gcb_device_input *in,
               struct gcb_device_result *result);
    int (*get)(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n);
    int (*put_group)(struct gcb_device_stream *s, const struct gcb_device_group *g);
    int (*get_group)(struct gcb_device_stream *s, const struct gcb_device_group *g);
};

struct convert {
    uint64_t count;
    const struct launchers *by;
};

static int open_with(struct convert *s, const struct gcb_codec_env *env, const struct launchers *by)
{
    *s = (struct convert){env->count, by};
    return 0;
}

static int identity_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    static const struct launchers by = {4, gcb_cuda_put_fp32, gcb_cuda_get_fp32,
                                        gcb_cuda_put_fp32_group, gcb_cuda_get_fp32_group};

    (void)diag;
    return open_with(state, env, &by);
}

static int fp16_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    static const struct launchers by = {2, gcb_cuda_put_fp16, gcb_cuda_get_fp16,
                                        gcb_cuda_put_fp16_group, gcb_cuda_get_fp16_group};

    (void)diag;
    return open_with(state, env, &by);
}

static int bf16_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    static const struct launchers by = {2, gcb_cuda_put_bf16, gcb_cuda_get_bf16,
                                        gcb_cuda_put_bf16_group, gcb_cuda_get_bf16_group};

    (void)diag;
    return open_with(state, env, &by);
}

static uint64_t convert_max_payload(const void *state)
{
    const struct convert *s = state;

    return s->count * s->by->bytes;
}

static uint64_t convert_scratch(const void *state)
{
    (void)state;
    return 0;
}

static int convert_encode(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                          const struct gcb_device_call *call)
{
    const struct convert *s = state;

    return s->by->put(call->stream, out_dev, in, call->result_dev);
}

static int convert_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                          const struct gcb_device_call *call)
{
    const struct convert *s = state;

    if (length != convert_max_payload(state))
        return GCB_E_CORRUPT;
    return s->by->get(call->stream, out_dev, payload_dev, s->count);
}

static int convert_encode_group(const void *state, const struct gcb_device_group *group,
                                struct gcb_device_stream *stream)
{
    const struct convert *s = state;

    return s->by->put_group(stream, group);
}

static int convert_decode_group(const void *state, const struct gcb_device_group *group,
                                struct gcb_device_stream *stream)
{
    const struct convert *s = state;

    return s->by->get_group(stream, group);
}

static bool convert_alike(const void *state, const void *other)
{
    const struct convert *a = state, *b = other;

    return a->by == b->by;
}

static const struct gcb_device_group_ops convert_group = {
    .alike = convert_alike,
    .encode_async = convert_encode_group,
    .decode_async = convert_decode_group,
};

const struct gcb_device_ops gcb_device_identity = {
    .state_size = sizeof(struct convert),
    .init = identity_init,
    .max_payload = convert_max_payload,
    .scratch = convert_scratch,
    .feedback = true,
    .encode_async = convert_encode,
    .decode_async = convert_decode,
    .group = &convert_group,
};

const struct gcb_device_ops gcb_device_fp16 = {
    .state_size = sizeof(struct convert),
    .init = fp16_init,
    .max_payload = convert_max_payload,
    .scratch = convert_scratch,
    .feedback = true,
    .encode_async = convert_encode,
    .decode_async = convert_decode,
    .group = &convert_group,
};

const struct gcb_device_ops gcb_device_bf16 = {
    .state_size = sizeof(struct convert),
    .init = bf16_init,
    .max_payload = convert_max_payload,
    .scratch = convert_scratch,
    .feedback = true,
    .encode_async = convert_encode,
    .decode_async = convert_decode,
    .group = &convert_group,
};
