#include <string.h>

#include "src/lib/codec/blocks.h"

/*
 * The 16-bit formats fp16 and bf16. They are baselines, because mixed-precision training sends them
 * anyway. Values are rounded to the nearest, ties to even, or stochastically. Values that are too
 * large become the largest finite value and count as clamped.
 */
struct half {
    struct gcb_half h;
    enum gcb_dtype type;
    gcb_convert_narrow_fn *narrow;
    gcb_convert_widen_fn *widen;
    struct gcb_small_float format;
};

static int half_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    const struct gcb_convert_fns *f = &env->kernels->convert;
    const bool bf16 = env->wire_id == gcb_codec_bf16.wire_id;
    struct half *s = state;

    s->type = bf16 ? GCB_BF16 : GCB_F16;
    s->narrow = bf16 ? f->to_bf16 : f->to_fp16;
    s->widen = bf16 ? f->from_bf16 : f->from_fp16;
    s->format = gcb_small_float_of(bf16 ? GCB_SMALL_BF16 : GCB_SMALL_FP16);
    s->h.base.max_payload = env->count * 2;
    s->h.base.sees_nonfinite = true;
    s->h.base.nominal_bits = 16;
    s->h.base.rounds = 1;
    s->h.base.round[0] = (struct gcb_reduce_round){bf16 ? GCB_SUM_BF16 : GCB_SUM_F16, env->count};
    return 0;
}

struct half_job {
    struct half *s;
    const float *from;
    float *to;
    uint8_t *out;
    float weight;    /* all-reduce: multiplies `from` */
    bool look;       /* encoding: look for infinities and NaNs */
    uint64_t stream; /* number of the Philox stream */
};

/* Rounds n <= GCB_TILE elements stochastically; `first` is the index of the first. Returns how many
 * saturate. */
static size_t draw_tile(const struct half_job *job, uint8_t *out, const float *x, size_t n,
                        uint64_t first)
{
    const struct gcb_small_float *f = &job->s->format;
    const struct gcb_codec_env *env = &job->s->h.base.env;
    const float one = 1.0f;
    uint16_t code[GCB_TILE];
    const struct gcb_tile_draw draw = gcb_tile_draw(env->seed, first, job->stream);
    const size_t clamped =
        env->kernels->block.draw_floats(code, x, n, GCB_BLOCKS_ALL, &one, f, &draw);

    memcpy(out, code, n * sizeof(*code));
    return clamped;
}

static void encode_span(void *ctx, uint64_t i)
{
    const struct half_job *job = ctx;
    const uint64_t end = i * GCB_SPAN + gcb_span_length(job->s->h.base.env.count, i);
    size_t clamped = 0;

    for (uint64_t at = i * GCB_SPAN, n; at < end; at += n) {
        const float *x = job->from + at;

        /* draw_tile needs tiles. If max_bits reads a tile first, `narrow` finds it in the cache.
         * Otherwise a span is converted at once. */
        n = job->look || job->s->h.rounding ? gcb_tile_length(end, at) : end - at;
        if (job->look && job->s->h.base.env.kernels->reduce.max_bits(x, n) >= GCB_INF_BITS)
            __atomic_store_n(&job->s->h.base.nonfinite, true, __ATOMIC_RELAXED);
        clamped += job->s->h.rounding ? draw_tile(job, job->out + at * 2, x, n, at)
                                      : job->s->narrow(job->out + at * 2, x, n);
    }
    if (clamped)
        __atomic_fetch_add(&job->s->h.base.clamped, clamped, __ATOMIC_RELAXED);
}

static int half_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                       struct gcb_wbuf *out)
{
    struct half *s = state;
    struct half_job job = {.s = s,
                           .from = in->data,
                           .out = gcb_wbuf_take(out, s->h.base.env.count * 2),
                           .look = s->h.base.nonfinite,
                           .stream = gcb_draw_stream(&s->h.base.env, at, GCB_DRAW_COARSE)};

    s->h.base.nonfinite = false;
    if (!job.out)
        return GCB_E_NOSPACE;
    s->h.base.clamped = 0;
    gcb_parallel(s->h.base.env.queue, gcb_span_count(s->h.base.env.count), encode_span, &job);
    return 0;
}

static int half_read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *to)
{
    const struct half *s = state;

    return gcb_read_raw(&s->h.base.env, s->type, in, out, to);
}

static int half_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct half *s = state;

    return gcb_packed_describe(parts, in, 0, 16, &s->h.base.env);
}

/* ---- all-reduce: the sum of 16-bit elements, rounded after each addition ---- */

/* Writes weight * x as it is sent, for n <= GCB_TILE elements from element `from` on. */
static void write_tile(const struct half_job *job, uint64_t from, size_t n, uint8_t *out)
{
    float weighted[GCB_TILE];

    for (size_t i = 0; i < n; i++)
        weighted[i] = job->weight * job->from[from + i];
    if (job->s->h.rounding)
        draw_tile(job, out, weighted, n, from);
    else
        job->s->narrow(out, weighted, n);
}

static void contribute_span(void *ctx, uint64_t span)
{
    const struct half_job *job = ctx;
    const uint64_t end = span * GCB_SPAN + gcb_span_length(job->s->h.base.env.count, span);

    for (uint64_t i = span * GCB_SPAN; i < end; i += GCB_TILE)
        write_tile(job, i, gcb_tile_length(end, i), job->out + 2 * i);
}

static int half_contribute(void *state, const struct gcb_reduce_at *at, unsigned round,
                           const float *x, void *values)
{
    struct half *s = state;
    struct half_job job = {.s = s,
                           .from = x,
                           .weight = at->weight,
                           .out = values,
                           .stream = gcb_draw_stream(&s->h.base.env, &at->step, GCB_DRAW_COARSE)};

    gcb_parallel(s->h.base.env.queue, gcb_span_count(s->h.base.env.count), contribute_span, &job);
    return 0;
}

/* Computes this worker's part of the update: weight * x as it was sent, divided by the weight, or 0
 * if the weight is 0. */
static void own_span(void *ctx, uint64_t span)
{
    const struct half_job *job = ctx;
    const uint64_t end = span * GCB_SPAN + gcb_span_length(job->s->h.base.env.count, span);
    uint8_t sent[2 * GCB_TILE];

    for (uint64_t i = span * GCB_SPAN; i < end; i += GCB_TILE) {
        const size_t n = gcb_tile_length(end, i);

        write_tile(job, i, n, sent);
        job->s->widen(job->to + i, sent, n);
        for (size_t j = 0; j < n; j++)
            job->to[i + j] = job->weight != 0.0f ? job->to[i + j] / job->weight : 0.0f;
    }
}

static void half_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                          const void *combined, float *update, float *own)
{
    struct half *s = state;
    const struct gcb_codec_env *env = &s->h.base.env;
    struct half_job job = {.s = s,
                           .from = x,
                           .weight = at->weight,
                           .to = own,
                           .stream = gcb_draw_stream(env, &at->step, GCB_DRAW_COARSE)};

    if (update)
        gcb_widen(update, combined, env->count, s->type, env->kernels, env->queue);
    if (own)
        gcb_parallel(env->queue, gcb_span_count(env->count), own_span, &job);
}

static const struct gcb_reduce_ops half_reduce = {
    .rounds = 1,
    .contribute = half_contribute,
    .conclude = half_conclude,
};

/* ---- about the methods ---- */

static const struct gcb_param half_params[] = {
    {GCB_PARAM("rounding", CHOICE, struct gcb_half, rounding), .help = "how a value is rounded",
     .choices = gcb_block_rounding_names},
    {.name = NULL},
};

/* fp16 clamps values that gradients may have, so its mean is not always the input. */
static unsigned fp16_caps(const double *value)
{
    return GCB_CAP_LINEAR | (value[0] != 0.0 ? GCB_CAP_RANDOMISED : 0);
}

static unsigned bf16_caps(const double *value)
{
    return GCB_CAP_LINEAR | (value[0] != 0.0 ? GCB_CAP_RANDOMISED | GCB_CAP_UNBIASED : 0);
}

static const char *fp16_rule(const double *value)
{
    return value[0] != 0.0 ? "drawn-float" : "fp16";
}

static const char *bf16_rule(const double *value)
{
    return value[0] != 0.0 ? "drawn-float" : "bf16";
}

static const struct gcb_codec_ops half_ops = {
    .state_size = sizeof(struct half),
    .init = half_init,
    .clamps = true,
    .encode = half_encode,
    .read = half_read,
    .marks = true,
    .describe = half_describe,
};

const struct gcb_codec gcb_codec_fp16 = {
    .name = "fp16",
    .baseline = true,
    .summary = "IEEE half precision: the 16-bit baseline",
    .source = "IEEE 754 binary16",
    .guarantee = "relative error at most 2^-11 for 2^-14 <= |x| <= 65504, absolute error at most "
                 "2^-25 for smaller |x|",
    .error_rule_of = fp16_rule,
    .wire_id = 2,
    .caps_of = fp16_caps,
    .params = half_params,
    .ops = &half_ops,
    .reduce = &half_reduce,
    .collective = GCB_COLLECTIVE_ALLREDUCE,
    .collectives = GCB_COLLECTIVES_DENSE,
};

const struct gcb_codec gcb_codec_bf16 = {
    .name = "bf16",
    .baseline = true,
    .summary = "bfloat16: float32's range with 8 bits of precision",
    .source = "bfloat16",
    .guarantee = "relative error at most 2^-8 for normal values below the largest bfloat16",
    .error_rule_of = bf16_rule,
    .wire_id = 3,
    .caps_of = bf16_caps,
    .params = half_params,
    .ops = &half_ops,
    .reduce = &half_reduce,
    .collective = GCB_COLLECTIVE_ALLREDUCE,
    .collectives = GCB_COLLECTIVES_DENSE,
};
