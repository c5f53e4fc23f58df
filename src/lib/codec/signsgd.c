#include <math.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

/*
 * The sign of each element. The parameter `scale` names the magnitude that decoded elements get:
 *
 *   one    1: signSGD (Bernstein et al., ICML 2018)
 *   mean   the mean magnitude of the bucket: EF-signSGD (Karimireddy et al., ICML 2019)
 *   rms    the root mean square of the bucket: 1-bit Adam (Tang et al., ICML 2021)
 *   means  the mean magnitude of the bucket's elements with the same sign: 1-bit SGD (Seide et al.,
 *          Interspeech 2014)
 *
 * If a sum of messages with scale=one and equal weights is encoded again, the result is a majority
 * vote (Bernstein et al., ICLR 2019), and an element that is 0 is a tie. With one and mean, such an
 * element gets a random sign. All workers draw the same sign, so the result does not depend on
 * which worker encodes the sum. With rms and means, the sign of 0 is plus.
 *
 * Payload: a scale (float32) for each bucket, or with scale=means a scale of the positive elements
 * for each bucket and then a scale of the negative elements for each; then one bit for each
 * element, 1 for minus. The scale of a bucket of zeros is 0, so a tensor of zeros is decoded to
 * zeros. The payload's length tells a decoder how many scales there are.
 */
enum scale { SCALE_ONE, SCALE_MEAN, SCALE_RMS, SCALE_MEANS };

/* Sums over a bucket, or over a part of it. */
struct sums {
    double size;    /* sum of the magnitudes; with SCALE_RMS, of the squares */
    double plain;   /* sum of the elements; only with SCALE_MEANS */
    uint64_t minus; /* number of negative elements; only with SCALE_MEANS */
};

struct signsgd {
    struct gcb_codec_base base;
    int scale;       /* parameter: enum scale */
    uint64_t bucket; /* parameter; 0: the whole tensor */
    uint64_t length; /* elements of a bucket; the last may be shorter */
    uint64_t buckets;
    /* Sums of each block of GCB_SUM_BLOCK elements. NULL in a decoder, with scale=one, and unless
     * there is exactly one bucket. */
    struct sums *block_sum;
};

static int signsgd_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct signsgd *s = state;
    const uint64_t blocks = (env->count + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;

    s->length = s->bucket == 0 || s->bucket > env->count ? env->count : s->bucket;
    s->buckets = env->count ? (env->count + s->length - 1) / s->length : 0;
    s->base.max_payload = s->buckets * sizeof(float) + gcb_packed_bytes(env->count, 1);
    if (env->decoding || s->scale == SCALE_MEANS)
        s->base.max_payload += s->buckets * sizeof(float);
    s->base.length_varies = env->decoding;
    s->base.sees_nonfinite = s->scale != SCALE_ONE;
    s->base.nominal_bits = 1;
    if (env->decoding || s->scale == SCALE_ONE || s->buckets != 1)
        return 0;
    s->block_sum = gcb_alloc_array(blocks, sizeof(*s->block_sum));
    return s->block_sum ? 0 : gcb_diag_nomem(diag, blocks * sizeof(*s->block_sum), "sums");
}

static void signsgd_fini(void *state)
{
    gcb_free(((struct signsgd *)state)->block_sum);
}

/* What parallel tasks share. Encoding and decoding set only the fields that they use. */
struct job {
    const struct signsgd *s;
    const float *from;
    uint8_t *scales_out, *bits_out;
    const uint8_t *scales, *minus_scales, *bits;
    float *to;
    const struct gcb_addition *add; /* NULL: decode to `to` */
    uint64_t coin;                  /* encoding: random stream of the signs of zeros */
};

/* ---- encoding: scales ---- */

static bool is_zero(const struct signsgd *s, const float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += GCB_TILE)
        if (s->base.env.kernels->reduce.max_bits(x + i, gcb_tile_length(n, i)))
            return false;
    return true;
}

static uint64_t bucket_length(const struct signsgd *s, uint64_t bucket)
{
    const uint64_t left = s->base.env.count - bucket * s->length;

    return left < s->length ? left : s->length;
}

/* The number of scales that an encoder writes. */
static uint64_t scale_count(const struct signsgd *s)
{
    return s->scale == SCALE_MEANS ? 2 * s->buckets : s->buckets;
}

/* Adds n elements to the sums: GCB_SUM_BLOCK elements, or fewer at the end of a bucket. */
static void add_block(const struct signsgd *s, struct sums *to, const float *x, size_t n)
{
    const struct gcb_reduce_fns *reduce = &s->base.env.kernels->reduce;

    to->size += s->scale == SCALE_RMS ? reduce->sum_sq(x, n) : reduce->sum_abs(x, n);
    if (s->scale != SCALE_MEANS)
        return;
    to->plain += reduce->sum(x, n);
    for (size_t j = 0; j < n; j++)
        to->minus += x[j] < 0.0f;
}

/* The mean magnitude of the n elements of one sign. `sum` is twice the sum of their magnitudes: the
 * sum of all magnitudes plus or minus the sum of all elements. Rounding may have made `sum`
 * negative. */
static float mean_of_sign(double sum, uint64_t n)
{
    return n == 0 || sum < 0.0 ? 0.0f : (float)(sum / 2.0 / (double)n);
}

/* Writes the scales of bucket b of n elements. */
static void put_scale(const struct job *job, uint64_t b, const struct sums *of, uint64_t n)
{
    const struct signsgd *s = job->s;
    const double mean = of->size / (double)n;
    float scale = (float)(s->scale == SCALE_RMS ? sqrt(mean) : mean);

    if (s->scale == SCALE_MEANS) {
        scale = mean_of_sign(of->size + of->plain, n - of->minus);
        gcb_store_f32(job->scales_out + (s->buckets + b) * sizeof(float),
                      mean_of_sign(of->size - of->plain, of->minus));
    }
    gcb_store_f32(job->scales_out + b * sizeof(float), scale);
}

/* Writes the scales of the buckets that begin in span i. */
static void scale_span(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const struct signsgd *s = job->s;
    const uint64_t end = i * GCB_SPAN + gcb_span_length(s->base.env.count, i);

    for (uint64_t b = (i * GCB_SPAN + s->length - 1) / s->length; b * s->length < end; b++) {
        const float *x = job->from + b * s->length;
        const uint64_t n = bucket_length(s, b);
        struct sums sums = {0};

        for (uint64_t k = 0; s->scale != SCALE_ONE && k < n; k += GCB_SUM_BLOCK)
            add_block(s, &sums, x + k, n - k < GCB_SUM_BLOCK ? n - k : GCB_SUM_BLOCK);
        if (s->scale == SCALE_ONE)
            gcb_store_f32(job->scales_out + b * sizeof(float), is_zero(s, x, n) ? 0.0f : 1.0f);
        else
            put_scale(job, b, &sums, n);
    }
}

/* Sums the blocks in span i. */
static void sum_span(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const uint64_t end = i * GCB_SPAN + gcb_span_length(job->s->base.env.count, i);

    for (uint64_t k = i * GCB_SPAN; k < end; k += GCB_SUM_BLOCK) {
        struct sums *to = &job->s->block_sum[k / GCB_SUM_BLOCK];

        *to = (struct sums){0};
        add_block(job->s, to, job->from + k, end - k < GCB_SUM_BLOCK ? end - k : GCB_SUM_BLOCK);
    }
}

/* Writes the scales of all buckets. Threads share the buckets or, if s->block_sum is not NULL, the
 * blocks of the only bucket. */
static void put_scales(struct job *job)
{
    const struct signsgd *s = job->s;
    const uint64_t spans = gcb_span_count(s->base.env.count);
    struct sums all = {0};

    if (!s->block_sum) {
        gcb_parallel(s->base.env.queue, spans, scale_span, job);
        return;
    }
    gcb_parallel(s->base.env.queue, spans, sum_span, job);
    for (uint64_t k = 0; k < s->base.env.count; k += GCB_SUM_BLOCK) {
        const struct sums *block = &s->block_sum[k / GCB_SUM_BLOCK];

        all.size += block->size;
        all.plain += block->plain;
        all.minus += block->minus;
    }
    put_scale(job, 0, &all, s->base.env.count);
}

/* ---- encoding: signs ---- */

/* Draws signs for the zeros among n elements x; x[0] is element number `first` of the tensor. */
static void draw_signs(uint8_t *sign, const float *x, size_t n, uint64_t first,
                       const struct job *job)
{
    const struct gcb_codec_env *env = &job->s->base.env;
    uint8_t coin[GCB_TILE / 8];

    env->kernels->philox.bytes(coin, (n + 7) / 8, env->seed, first / 8, job->coin);
    for (size_t j = 0; j < n; j++)
        if (gcb_magnitude(x[j]) == 0)
            sign[j] = coin[j / 8] >> (j % 8) & 1;
}

/* Packs n bytes of 0 or 1, eight to a byte. The product moves the lowest bit of byte j to bit 56 +
 * j. The seven bytes after the last sign must be 0. */
static void pack(uint8_t *out, const uint8_t *sign, size_t n)
{
    for (size_t j = 0; j < n; j += 8)
        out[j / 8] = (uint8_t)(gcb_load_u64(sign + j) * UINT64_C(0x0102040810204080) >> 56);
}

static void encode_span(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const uint64_t end = i * GCB_SPAN + gcb_span_length(job->s->base.env.count, i);
    uint8_t sign[GCB_TILE + 8] = {0};

    for (uint64_t at = i * GCB_SPAN; at < end; at += GCB_TILE) {
        const float *x = job->from + at;
        const size_t n = gcb_tile_length(end, at);
        uint32_t zeros = 0;

        for (size_t j = 0; j < n; j++) {
            sign[j] = x[j] < 0.0f;
            zeros |= gcb_magnitude(x[j]) == 0;
        }
        if (zeros && job->s->scale <= SCALE_MEAN)
            draw_signs(sign, x, n, at, job);
        memset(sign + n, 0, 8);
        pack(job->bits_out + at / 8, sign, n);
    }
}

static int signsgd_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                          struct gcb_wbuf *out)
{
    struct signsgd *s = state;
    struct job job = {
        .s = s,
        .from = in->data,
        .scales_out = gcb_wbuf_take(out, scale_count(s) * sizeof(float)),
        .bits_out = gcb_wbuf_take(out, gcb_packed_bytes(s->base.env.count, 1)),
        /* without the worker, so that all workers draw the same signs */
        .coin = gcb_draw_stream(&s->base.env, &(struct gcb_step){.step = at->step}, GCB_DRAW_COINS),
    };

    s->base.nonfinite = false;
    if (!job.bits_out)
        return GCB_E_NOSPACE;
    if (s->base.env.count == 0)
        return 0;
    put_scales(&job);
    for (uint64_t b = 0; b < scale_count(s); b++) /* finite elements have finite scales */
        s->base.nonfinite |= gcb_load_u32(job.scales_out + b * sizeof(float)) >= GCB_INF_BITS;
    gcb_parallel(s->base.env.queue, gcb_span_count(s->base.env.count), encode_span, &job);
    return 0;
}

/* ---- decoding ---- */

/* Indexed by four sign bits of a message: the masks of their elements, MINUS for a negative one. */
#define MINUS 0xffffffffu
static const uint32_t minus_masks[16][4] = {
    {0, 0, 0, 0},
    {MINUS, 0, 0, 0},
    {0, MINUS, 0, 0},
    {MINUS, MINUS, 0, 0},
    {0, 0, MINUS, 0},
    {MINUS, 0, MINUS, 0},
    {0, MINUS, MINUS, 0},
    {MINUS, MINUS, MINUS, 0},
    {0, 0, 0, MINUS},
    {MINUS, 0, 0, MINUS},
    {0, MINUS, 0, MINUS},
    {MINUS, MINUS, 0, MINUS},
    {0, 0, MINUS, MINUS},
    {MINUS, 0, MINUS, MINUS},
    {0, MINUS, MINUS, MINUS},
    {MINUS, MINUS, MINUS, MINUS},
};

/* Writes or adds n elements from element `first` on, all of one bucket. minus[j] is the mask of
 * element first + j. */
static void rebuild(const struct job *job, uint64_t first, const uint32_t *minus, size_t n)
{
    const uint64_t at = first / job->s->length * sizeof(float);
    const float weight = job->add ? job->add->weight : 1.0f;
    const uint32_t plus = gcb_bits_of(weight * gcb_load_f32(job->scales + at));
    const uint32_t change = plus ^ gcb_bits_of(-(weight * gcb_load_f32(job->minus_scales + at)));

    if (job->add) {
        float *acc = job->add->acc + first;

        for (size_t j = 0; j < n; j++)
            acc[j] += gcb_float_of(plus ^ (change & minus[j]));
    } else {
        float *to = job->to + first;

        for (size_t j = 0; j < n; j++)
            to[j] = gcb_float_of(plus ^ (change & minus[j]));
    }
}

static void decode_span(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const uint64_t length = job->s->length;
    const uint64_t end = i * GCB_SPAN + gcb_span_length(job->s->base.env.count, i);
    uint32_t sign[GCB_TILE + 8];

    for (uint64_t at = i * GCB_SPAN; at < end; at += GCB_TILE) {
        const size_t n = gcb_tile_length(end, at);

        for (size_t j = 0; j < n; j += 8) {
            const uint8_t byte = job->bits[(at + j) / 8];

            memcpy(sign + j, minus_masks[byte & 15], sizeof(minus_masks[0]));
            memcpy(sign + j + 4, minus_masks[byte >> 4], sizeof(minus_masks[0]));
        }
        for (size_t j = 0, run; j < n; j += run) {
            const uint64_t left = length - (at + j) % length; /* elements left in the bucket */

            run = left < n - j ? (size_t)left : n - j;
            rebuild(job, at + j, sign + j, run);
        }
    }
}

/* The number of scales of a payload, if its length is valid. */
static uint64_t scales_in(const struct signsgd *s, const struct gcb_rbuf *in)
{
    return gcb_rbuf_left(in) == s->base.max_payload ? 2 * s->buckets : s->buckets;
}

static int signsgd_read(void *state, struct gcb_rbuf *in, float *out,
                        const struct gcb_addition *add)
{
    const struct signsgd *s = state;
    const uint64_t scales = scales_in(s, in);
    struct job job = {
        .s = s,
        .scales = gcb_rbuf_take(in, scales * sizeof(float)),
        .bits = gcb_rbuf_take(in, gcb_packed_bytes(s->base.env.count, 1)),
        .to = out,
        .add = add,
    };

    if (!job.bits || gcb_rbuf_left(in))
        return GCB_E_CORRUPT;
    for (uint64_t b = 0; b < scales; b++)
        if (gcb_load_u32(job.scales + b * sizeof(float)) >= GCB_INF_BITS)
            return GCB_E_CORRUPT; /* negative, or not finite */
    job.minus_scales = job.scales + (scales - s->buckets) * sizeof(float);
    gcb_parallel(s->base.env.queue, gcb_span_count(s->base.env.count), decode_span, &job);
    return 0;
}

static int signsgd_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct signsgd *s = state;

    return gcb_packed_describe(parts, in, scales_in(s, in) * sizeof(float), 1, &s->base.env);
}

/* value[0] is the parameter `scale`. */
static unsigned signsgd_caps(const double *value)
{
    return value[0] == SCALE_ONE || value[0] == SCALE_RMS ? GCB_CAP_NO_CONTRACTION : 0;
}

static const char *const scales[] = {"one", "mean", "rms", "means", NULL};

static const struct gcb_param signsgd_params[] = {
    {GCB_PARAM("scale", CHOICE, struct signsgd, scale),
     .help = "what a sign becomes: 1, the mean magnitude, the root mean square, or the sign's mean",
     .flags = GCB_PARAM_LABEL, .choices = scales},
    {GCB_PARAM("bucket", SIZE, struct signsgd, bucket),
     .help = "consecutive elements that share a scale; 0: all", .max = UINT32_MAX,
     .flags = GCB_PARAM_WIRE, .needs = "scale=mean|rms|means"},
    {.name = NULL},
};

static const struct gcb_codec_ops signsgd_ops = {
    .state_size = sizeof(struct signsgd),
    .init = signsgd_init,
    .fini = signsgd_fini,
    .encode = signsgd_encode,
    .read = signsgd_read,
    .describe = signsgd_describe,
};

#define GUARANTEE "keeps signs; scale=mean: ||x - x'||^2 = ||x||^2 - ||x||_1^2 / n per bucket of n"

static const struct gcb_preset signsgd_presets[] = {
    {.name = "onebit",
     .summary = "signs times the root mean square by shares, with an error kept on both sides",
     .source = "Tang et al., ICML 2021 (1-bit Adam); DeepSpeed, compressed_allreduce",
     .defaults = "scale=rms",
     .memory = "memory=ef,second-error=feedback",
     .collective = GCB_COLLECTIVE_TWOSHOT,
     .guarantee = "keeps signs; ||x - x'||^2 = 2 ||x||^2 (1 - ||x||_1 / (sqrt(n) ||x||))"},
    {.name = NULL},
};

const struct gcb_codec gcb_codec_signsgd = {
    .name = "signsgd",
    .summary = "the sign of each element, alone or times a scale",
    .source = "Bernstein et al., ICML 2018 (signSGD) and ICLR 2019 (majority vote)",
    .guarantee = GUARANTEE,
    .wire_id = 12,
    .cpu_only = true,
    .caps_of = signsgd_caps,
    .params = signsgd_params,
    .ops = &signsgd_ops,
    .collective = GCB_COLLECTIVE_TWOSHOT,
    .collectives = GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_TWOSHOT) |
                   GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_HIERARCHICAL),
    .presets = signsgd_presets,
};
