#include <math.h>
#include <string.h>

#include "kernels/reduce/norm_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/codec/terngrad.h"

/*
 * TernGrad (Wen et al., NIPS 2017): each element becomes -s, 0 or +s. s is the largest magnitude,
 * after clipping to `clip` standard deviations (0: no clipping). An element x keeps its sign with
 * probability |x| / s, and becomes 0 otherwise.
 *
 * Payload: s (float32), then the codes 0, 1, 2 for -s, 0, +s: two bits each, or five in a byte
 * (base 3).
 */
#define TILE GCB_TERNGRAD_TILE
/* Elements that a task codes. GCB_SPAN is not a multiple of TILE, so it is for measuring only. */
#define SPAN ((uint64_t)64 * TILE)

struct terngrad {
    struct gcb_terngrad p;
    const struct gcb_codec_env *env;
    /* Sums over each block of GCB_SUM_BLOCK elements, of x and of x^2. NULL unless the encoder
     * clips. */
    double *block_sum, *block_sum_sq;
    float limit; /* all-reduce: this worker's scale times |weight|; weight * x is clipped to it */
};

static void terngrad_fini(void *state)
{
    struct terngrad *s = state;

    gcb_free(s->block_sum);
    gcb_free(s->block_sum_sq);
    gcb_shared_scale_fini(&s->p.q.shared);
}

static int terngrad_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct terngrad *s = state;
    const uint64_t blocks = (env->count + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;

    s->env = env;
    gcb_terngrad_bind(&s->p);
    s->p.q.base.sees_nonfinite = true;
    if (env->decoding)
        return 0;
    if (s->p.clip != 0.0) {
        s->block_sum = gcb_alloc_array(blocks, sizeof(double));
        s->block_sum_sq = gcb_alloc_array(blocks, sizeof(double));
        if (!s->block_sum || !s->block_sum_sq)
            return gcb_diag_nomem(diag, 2 * blocks * sizeof(double), "sums");
    }
    return env->workers ? gcb_shared_scale_init(&s->p.q, 1, env->count ? env->count : 1, diag) : 0;
}

/* What parallel tasks share. Encoding and decoding set only the fields that they use. */
struct job {
    struct terngrad *s;
    const float *from;
    float *to;
    const struct gcb_addition *add; /* NULL: decode to `to` */
    uint8_t *out;
    const uint8_t *in;
    struct gcb_dither dither;
    float scale;
    uint32_t max_bits; /* bits of the largest magnitude of `from` */
    float weight;      /* all-reduce: multiplies `from` */
};

/* Finds the largest magnitude of a span and, if elements are clipped, the sums of its blocks. */
static void measure_span(void *ctx, uint64_t i)
{
    struct job *job = ctx;
    struct terngrad *s = job->s;
    const float *x = job->from + i * GCB_SPAN;
    const uint64_t n = gcb_span_length(s->env->count, i),
                   first_block = i * (GCB_SPAN / GCB_SUM_BLOCK);
    uint32_t top = 0;

    for (uint64_t k = 0; k < n; k += GCB_SUM_BLOCK) {
        const size_t m = n - k < GCB_SUM_BLOCK ? n - k : GCB_SUM_BLOCK;
        const uint32_t bits = s->env->kernels->reduce.max_bits(x + k, m);

        top = bits > top ? bits : top;
        if (s->p.clip == 0.0)
            continue;
        s->block_sum[first_block + k / GCB_SUM_BLOCK] = s->env->kernels->reduce.sum(x + k, m);
        s->block_sum_sq[first_block + k / GCB_SUM_BLOCK] = s->env->kernels->reduce.sum_sq(x + k, m);
    }
    gcb_raise_max(&job->max_bits, top);
}

/* The clipping threshold; 0: nothing is clipped. Blocks are added in order, so the threshold does
 * not depend on the number of threads. */
static double clip_threshold(const struct terngrad *s)
{
    const uint64_t blocks = (s->env->count + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
    double sum = 0.0, sum_sq = 0.0;

    for (uint64_t b = 0; b < blocks; b++) {
        sum += s->block_sum[b];
        sum_sq += s->block_sum_sq[b];
    }
    return gcb_clip_of_sums(s->p.clip, sum, sum_sq, (double)s->env->count);
}

static uint64_t span_length(const struct terngrad *s, uint64_t span)
{
    const uint64_t left = s->env->count - span * SPAN;

    return left < SPAN ? left : SPAN;
}

static inline void unpack(const struct terngrad *s, uint16_t *code, const uint8_t *in, size_t n)
{
    if (s->p.packing == GCB_TERNGRAD_BASE3)
        s->env->kernels->bitpack.untrits(code, in, n);
    else
        s->env->kernels->bitpack.unpack(code, in, n, 2);
}

/* Computes the codes of n <= TILE elements x; x[0] is element number `first` of the tensor. */
static void quantise(const struct job *job, const float *x, uint64_t first, size_t n,
                     uint16_t *code)
{
    const struct gcb_kernels *k = job->s->env->kernels;
    uint8_t byte[TILE];

    k->philox.bytes(byte, n, job->dither.seed, first, job->dither.coarse);
    k->dither.trits(code, x, n, byte, first, &job->dither);
}

/* Encodes a span, counted from the end of the tensor, because the end may still be in the cache
 * after the tensor was measured. */
static void encode_span(void *ctx, uint64_t from_end)
{
    const struct job *job = ctx;
    const struct gcb_kernels *k = job->s->env->kernels;
    const uint64_t i = (job->s->env->count - 1) / SPAN - from_end;
    const uint64_t n = span_length(job->s, i);
    uint64_t clamped = 0;
    uint16_t code[TILE];

    for (uint64_t at = 0; at < n; at += TILE) {
        const size_t m = n - at < TILE ? n - at : TILE;
        const uint64_t first = i * SPAN + at;
        uint8_t *out = job->out + gcb_terngrad_code_bytes(&job->s->p, first);

        quantise(job, job->from + first, first, m, code);
        if (job->s->p.clip != 0.0)
            clamped += k->select.count(job->from + first, m, gcb_bits_of(job->scale) + 1);
        if (job->s->p.packing == GCB_TERNGRAD_BASE3)
            k->bitpack.trits(out, code, m);
        else
            k->bitpack.pack(out, code, m, 2);
    }
    if (clamped)
        __atomic_fetch_add(&job->s->p.q.base.clamped, clamped, __ATOMIC_RELAXED);
}

/* Sets job->max_bits, and returns the scale: max|x|, or the clipping threshold if that is lower. A
 * tensor of equal values has a deviation of 0 and is not clipped. */
static float find_scale(struct job *job)
{
    const bool clips = job->s->p.clip != 0.0 && job->s->env->count;

    job->max_bits = 0;
    gcb_parallel(job->s->env->queue, gcb_span_count(job->s->env->count), measure_span, job);
    return gcb_clipped_max(clips ? clip_threshold(job->s) : 0.0, job->max_bits);
}

static void set_dither(struct job *job, const struct gcb_step *at, float scale)
{
    const struct gcb_rounding_draw draw = gcb_rounding_draw(job->s->env, at);

    job->scale = scale;
    job->dither = (struct gcb_dither){
        .seed = job->s->env->seed,
        .coarse = draw.coarse,
        .fine = draw.fine,
        .levels = 1,
    };
    if (scale > 0.0f)
        gcb_dither_scale(&job->dither, scale);
}

static int terngrad_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                           struct gcb_wbuf *out)
{
    struct terngrad *s = state;
    struct job job = {.s = s, .from = in->data};

    set_dither(&job, at, find_scale(&job));
    s->p.q.base.nonfinite = job.max_bits >= GCB_INF_BITS;
    gcb_put_f32(out, job.scale);
    job.out = gcb_wbuf_take(out, gcb_terngrad_code_bytes(&s->p, s->env->count));
    if (!job.out)
        return GCB_E_NOSPACE;
    s->p.q.base.clamped = 0;
    gcb_parallel(s->env->queue, (s->env->count + SPAN - 1) / SPAN, encode_span, &job);
    return 0;
}

static void decode_span(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const struct gcb_kernels *k = job->s->env->kernels;
    const uint64_t n = span_length(job->s, i);
    _Alignas(64) float room[GCB_ROOM], *x;
    /* a fourth of a tile fits in `room` and ends at a whole byte, in both packings */
    const uint64_t most = job->s->env->count < GCB_LARGE ? TILE : TILE / 4;
    uint16_t code[TILE];

    for (uint64_t at = 0; at < n; at += most) {
        const size_t m = n - at < most ? n - at : most;
        const uint64_t first = i * SPAN + at;

        unpack(job->s, code, job->in + gcb_terngrad_code_bytes(&job->s->p, first), m);
        if (job->add) {
            k->dither.add_trits(job->add->acc + first, code, m, job->scale, job->add->weight);
            continue;
        }
        x = gcb_room(room, job->to + first, job->s->env->count);
        k->dither.from_trits(x, code, m, job->scale);
        gcb_room_done(job->to + first, x, m);
    }
}

static int terngrad_read(void *state, struct gcb_rbuf *in, float *out,
                         const struct gcb_addition *add)
{
    struct terngrad *s = state;
    struct job job = {.s = s, .to = out, .add = add, .scale = gcb_get_f32(in)};

    job.in = gcb_rbuf_take(in, gcb_terngrad_code_bytes(&s->p, s->env->count));
    if (!job.in || gcb_rbuf_left(in) || gcb_bits_of(job.scale) >= GCB_INF_BITS)
        return GCB_E_CORRUPT;
    gcb_parallel(s->env->queue, (s->env->count + SPAN - 1) / SPAN, decode_span, &job);
    return 0;
}

static int terngrad_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct terngrad *s = state;
    uint64_t histogram[4] = {0};
    uint16_t code[TILE];

    parts->scale_bytes = sizeof(float);
    gcb_rbuf_take(in, sizeof(float));
    parts->value_bytes = gcb_rbuf_left(in);
    parts->kept = parts->positions = s->env->count;
    for (uint64_t left = s->env->count; left;) {
        const size_t m = left < TILE ? left : TILE;
        const uint8_t *p = gcb_rbuf_take(in, gcb_terngrad_code_bytes(&s->p, m));

        if (!p)
            return GCB_E_CORRUPT;
        unpack(s, code, p, m);
        for (size_t j = 0; j < m; j++)
            histogram[code[j]]++;
        left -= m;
    }
    parts->entropy0_bits = gcb_entropy0(histogram, 4);
    return 0;
}

/* All-reduce: clips weight * x to this worker's own limit, and rounds the result to levels of the
 * shared scale, for the elements of a span. */
static void round_span(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    struct terngrad *s = job->s;
    const uint64_t n = span_length(s, i);
    float weighted[TILE];
    uint64_t clamped = 0;
    uint16_t code[TILE];

    for (uint64_t at = 0; at < n; at += TILE) {
        const size_t m = n - at < TILE ? n - at : TILE;
        const uint64_t first = i * SPAN + at;

        for (size_t k = 0; k < m; k++) {
            const float x = job->weight * job->from[first + k];

            clamped += fabsf(x) > s->limit;
            weighted[k] = fabsf(x) > s->limit ? copysignf(s->limit, x) : x;
        }
        quantise(job, weighted, first, m, code);
        for (size_t k = 0; k < m; k++)
            gcb_shared_scale_put(&s->p.q.shared, first + k, (int)code[k] - 1);
    }
    if (clamped)
        __atomic_fetch_add(&s->p.q.base.clamped, clamped, __ATOMIC_RELAXED);
}

/* If weight times the clipped x overflows, this worker's limit is infinite. Then so is the shared
 * scale, which tells all workers. */
static int terngrad_contribute(void *state, const struct gcb_reduce_at *at, unsigned round,
                               const float *x, void *values)
{
    struct terngrad *s = state;
    struct job job = {.s = s, .from = x, .weight = at->weight};

    if (s->env->count == 0)
        return 0;
    if (round == 0) {
        s->limit = fabsf(at->weight) * find_scale(&job);
        memcpy(values, &s->limit, sizeof(s->limit));
        return 0;
    }
    set_dither(&job, &at->step, s->p.q.shared.scale[0]);
    s->p.q.base.clamped = 0;
    gcb_parallel(s->env->queue, (s->env->count + SPAN - 1) / SPAN, round_span, &job);
    gcb_shared_scale_send(&s->p.q, values);
    return 0;
}

static const struct gcb_reduce_ops terngrad_reduce = {
    .rounds = 2,
    .contribute = terngrad_contribute,
    .absorb = gcb_shared_scale_absorb,
    .conclude = gcb_shared_scale_conclude,
    .conserves = true,
};

/* value[0] is the parameter `clip`. Clipping makes the result biased. */
static unsigned terngrad_caps(const double *value)
{
    return GCB_CAP_RANDOMISED | (value[0] == 0.0 ? GCB_CAP_UNBIASED : 0);
}

static const char *const packings[] = {"2bit", "base3", NULL};

static const struct gcb_param terngrad_params[] = {
    {GCB_PARAM("clip", REAL, struct terngrad, p.clip),
     .help = "clip at this many standard deviations; 0: never", .def = 2.5, .min = 0, .max = 1e6,
     .flags = GCB_PARAM_LABEL},
    {GCB_PARAM("packing", CHOICE, struct terngrad, p.packing),
     .help = "two bits per code, or five codes per byte", .flags = GCB_PARAM_WIRE,
     .choices = packings},
    {.name = NULL},
};

static const struct gcb_codec_ops terngrad_ops = {
    .state_size = sizeof(struct terngrad),
    .init = terngrad_init,
    .fini = terngrad_fini,
    .clamps = true,
    .encode = terngrad_encode,
    .read = terngrad_read,
    .describe = terngrad_describe,
};

const struct gcb_codec gcb_codec_terngrad = {
    .name = "terngrad",
    .summary = "-s, 0 or +s by stochastic rounding, clipped at 2.5 deviations",
    .source = "Wen et al., NIPS 2017 (TernGrad), section 3 and 4.1",
    .guarantee = "without clip: unbiased, E||x - x'||^2 = s ||x||_1 - ||x||^2 with s = max |x|",
    .error_rule = "ternary",
    .wire_id = 6,
    .caps_of = terngrad_caps,
    .params = terngrad_params,
    .ops = &terngrad_ops,
    .reduce = &terngrad_reduce,
    .collectives = GCB_COLLECTIVES_DENSE,
};
