#include <math.h>
#include <string.h>

#include "kernels/reduce/norm_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/elias.h"
#include "src/lib/codec/packed.h"
#include "src/lib/codec/qsgd.h"

/*
 * QSGD (Alistarh et al., NIPS 2017): the values of a bucket are divided by its norm and rounded to
 * the levels 0, 1/s, ..., 1, with a sign: stochastically, or to the nearest.
 *
 * Payload: a norm (float32) for each bucket, then the codes (sign * 2^m + level, with 2^m > s):
 *   fixed         m + 1 bits each
 *   elias         the paper's dense code (src/lib/codec/elias.h)
 *   elias-sparse  the paper's sparse code
 * The two Elias codings are written in blocks of GCB_TILE codes. A directory in front has the byte
 * length of each block, 16 bits each.
 */

struct qsgd {
    struct gcb_qsgd_layout l;
    const struct gcb_codec_env *env;
    uint64_t unit;          /* elements that a thread takes at a time */
    float *step;            /* step[l] is l / s for a level l up to s, then 0 */
    struct gcb_elias elias; /* for coding=elias and elias-sparse */
};

/* The number of elements in run i of the tensor. Runs have `length` elements; the last may have
 * fewer. */
static uint64_t run_length(const struct qsgd *s, uint64_t i, uint64_t length)
{
    const uint64_t left = s->env->count - i * length;

    return left < length ? left : length;
}

/* Number of tasks: each takes s->unit elements, the last maybe fewer. */
static uint64_t unit_count(const struct qsgd *s)
{
    return (s->env->count + s->unit - 1) / s->unit;
}

/* What parallel tasks share. Encoding and decoding set only the fields that they use. */
struct job {
    const struct qsgd *s;
    struct gcb_rounding_draw draw;
    const float *from;
    float weight; /* multiplies `from`; 1 unless in an all-reduce */
    float *to;
    const struct gcb_addition *add; /* NULL: decode to `to` */
    uint8_t *norms_out, *out;
    const uint8_t *norms, *in;
};

/* ---- sizes and tables ---- */

static uint64_t block_count(uint64_t count)
{
    return (count + GCB_TILE - 1) / GCB_TILE;
}

void gcb_qsgd_lay_out(struct gcb_qsgd_layout *l)
{
    struct gcb_codec_base *base = &l->q.base;
    const uint64_t count = base->env.count;

    l->s = l->levels ? (uint32_t)l->levels : (1u << (l->bits - 1)) - 1;
    l->sign_bit = 32 - (unsigned)__builtin_clz(l->s);
    l->width = l->sign_bit + 1;
    if (l->bucket > count)
        l->bucket = count ? count : 1;
    l->buckets = (count + l->bucket - 1) / l->bucket;
    base->length_varies = l->coding != GCB_QSGD_FIXED;
    base->max_payload = l->buckets * sizeof(float);
    if (base->length_varies) {
        base->max_payload += block_count(count) * sizeof(uint16_t) + gcb_elias_bound(count, l->s);
        return; /* an Elias code has no fixed number of bits */
    }
    base->max_payload += gcb_packed_bytes(count, l->width);
    /* what the paper's experiments send: codes of fixed width and one norm per bucket */
    base->nominal_bits = l->width + 32.0 / (double)l->bucket;
}

static int make_steps(struct qsgd *s)
{
    s->step = gcb_alloc_zero(UINT64_C(1) << s->l.sign_bit, sizeof(float));
    if (!s->step)
        return GCB_E_NOMEM;
    for (uint32_t l = 1; l <= s->l.s; l++)
        s->step[l] = (float)l / (float)s->l.s;
    return 0;
}

/* The least number of elements that is a whole number of buckets, at least a tile, and a whole
 * number of bytes in codes. */
static uint64_t unit_length(const struct qsgd *s)
{
    uint64_t unit = s->l.bucket;

    while (unit < GCB_TILE || unit * s->l.width % 8)
        unit += s->l.bucket;
    return unit;
}

static int qsgd_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct qsgd *s = state;
    int err;

    s->env = env;
    gcb_qsgd_lay_out(&s->l);
    /* A largest magnitude shows an infinity or NaN. An L2 norm does not: it is always finite. */
    s->l.q.base.sees_nonfinite = s->l.norm == GCB_QSGD_MAX;
    s->unit = unit_length(s);
    s->elias = (struct gcb_elias){
        .levels = s->l.s,
        .sign_bit = s->l.sign_bit,
        .sparse = s->l.coding == GCB_QSGD_SPARSE,
    };
    err = make_steps(s);
    if (!err && s->l.coding != GCB_QSGD_FIXED)
        err = gcb_elias_init(&s->elias);
    if (err)
        return gcb_diag_nomem(diag, sizeof(float) << s->l.sign_bit, "level tables");
    return env->workers ? gcb_shared_scale_init(&s->l.q, s->l.s, s->l.bucket, diag) : 0;
}

static void qsgd_fini(void *state)
{
    struct qsgd *s = state;

    gcb_free(s->step);
    gcb_elias_fini(&s->elias);
    gcb_shared_scale_fini(&s->l.q.shared);
}

/* ---- norms and levels, common to all codings ---- */

/* The bucket's norm. With norm=max it is an infinity or NaN if x has one; with norm=l2 it is always
 * finite. */
static float norm_of(const struct qsgd *s, const float *x, size_t n)
{
    if (s->l.norm == GCB_QSGD_MAX)
        return gcb_float_of(s->env->kernels->reduce.max_bits(x, n));
    return gcb_norm_of_squares(gcb_reduce_blocks(s->env->kernels->reduce.sum_sq, x, n));
}

/* Writes the norms of buckets `from` to `to` - 1, times the magnitude of the weight. */
static void put_norms(const struct job *job, uint64_t from, uint64_t to)
{
    const struct qsgd *s = job->s;

    for (uint64_t b = from; b < to; b++)
        gcb_store_f32(job->norms_out + b * sizeof(float),
                      fabsf(job->weight) *
                          norm_of(s, job->from + b * s->l.bucket, run_length(s, b, s->l.bucket)));
}

/* Computes the codes of n elements x, all in one bucket; x[0] is element number `first` of the
 * tensor. `byte` has a coarse random draw for each element. */
static void quantise_run(const struct job *job, float norm, const float *x, uint64_t first,
                         size_t n, const uint8_t *byte, uint16_t *code)
{
    const struct qsgd *s = job->s;
    struct gcb_dither d = {
        .seed = s->env->seed,
        .coarse = job->draw.coarse,
        .fine = job->draw.fine,
        .levels = s->l.s,
    };

    if (norm == 0.0f) {
        memset(code, 0, n * sizeof(*code));
        return;
    }
    gcb_dither_scale(&d, norm);
    if (s->l.rounding == GCB_QSGD_NEAREST) {
        s->env->kernels->dither.nearest_levels(code, x, n, &d, s->l.sign_bit);
        return;
    }
    s->env->kernels->dither.signed_levels(code, x, n, byte, first, &d, s->l.sign_bit);
}

/* The number of elements from `first` on, at most n, in the bucket of element `first`. */
static size_t part_in_bucket(const struct qsgd *s, uint64_t first, size_t n)
{
    const uint64_t left = s->l.bucket - first % s->l.bucket;

    return left < n ? left : n;
}

/* Random draws come in blocks of this many bytes. Each element takes one byte. */
#define DRAWS 16

/* Computes the codes of n <= GCB_TILE elements x; x[0] is element number `first` of the tensor. The
 * norms of their buckets have been written. */
static void quantise(const struct job *job, const float *x, uint64_t first, size_t n,
                     uint16_t *code)
{
    const struct qsgd *s = job->s;
    uint8_t byte[GCB_TILE + DRAWS];
    const size_t skip = first % DRAWS;

    if (s->l.rounding == GCB_QSGD_STOCHASTIC)
        s->env->kernels->philox.bytes(byte, n + skip, s->env->seed, first - skip, job->draw.coarse);
    for (size_t i = 0, part; i < n; i += part) {
        const uint64_t b = (first + i) / s->l.bucket;

        part = part_in_bucket(s, first + i, n - i);
        quantise_run(job, gcb_load_f32(job->norms_out + b * sizeof(float)), x + i, first + i, part,
                     byte + skip + i, code + i);
    }
}

/* Writes the values of n codes to job->to, or adds them to the arrays of job->add. code[0] belongs
 * to element number `first` of the tensor. */
static void rebuild(const struct job *job, const uint16_t *code, uint64_t first, size_t n)
{
    const struct qsgd *s = job->s;
    const struct gcb_dither_fns *f = &s->env->kernels->dither;
    _Alignas(64) float room[GCB_ROOM], *x;

    for (size_t i = 0, part; i < n; i += part) {
        const uint64_t b = (first + i) / s->l.bucket;
        const float norm = gcb_load_f32(job->norms + b * sizeof(float));

        part = part_in_bucket(s, first + i, gcb_room_length(s->env->count, n, i));
        if (job->add) {
            f->add_levels(job->add->acc + first + i, code + i, part, s->step, norm, s->l.sign_bit,
                          job->add->weight);
            continue;
        }
        x = gcb_room(room, job->to + first + i, s->env->count);
        f->from_levels(x, code + i, part, s->step, norm, s->l.sign_bit);
        gcb_room_done(job->to + first + i, x, part);
    }
}

/* ---- codes of fixed width ---- */

static void encode_unit(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const struct qsgd *s = job->s;
    const uint64_t first = i * s->unit, last = first + run_length(s, i, s->unit);
    uint16_t code[GCB_TILE];

    put_norms(job, first / s->l.bucket, (last + s->l.bucket - 1) / s->l.bucket);
    for (uint64_t at = first; at < last; at += GCB_TILE) {
        const size_t n = gcb_tile_length(last, at);

        quantise(job, job->from + at, at, n, code);
        s->env->kernels->bitpack.pack(job->out + gcb_packed_bytes(at, s->l.width), code, n,
                                      s->l.width);
    }
}

static void decode_unit(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const struct qsgd *s = job->s;
    const uint64_t first = i * s->unit, last = first + run_length(s, i, s->unit);
    uint16_t code[GCB_TILE];

    for (uint64_t at = first; at < last; at += GCB_TILE) {
        const size_t n = gcb_tile_length(last, at);

        s->env->kernels->bitpack.unpack(code, job->in + gcb_packed_bytes(at, s->l.width), n,
                                        s->l.width);
        rebuild(job, code, at, n);
    }
}

static int encode_fixed(struct job *job, struct gcb_wbuf *out)
{
    const struct qsgd *s = job->s;

    job->out = gcb_wbuf_take(out, gcb_packed_bytes(s->env->count, s->l.width));
    if (!job->out)
        return GCB_E_NOSPACE;
    gcb_parallel(s->env->queue, unit_count(s), encode_unit, job);
    return 0;
}

static int decode_fixed(struct job *job, struct gcb_rbuf *in)
{
    const struct qsgd *s = job->s;

    job->in = gcb_rbuf_take(in, gcb_packed_bytes(s->env->count, s->l.width));
    if (!job->in || gcb_rbuf_left(in))
        return GCB_E_CORRUPT;
    gcb_parallel(s->env->queue, unit_count(s), decode_unit, job);
    return 0;
}

/* ---- Elias codings ---- */

static int encode_elias(const struct job *job, struct gcb_wbuf *out)
{
    const struct qsgd *s = job->s;
    const uint64_t blocks = block_count(s->env->count);
    uint8_t *directory = gcb_wbuf_take(out, blocks * sizeof(uint16_t));
    struct gcb_bitw w = {.p = gcb_wbuf_take(out, gcb_elias_bound(s->env->count, s->l.s))};
    uint16_t code[GCB_TILE];

    if (!directory || !w.p)
        return GCB_E_NOSPACE;
    put_norms(job, 0, s->l.buckets);
    for (uint64_t b = 0; b < blocks; b++) {
        const uint8_t *start = w.p;
        const size_t n = run_length(s, b, GCB_TILE);
        uint16_t length;

        quantise(job, job->from + b * GCB_TILE, b * GCB_TILE, n, code);
        gcb_elias_put(&s->elias, &w, code, n);
        length = (uint16_t)(w.p - start);
        memcpy(directory + b * sizeof(length), &length, sizeof(length));
    }
    out->len = (size_t)(w.p - out->data); /* gives back the bytes that the codes do not need */
    return 0;
}

/* Reads block b. The directory gives its length. Returns 0 or GCB_E_CORRUPT. */
static int get_block(const struct qsgd *s, const uint8_t *directory, struct gcb_rbuf *in,
                     uint64_t b, uint16_t *code)
{
    uint16_t length;

    memcpy(&length, directory + b * sizeof(length), sizeof(length));
    return gcb_elias_get(&s->elias, gcb_rbuf_take(in, length), length, code,
                         run_length(s, b, GCB_TILE));
}

static int decode_elias(const struct job *job, struct gcb_rbuf *in)
{
    const struct qsgd *s = job->s;
    const uint64_t blocks = block_count(s->env->count);
    const uint8_t *directory = gcb_rbuf_take(in, blocks * sizeof(uint16_t));
    uint16_t code[GCB_TILE];

    if (!directory)
        return GCB_E_CORRUPT;
    for (uint64_t b = 0; b < blocks; b++) {
        if (get_block(s, directory, in, b, code))
            return GCB_E_CORRUPT;
        rebuild(job, code, b * GCB_TILE, run_length(s, b, GCB_TILE));
    }
    return 0;
}

/* Total order-0 entropy of all codes, in bits. Returns 0, GCB_E_CORRUPT or GCB_E_NOMEM. */
static int elias_entropy(const struct qsgd *s, struct gcb_rbuf *in, double *bits)
{
    const uint64_t blocks = block_count(s->env->count), symbols = UINT64_C(2) << s->l.sign_bit;
    const uint8_t *directory = gcb_rbuf_take(in, blocks * sizeof(uint16_t));
    uint64_t *histogram = gcb_alloc_zero(symbols, sizeof(*histogram));
    uint16_t code[GCB_TILE];
    int err = directory ? 0 : GCB_E_CORRUPT;

    if (!histogram)
        return GCB_E_NOMEM;
    for (uint64_t b = 0; b < blocks && !err; b++) {
        err = get_block(s, directory, in, b, code);
        for (size_t i = 0; !err && i < run_length(s, b, GCB_TILE); i++)
            histogram[code[i]]++;
    }
    if (!err)
        *bits = gcb_entropy0(histogram, symbols);
    gcb_free(histogram);
    return err;
}

/* ---- the codec ---- */

static int qsgd_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                       struct gcb_wbuf *out)
{
    struct qsgd *s = state;
    struct job job = {
        .s = s,
        .draw = gcb_rounding_draw(s->env, at),
        .from = in->data,
        .weight = 1.0f,
    };
    int err;

    s->l.q.base.nonfinite = false;
    job.norms_out = gcb_wbuf_take(out, s->l.buckets * sizeof(float));
    if (!job.norms_out)
        return GCB_E_NOSPACE;
    err = s->l.coding == GCB_QSGD_FIXED ? encode_fixed(&job, out) : encode_elias(&job, out);
    for (uint64_t b = 0; !err && b < s->l.buckets; b++)
        s->l.q.base.nonfinite |= gcb_load_u32(job.norms_out + b * sizeof(float)) >= GCB_INF_BITS;
    return err;
}

static int qsgd_read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *add)
{
    const struct qsgd *s = state;
    struct job job = {.s = s, .to = out, .add = add};

    job.norms = gcb_rbuf_take(in, s->l.buckets * sizeof(float));
    if (!job.norms)
        return GCB_E_CORRUPT;
    if (add && s->l.coding != GCB_QSGD_FIXED) /* an Elias code is checked only while it is added */
        return GCB_E_UNSUPPORTED;
    for (uint64_t b = 0; b < s->l.buckets; b++)
        if (gcb_load_u32(job.norms + b * sizeof(float)) >= GCB_INF_BITS)
            return GCB_E_CORRUPT; /* not finite, or negative */
    return s->l.coding == GCB_QSGD_FIXED ? decode_fixed(&job, in) : decode_elias(&job, in);
}

static int qsgd_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct qsgd *s = state;
    const uint64_t norms = s->l.buckets * sizeof(float);

    if (s->l.coding == GCB_QSGD_FIXED)
        return gcb_packed_describe(parts, in, norms, s->l.width, s->env);
    gcb_rbuf_take(in, norms);
    parts->scale_bytes = norms;
    parts->value_bytes = gcb_rbuf_left(in);
    parts->kept = parts->positions = s->env->count;
    return elias_entropy(s, in, &parts->entropy0_bits);
}

/* ---- all-reduce: shared norms and sums of levels (src/lib/codec/shared_scale.h) ---- */

static void measure_unit(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const struct qsgd *s = job->s;
    const uint64_t first = i * s->unit, last = first + run_length(s, i, s->unit);

    put_norms(job, first / s->l.bucket, (last + s->l.bucket - 1) / s->l.bucket);
}

/* Rounds weight * x to levels of the shared norms, which are in job->norms_out. */
static void round_unit(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const struct qsgd *s = job->s;
    const uint64_t first = i * s->unit, last = first + run_length(s, i, s->unit);
    float weighted[GCB_TILE];
    uint16_t code[GCB_TILE];

    for (uint64_t at = first; at < last; at += GCB_TILE) {
        const size_t n = gcb_tile_length(last, at);

        for (size_t k = 0; k < n; k++)
            weighted[k] = job->weight * job->from[at + k];
        quantise(job, weighted, at, n, code);
        for (size_t k = 0; k < n; k++) {
            const int level = code[k] & ((1 << s->l.sign_bit) - 1);

            gcb_shared_scale_put(&s->l.q.shared, at + k, code[k] >> s->l.sign_bit ? -level : level);
        }
    }
}

/* If weight * x overflows, a norm of this worker is infinite. Then so is a shared norm, which tells
 * all workers. */
static int qsgd_contribute(void *state, const struct gcb_reduce_at *at, unsigned round,
                           const float *x, void *values)
{
    const struct qsgd *s = state;
    struct job job = {
        .s = s,
        .draw = gcb_rounding_draw(s->env, &at->step),
        .from = x,
        .weight = at->weight,
        .norms_out = round == 0 ? values : (uint8_t *)s->l.q.shared.scale,
    };

    gcb_parallel(s->env->queue, unit_count(s), round == 0 ? measure_unit : round_unit, &job);
    if (round == 1)
        gcb_shared_scale_send(&s->l.q, values);
    return 0;
}

static const struct gcb_reduce_ops qsgd_reduce = {
    .rounds = 2,
    .contribute = qsgd_contribute,
    .absorb = gcb_shared_scale_absorb,
    .conclude = gcb_shared_scale_conclude,
    .conserves = true,
};

/* ---- about the method ---- */

static const char *const norms[] = {"max", "l2", NULL};
static const char *const roundings[] = {"stochastic", "nearest", NULL};
static const char *const codings[] = {"fixed", "elias", "elias-sparse", NULL};

static const struct gcb_param qsgd_params[] = {
    {GCB_PARAM("bits", INT, struct qsgd, l.bits),
     .help = "bits of a code, sign included: s = 2^(bits-1) - 1 levels above zero", .def = 4,
     .min = 2, .max = 16, .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL, .rate = GCB_RATE_UP},
    {GCB_PARAM("levels", INT, struct qsgd, l.levels),
     .help = "the number of levels s, used instead of bits; 0: s follows from bits", .def = 0,
     .min = 0, .max = 32767, .flags = GCB_PARAM_WIRE, .rate = GCB_RATE_UP},
    {GCB_PARAM("bucket", SIZE, struct qsgd, l.bucket),
     .help = "consecutive values that share a norm", .def = 512, .min = 1, .max = 4294967295.0,
     .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL},
    {GCB_PARAM("norm", CHOICE, struct qsgd, l.norm),
     .help = "what a bucket is divided by; the paper's experiments use max, its theory l2",
     .choices = norms},
    {GCB_PARAM("coding", CHOICE, struct qsgd, l.coding),
     .help = "fixed width, or the paper's dense or sparse Elias code", .flags = GCB_PARAM_WIRE,
     .choices = codings},
    {GCB_PARAM("rounding", CHOICE, struct qsgd, l.rounding),
     .help = "to one of the two neighbouring levels at random, or to the nearest",
     .choices = roundings},
    {.name = NULL},
};

enum { BITS_ROW = 0, LEVELS_ROW = 1, CODING_ROW = 4, ROUNDING_ROW = 5 };

static bool rounds_to_nearest(const double *value)
{
    return value[ROUNDING_ROW] > 0.0;
}

static unsigned qsgd_caps(const double *value)
{
    return rounds_to_nearest(value) ? 0 : GCB_CAP_UNBIASED | GCB_CAP_RANDOMISED;
}

static const char *qsgd_error_rule(const double *value)
{
    return rounds_to_nearest(value) ? "nearest-level" : "levels";
}

/* An all-reduce adds levels in at most 16 bits, which must hold the sum of two workers' levels. It
 * cannot add Elias codes. */
static unsigned qsgd_collectives(const double *value)
{
    const double levels =
        value[LEVELS_ROW] > 0.0 ? value[LEVELS_ROW] : exp2(value[BITS_ROW] - 1.0) - 1.0;
    const bool adds = value[CODING_ROW] <= 0.0 && 2.0 * levels <= INT16_MAX;

    return GCB_COLLECTIVES_DENSE | (adds ? GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE) : 0);
}

static const struct gcb_preset qsgd_presets[] = {
    {
        .name = "qgz",
        .summary = "4-bit blocks rounded to the nearest level, summed by shares",
        .source = "Wang et al., 2023 (ZeRO++), section 3.3: qgZ",
        .defaults = "bits=4,bucket=2048,norm=max,rounding=nearest",
        .collective = GCB_COLLECTIVE_TWOSHOT,
        .guarantee = "error of each element at most max / 14 (max: its bucket's largest magnitude)",
    },
    {.name = NULL},
};

static const struct gcb_codec_ops qsgd_ops = {
    .state_size = sizeof(struct qsgd),
    .init = qsgd_init,
    .fini = qsgd_fini,
    .encode = qsgd_encode,
    .read = qsgd_read,
    .describe = qsgd_describe,
};

const struct gcb_codec gcb_codec_qsgd = {
    .name = "qsgd",
    .summary = "stochastic rounding to levels of each bucket's norm",
    .source = "Alistarh et al., NIPS 2017 (QSGD), section 3",
    .guarantee = "rounding=stochastic: unbiased; norm=l2: E||x - x'||^2 <= min(d/s^2, sqrt(d)/s) "
                 "||x||^2 per bucket of d; norm=max: <= d/(4 s^2) max^2",
    .error_rule_of = qsgd_error_rule,
    .wire_id = 5,
    .caps_of = qsgd_caps,
    .params = qsgd_params,
    .ops = &qsgd_ops,
    .reduce = &qsgd_reduce,
    .collectives_of = qsgd_collectives,
    .presets = qsgd_presets,
};
