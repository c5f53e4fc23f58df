#include "src/lib/codec/codecs.h"
#include "src/lib/codec/packed.h"

/*
 * The 16-bit baselines: what mixed-precision training sends anyway, so the bar every method must beat.
 * Round to nearest, ties to even; values too large become the largest finite one and count as clamped.
 */
struct half {
    uint64_t count;
    uint64_t clamped;
    gcb_convert_narrow_fn *narrow;
    gcb_convert_widen_fn *widen;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

static void bind(struct half *s, const struct gcb_codec_env *env)
{
    s->count = env->count;
    s->kernels = env->kernels;
    s->queue = env->queue;
}

static int fp16_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct half *s = state;

    (void)diag;
    bind(s, env);
    s->narrow = env->kernels->convert.to_fp16;
    s->widen = env->kernels->convert.from_fp16;
    return 0;
}

static int bf16_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct half *s = state;

    (void)diag;
    bind(s, env);
    s->narrow = env->kernels->convert.to_bf16;
    s->widen = env->kernels->convert.from_bf16;
    return 0;
}

static uint64_t half_max_payload(const void *state)
{
    const struct half *s = state;

    return s->count * 2;
}

struct half_job {
    struct half *s;
    const float *from;
    float *to;
    uint8_t *out;
    const uint8_t *in;
};

static void encode_span(void *ctx, uint64_t i)
{
    const struct half_job *job = ctx;
    const size_t clamped = job->s->narrow(job->out + i * GCB_SPAN * 2, job->from + i * GCB_SPAN,
                                          gcb_span_length(job->s->count, i));

    if (clamped)
        __atomic_fetch_add(&job->s->clamped, clamped, __ATOMIC_RELAXED);
}

static void decode_span(void *ctx, uint64_t i)
{
    const struct half_job *job = ctx;

    job->s->widen(job->to + i * GCB_SPAN, job->in + i * GCB_SPAN * 2,
                  gcb_span_length(job->s->count, i));
}

static int half_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                       struct gcb_wbuf *out)
{
    struct half *s = state;
    struct half_job job = {.s = s, .from = in->data, .out = gcb_wbuf_take(out, s->count * 2)};

    (void)at;
    if (!job.out)
        return GCB_E_NOSPACE;
    s->clamped = 0;
    gcb_parallel(s->queue, gcb_span_count(s->count), encode_span, &job);
    return 0;
}

static int half_decode(void *state, struct gcb_rbuf *in, const struct gcb_mview *out)
{
    struct half *s = state;
    struct half_job job = {.s = s, .to = out->data, .in = gcb_rbuf_take(in, s->count * 2)};

    if (!job.in)
        return GCB_E_CORRUPT;
    gcb_parallel(s->queue, gcb_span_count(s->count), decode_span, &job);
    return 0;
}

static int half_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct half *s = state;
    const uint8_t *p = gcb_rbuf_take(in, s->count * 2);

    if (!p)
        return GCB_E_CORRUPT;
    parts->value_bytes = s->count * 2;
    parts->kept = parts->positions = s->count;
    return gcb_packed_entropy(&parts->entropy0_bits, p, s->count, 16, s->kernels);
}

static uint64_t half_clamped(const void *state)
{
    const struct half *s = state;

    return s->clamped;
}

static double half_nominal_bits(const void *state)
{
    (void)state;
    return 16.0;
}

static const struct gcb_codec_ops fp16_ops = {
    .state_size = sizeof(struct half),
    .init = fp16_init,
    .max_payload = half_max_payload,
    .encode = half_encode,
    .decode = half_decode,
    .describe = half_describe,
    .clamped = half_clamped,
    .nominal_bits = half_nominal_bits,
};

static const struct gcb_codec_ops bf16_ops = {
    .state_size = sizeof(struct half),
    .init = bf16_init,
    .max_payload = half_max_payload,
    .encode = half_encode,
    .decode = half_decode,
    .describe = half_describe,
    .clamped = half_clamped,
    .nominal_bits = half_nominal_bits,
};

const struct gcb_codec gcb_codec_fp16 = {
    .name = "fp16",
    .summary = "IEEE half precision: the 16-bit baseline",
    .source = "IEEE 754 binary16",
    .guarantee =
        "relative error at most 2^-11 for 2^-14 <= |x| <= 65504, absolute at most 2^-25 below",
    .error_rule = "fp16",
    .wire_id = 2,
    .caps = GCB_CAP_LINEAR,
    .ops = &fp16_ops,
};

const struct gcb_codec gcb_codec_bf16 = {
    .name = "bf16",
    .summary = "bfloat16: float32's range with 8 bits of precision",
    .source = "bfloat16",
    .guarantee = "relative error at most 2^-8 for normal values below the largest bfloat16",
    .error_rule = "bf16",
    .wire_id = 3,
    .caps = GCB_CAP_LINEAR,
    .ops = &bf16_ops,
};
