#include <math.h>
#include <string.h>

#include "kernels/reduce/norm_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/codecs.h"
#include "src/lib/codec/elias.h"
#include "src/lib/codec/packed.h"
#include "src/lib/codec/qsgd.h"

/*
 * QSGD (Alistarh et al., NIPS 2017): each bucket of values is divided by its norm and rounded
 * stochastically to the levels 0, 1/s, ..., 1, with a sign.
 *
 * Payload: one norm (float32) a bucket, then the codes:
 *   fixed         sign * 2^m + level, m + 1 bits each, with 2^m > s
 *   elias         (the paper's dense code) Elias(level + 1), then a sign bit unless the level is 0
 *   elias-sparse  (the paper's sparse code) Elias(gap), sign bit, Elias(level) of each level that is
 *                 not 0; a last gap leads just behind the block
 * The two Elias codings stand in blocks of GCB_TILE elements with a directory of their byte lengths (16
 * bits each) in front.
 */

/* ---- scales and levels, common to all codings ---- */

void gcb_qsgd_lay_out(struct gcb_qsgd_layout *out, struct gcb_qsgd_params *p, uint64_t count)
{
    out->s = p->levels ? (uint32_t)p->levels : (1u << (p->bits - 1)) - 1;
    out->sign_bit = 32 - (unsigned)__builtin_clz(out->s);
    out->width = out->sign_bit + 1;
    if (p->bucket > count)
        p->bucket = count ? count : 1;
    out->bucket = p->bucket;
    out->buckets = (count + out->bucket - 1) / out->bucket;
}

static int make_steps(struct gcb_qsgd *s)
{
    s->step = gcb_alloc_zero(UINT64_C(1) << s->l.sign_bit, sizeof(float));
    if (!s->step)
        return GCB_E_NOMEM;
    for (uint32_t l = 1; l <= s->l.s; l++)
        s->step[l] = (float)l / (float)s->l.s;
    return 0;
}

/* The least run of whole buckets that fills a tile and whose codes end at a byte. */
static uint64_t unit_length(const struct gcb_qsgd *s)
{
    uint64_t unit = s->l.bucket;

    while (unit < GCB_TILE || unit * s->l.width % 8)
        unit += s->l.bucket;
    return unit;
}

static int qsgd_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_qsgd *s = state;
    int err;

    s->env = *env;
    gcb_qsgd_lay_out(&s->l, &s->p, env->count);
    err = make_steps(s);
    if (!err && s->p.coding != GCB_QSGD_FIXED)
        err = gcb_qsgd_elias_init(s);
    s->unit = unit_length(s);
    return err ? gcb_diag_nomem(diag, sizeof(float) << s->l.sign_bit, "level tables") : 0;
}

static void qsgd_fini(void *state)
{
    struct gcb_qsgd *s = state;

    gcb_free(s->step);
    gcb_free(s->codes);
    gcb_free(s->table);
}

static uint64_t qsgd_max_payload(const void *state)
{
    const struct gcb_qsgd *s = state;

    if (s->p.coding != GCB_QSGD_FIXED)
        return s->l.buckets * sizeof(float) + gcb_qsgd_elias_bound(s->env.count, s->l.s);
    return s->l.buckets * sizeof(float) + gcb_packed_bytes(s->env.count, s->l.width);
}

/* The bucket's norm as a finite float, at least max|x|. */
static float norm_of(const struct gcb_qsgd *s, const float *x, size_t n)
{
    if (s->p.norm == GCB_QSGD_MAX)
        return gcb_float_of(s->env.kernels->reduce.max_bits(x, n));
    return gcb_norm_of_squares(gcb_reduce_blocks(s->env.kernels->reduce.sum_sq, x, n));
}

static uint64_t bucket_length(const struct gcb_qsgd *s, uint64_t b)
{
    const uint64_t left = s->env.count - b * s->l.bucket;

    return left < s->l.bucket ? left : s->l.bucket;
}

void gcb_qsgd_norms(const struct gcb_qsgd *s, const float *x, uint8_t *norms, uint64_t from,
                    uint64_t to)
{
    for (uint64_t b = from; b < to; b++)
        gcb_store_f32(norms + b * sizeof(float),
                      norm_of(s, x + b * s->l.bucket, bucket_length(s, b)));
}

/* Levels of n elements from `first` on, all of one bucket. */
static void quantise_run(const struct gcb_qsgd *s, const struct gcb_rounding_draw *draw,
                         const float *x, float norm, uint64_t first, size_t n, const uint8_t *byte,
                         uint16_t *code)
{
    struct gcb_dither d = {
        .seed = s->env.seed,
        .coarse = draw->coarse,
        .fine = draw->fine,
        .levels = s->l.s,
    };

    if (norm == 0.0f) {
        memset(code, 0, n * sizeof(*code));
        return;
    }
    gcb_dither_scale(&d, norm);
    s->env.kernels->dither.signed_levels(code, x + first, n, byte, first, &d, s->l.sign_bit);
}

void gcb_qsgd_quantise(const struct gcb_qsgd *s, const struct gcb_rounding_draw *draw,
                       const float *x, const uint8_t *norms, uint64_t first, size_t n,
                       uint16_t *code)
{
    uint8_t byte[GCB_TILE + 16];
    const size_t skip = first % 16; /* draws come in blocks of 16 */

    s->env.kernels->philox.bytes(byte, n + skip, s->env.seed, first - skip, draw->coarse);
    for (size_t i = 0; i < n;) {
        const uint64_t b = (first + i) / s->l.bucket;
        const uint64_t end = (b + 1) * s->l.bucket;
        const size_t run = end - (first + i) < n - i ? end - (first + i) : n - i;

        quantise_run(s, draw, x, gcb_load_f32(norms + b * sizeof(float)), first + i, run,
                     byte + skip + i, code + i);
        i += run;
    }
}

void gcb_qsgd_rebuild(const struct gcb_qsgd *s, const uint16_t *code, const uint8_t *norms,
                      uint64_t first, size_t n, float *x)
{
    for (size_t i = 0; i < n;) {
        const uint64_t b = (first + i) / s->l.bucket;
        const uint64_t end = (b + 1) * s->l.bucket;
        const size_t run = end - (first + i) < n - i ? end - (first + i) : n - i;

        s->env.kernels->dither.from_levels(x + first + i, code + i, run, s->step,
                                           gcb_load_f32(norms + b * sizeof(float)), s->l.sign_bit);
        i += run;
    }
}

/* ---- fixed width ---- */

struct job {
    const struct gcb_qsgd *s;
    const struct gcb_rounding_draw *draw;
    const float *from;
    float *to;
    uint8_t *norms_out, *out;
    const uint8_t *norms, *in;
};

static void encode_unit(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const struct gcb_qsgd *s = job->s;
    const uint64_t first = i * s->unit, buckets = s->unit / s->l.bucket;
    const uint64_t last = first + s->unit < s->env.count ? first + s->unit : s->env.count;
    const uint64_t to = (i + 1) * buckets < s->l.buckets ? (i + 1) * buckets : s->l.buckets;
    uint16_t code[GCB_TILE];

    gcb_qsgd_norms(s, job->from, job->norms_out, i * buckets, to);
    for (uint64_t at = first; at < last; at += GCB_TILE) {
        const size_t n = last - at < GCB_TILE ? last - at : GCB_TILE;

        gcb_qsgd_quantise(s, job->draw, job->from, job->norms_out, at, n, code);
        s->env.kernels->bitpack.pack(job->out + gcb_packed_bytes(at, s->l.width), code, n,
                                     s->l.width);
    }
}

static void decode_unit(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const struct gcb_qsgd *s = job->s;
    const uint64_t first = i * s->unit;
    const uint64_t last = first + s->unit < s->env.count ? first + s->unit : s->env.count;
    uint16_t code[GCB_TILE];

    for (uint64_t at = first; at < last; at += GCB_TILE) {
        const size_t n = last - at < GCB_TILE ? last - at : GCB_TILE;

        s->env.kernels->bitpack.unpack(code, job->in + gcb_packed_bytes(at, s->l.width), n,
                                       s->l.width);
        gcb_qsgd_rebuild(s, code, job->norms, at, n, job->to);
    }
}

static uint64_t unit_count(const struct gcb_qsgd *s)
{
    return (s->env.count + s->unit - 1) / s->unit;
}

static int encode_fixed(const struct gcb_qsgd *s, struct job *job, struct gcb_wbuf *out)
{
    job->out = gcb_wbuf_take(out, gcb_packed_bytes(s->env.count, s->l.width));
    if (!job->out)
        return GCB_E_NOSPACE;
    gcb_parallel(s->env.queue, unit_count(s), encode_unit, job);
    return 0;
}

static int decode_fixed(const struct gcb_qsgd *s, struct job *job, struct gcb_rbuf *in)
{
    job->in = gcb_rbuf_take(in, gcb_packed_bytes(s->env.count, s->l.width));
    if (!job->in)
        return GCB_E_CORRUPT;
    gcb_parallel(s->env.queue, unit_count(s), decode_unit, job);
    return 0;
}

/* ---- the codec ---- */

static int qsgd_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                       struct gcb_wbuf *out)
{
    const struct gcb_qsgd *s = state;
    const struct gcb_rounding_draw draw = gcb_rounding_draw(&s->env, at);
    struct job job = {.s = s, .draw = &draw, .from = in->data};

    job.norms_out = gcb_wbuf_take(out, s->l.buckets * sizeof(float));
    if (!job.norms_out)
        return GCB_E_NOSPACE;
    if (s->p.coding != GCB_QSGD_FIXED)
        return gcb_qsgd_elias_encode(s, &draw, in->data, job.norms_out, out);
    return encode_fixed(s, &job, out);
}

static int qsgd_decode(void *state, struct gcb_rbuf *in, const struct gcb_mview *out)
{
    const struct gcb_qsgd *s = state;
    struct job job = {.s = s, .to = out->data};

    job.norms = gcb_rbuf_take(in, s->l.buckets * sizeof(float));
    if (!job.norms)
        return GCB_E_CORRUPT;
    for (uint64_t b = 0; b < s->l.buckets; b++)
        if (gcb_load_u32(job.norms + b * sizeof(float)) >= GCB_INF_BITS)
            return GCB_E_CORRUPT; /* not finite, or negative */
    if (s->p.coding != GCB_QSGD_FIXED)
        return gcb_qsgd_elias_decode(s, job.norms, in, out->data);
    return decode_fixed(s, &job, in);
}

static int qsgd_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct gcb_qsgd *s = state;
    const uint8_t *codes;

    parts->scale_bytes = s->l.buckets * sizeof(float);
    gcb_rbuf_take(in, parts->scale_bytes);
    parts->value_bytes = gcb_rbuf_left(in);
    parts->kept = parts->positions = s->env.count;
    if (s->p.coding != GCB_QSGD_FIXED)
        return gcb_qsgd_elias_entropy(s, in, &parts->entropy0_bits);
    codes = gcb_rbuf_take(in, gcb_packed_bytes(s->env.count, s->l.width));
    if (!codes)
        return GCB_E_CORRUPT;
    return gcb_packed_entropy(&parts->entropy0_bits, codes, s->env.count, s->l.width,
                              s->env.kernels);
}

/* Fixed width and a norm a bucket, as the paper's experiments send; no count of an Elias code. */
static double qsgd_nominal_bits(const void *state)
{
    const struct gcb_qsgd *s = state;

    return s->p.coding == GCB_QSGD_FIXED ? s->l.width + 32.0 / (double)s->l.bucket : (double)NAN;
}

static const char *const norms[] = {"max", "l2", NULL};
static const char *const codings[] = {"fixed", "elias", "elias-sparse", NULL};

static const struct gcb_param qsgd_params[] = {
    {.name = "bits",
     .help = "bits of a code, sign included: s = 2^(bits-1) - 1 levels above zero",
     .type = GCB_PARAM_INT,
     .offset = offsetof(struct gcb_qsgd, p.bits),
     .def = 4,
     .min = 2,
     .max = 16,
     .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL,
     .rate = GCB_RATE_UP},
    {.name = "levels",
     .help = "s itself, overriding bits; 0: from bits",
     .type = GCB_PARAM_INT,
     .offset = offsetof(struct gcb_qsgd, p.levels),
     .def = 0,
     .min = 0,
     .max = 32767,
     .flags = GCB_PARAM_WIRE,
     .rate = GCB_RATE_UP},
    {.name = "bucket",
     .help = "consecutive values that share a norm",
     .type = GCB_PARAM_SIZE,
     .offset = offsetof(struct gcb_qsgd, p.bucket),
     .def = 512,
     .min = 1,
     .max = 4294967295.0,
     .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL},
    {.name = "norm",
     .help = "what a bucket is divided by; the paper's experiments use max, its theory l2",
     .type = GCB_PARAM_CHOICE,
     .offset = offsetof(struct gcb_qsgd, p.norm),
     .choices = norms},
    {.name = "coding",
     .help = "fixed width, or the paper's dense or sparse Elias code",
     .type = GCB_PARAM_CHOICE,
     .offset = offsetof(struct gcb_qsgd, p.coding),
     .flags = GCB_PARAM_WIRE,
     .choices = codings},
    {.name = NULL},
};

static const struct gcb_codec_ops qsgd_ops = {
    .state_size = sizeof(struct gcb_qsgd),
    .init = qsgd_init,
    .fini = qsgd_fini,
    .max_payload = qsgd_max_payload,
    .encode = qsgd_encode,
    .decode = qsgd_decode,
    .describe = qsgd_describe,
    .nominal_bits = qsgd_nominal_bits,
};

const struct gcb_codec gcb_codec_qsgd = {
    .name = "qsgd",
    .summary = "stochastic rounding to levels of each bucket's norm",
    .source = "Alistarh et al., NIPS 2017 (QSGD), section 3",
    .guarantee =
        "unbiased; norm=l2: E||x - x'||^2 <= min(d/s^2, sqrt(d)/s) ||x||^2 per bucket of d; "
        "norm=max: <= d/(4 s^2) max^2",
    .error_rule = "levels",
    .wire_id = 5,
    .caps = GCB_CAP_UNBIASED | GCB_CAP_RANDOMISED,
    .params = qsgd_params,
    .ops = &qsgd_ops,
};
