#include "src/lib/codec/range.h"

#include <float.h>
#include <math.h>

#define EXPONENTS 256 /* values of float32's exponent field */

const char *const gcb_range_rounding_names[] = {"nearest", "truncate", NULL};

int gcb_range_check(unsigned bits, unsigned mantissa, struct gcb_diag *diag)
{
    if (mantissa == 0 || gcb_range_valid(bits, mantissa))
        return 0;
    if (mantissa >= bits)
        return gcb_invalid(diag, "mantissa=%u does not fit %u bits; use at most %u", mantissa, bits,
                           bits - 1);
    return gcb_invalid(diag,
                       "mantissa=%u is too small for %u bits: the codes would cover more octaves "
                       "than float32 has below 1",
                       mantissa, bits);
}

void gcb_range_measure(struct gcb_range_stats *stats, const struct gcb_range_params *p,
                       const struct gcb_kernels *kernels, const float *x, uint64_t n)
{
    uint32_t count[EXPONENTS] = {0};
    uint32_t top = 0;

    if (p->mantissa == 0)
        top = kernels->reduce.exponents(count, x, n);
    else if (p->max == 0.0)
        top = kernels->reduce.max_bits(x, n);
    stats->max_bits = top > stats->max_bits ? top : stats->max_bits;
    if (p->mantissa == 0)
        for (size_t i = 0; i < EXPONENTS; i++)
            stats->exponents[i] += count[i];
}

/* Adds `from` to `stats`. Several threads may call this at the same time: the counts are integers,
 * so their order does not matter. */
static void join_stats(struct gcb_range_stats *stats, const struct gcb_range_stats *from)
{
    gcb_raise_max(&stats->max_bits, from->max_bits);
    for (size_t i = 0; i < EXPONENTS; i++)
        if (from->exponents[i])
            __atomic_fetch_add(&stats->exponents[i], from->exponents[i], __ATOMIC_RELAXED);
}

void gcb_range_choose(struct gcb_range_format *format, const struct gcb_range_params *p,
                      const struct gcb_range_stats *stats)
{
    const float max = p->max != 0.0 ? (float)p->max : gcb_float_of(stats->max_bits);
    const enum gcb_range_rounding rounding = (enum gcb_range_rounding)p->rounding;
    unsigned mantissa = (unsigned)p->mantissa;

    if (mantissa == 0)
        mantissa = gcb_range_best_mantissa(stats->exponents, max, (unsigned)p->bits, rounding);
    gcb_range_format(format, (unsigned)p->bits, mantissa, max, rounding);
}

void gcb_range_put_scale(struct gcb_wbuf *out, const struct gcb_range_format *format)
{
    gcb_put_f32(out, gcb_range_decode(format->top, format));
    gcb_put_u8(out, (uint8_t)format->mantissa);
}

int gcb_range_get_scale(struct gcb_range_format *format, const struct gcb_range_params *p,
                        struct gcb_rbuf *in)
{
    const float max = gcb_get_f32(in);
    const unsigned mantissa = gcb_get_u8(in);

    if (in->failed || gcb_bits_of(max) >= GCB_INF_BITS ||
        !gcb_range_valid((unsigned)p->bits, mantissa))
        return GCB_E_CORRUPT;
    gcb_range_format(format, (unsigned)p->bits, mantissa, max, GCB_ROUND_TRUNCATE);
    return 0;
}

uint64_t gcb_range_put(uint8_t *out, const float *x, uint64_t n,
                       const struct gcb_range_format *format, const struct gcb_kernels *kernels)
{
    uint16_t code[GCB_TILE];
    uint64_t clamped = 0;

    for (uint64_t i = 0; i < n; i += GCB_TILE) {
        const size_t m = gcb_tile_length(n, i);

        clamped += kernels->range.encode(code, x + i, m, format);
        kernels->bitpack.pack(out + i / 8 * format->bits, code, m, format->bits);
    }
    return clamped;
}

void gcb_range_get(float *x, const uint8_t *in, uint64_t n, const struct gcb_range_format *format,
                   const struct gcb_kernels *kernels)
{
    uint16_t code[GCB_TILE];

    for (uint64_t i = 0; i < n; i += GCB_TILE) {
        const size_t m = gcb_tile_length(n, i);

        kernels->bitpack.unpack(code, in + i / 8 * format->bits, m, format->bits);
        kernels->range.decode(x + i, code, m, format);
    }
}

/*
 * The codec `range` sends every element as a range float, an N-bit format (SuperNeurons, HPDC'20,
 * section 3.3).
 *
 * Payload: the scale (src/lib/codec/range.h), then the codes, `bits` each.
 */
static int range_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_range_state *s = state;

    gcb_range_bind(s);
    /* gcb_range_measure finds the largest magnitude unless the parameters fix the format */
    s->base.sees_nonfinite = s->p.max == 0.0 || s->p.mantissa == 0;
    return 0;
}

/* What parallel tasks share. Encoding and decoding set only the fields that they use. */
struct job {
    struct gcb_range_state *s;
    struct gcb_range_stats *stats;
    struct gcb_range_format format;
    const float *from;
    float *to;
    const struct gcb_addition *add; /* NULL: decode to `to` */
    uint8_t *out;
    const uint8_t *in;
};

static void measure_span(void *ctx, uint64_t i)
{
    struct job *job = ctx;
    struct gcb_range_stats mine = {.max_bits = 0};

    gcb_range_measure(&mine, &job->s->p, job->s->base.env.kernels, job->from + i * GCB_SPAN,
                      gcb_span_length(job->s->base.env.count, i));
    join_stats(job->stats, &mine);
}

/* Encodes a span, counted from the end of the tensor, because the end may still be in the cache
 * after the tensor was measured. */
static void encode_span(void *ctx, uint64_t from_end)
{
    const struct job *job = ctx;
    const struct gcb_range_state *s = job->s;
    const uint64_t i = gcb_span_count(s->base.env.count) - 1 - from_end;
    const uint64_t clamped =
        gcb_range_put(job->out + i * (GCB_SPAN / 8) * s->p.bits, job->from + i * GCB_SPAN,
                      gcb_span_length(s->base.env.count, i), &job->format, s->base.env.kernels);

    if (clamped)
        __atomic_fetch_add(&job->s->base.clamped, clamped, __ATOMIC_RELAXED);
}

static void decode_span(void *ctx, uint64_t i)
{
    const struct job *job = ctx;
    const struct gcb_range_state *s = job->s;
    const struct gcb_kernels *k = s->base.env.kernels;
    const uint64_t end = i * GCB_SPAN + gcb_span_length(s->base.env.count, i);
    _Alignas(64) float room[GCB_ROOM], *x;
    uint16_t code[GCB_TILE];

    for (uint64_t at = i * GCB_SPAN, n; at < end; at += n) {
        n = gcb_room_length(s->base.env.count, end, at);
        k->bitpack.unpack(code, job->in + at / 8 * s->p.bits, n, job->format.bits);
        if (job->add) {
            k->range.add(job->add->acc + at, code, n, &job->format, job->add->weight);
            continue;
        }
        x = gcb_room(room, job->to + at, s->base.env.count);
        k->range.decode(x, code, n, &job->format);
        gcb_room_done(job->to + at, x, n);
    }
}

static int range_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                        struct gcb_wbuf *out)
{
    struct gcb_range_state *s = state;
    const uint64_t spans = gcb_span_count(s->base.env.count);
    struct gcb_range_stats stats = {.max_bits = 0};
    struct job job = {.s = s, .stats = &stats, .from = in->data};

    gcb_parallel(s->base.env.queue, spans, measure_span, &job);
    s->base.nonfinite = stats.max_bits >= GCB_INF_BITS;
    gcb_range_choose(&job.format, &s->p, &stats);
    gcb_range_put_scale(out, &job.format);
    job.out = gcb_wbuf_take(out, gcb_packed_bytes(s->base.env.count, (unsigned)s->p.bits));
    if (!job.out)
        return GCB_E_NOSPACE;
    s->base.clamped = 0;
    gcb_parallel(s->base.env.queue, spans, encode_span, &job);
    return 0;
}

static int range_read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *add)
{
    struct gcb_range_state *s = state;
    struct job job = {.s = s, .to = out, .add = add};
    const int err = gcb_range_get_scale(&job.format, &s->p, in);

    job.in = gcb_rbuf_take(in, gcb_packed_bytes(s->base.env.count, (unsigned)s->p.bits));
    if (err || !job.in || gcb_rbuf_left(in))
        return GCB_E_CORRUPT;
    gcb_parallel(s->base.env.queue, gcb_span_count(s->base.env.count), decode_span, &job);
    return 0;
}

static int range_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct gcb_range_state *s = state;

    return gcb_packed_describe(parts, in, GCB_RANGE_SCALE_BYTES, (unsigned)s->p.bits, &s->base.env);
}

/* value[0] and value[1] are the parameters `bits` and `mantissa`. */
static int range_check(const double *value, struct gcb_diag *diag)
{
    return gcb_range_check((unsigned)value[0], (unsigned)value[1], diag);
}

static const struct gcb_param range_params[] = {
    {GCB_PARAM("bits", INT, struct gcb_range_state, p.bits), .help = "bits of a code", .def = 8,
     .min = 2, .max = 16, .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL, .rate = GCB_RATE_UP},
    {GCB_PARAM("mantissa", INT, struct gcb_range_state, p.mantissa),
     .help = "mantissa bits; 0: the best for the tensor's exponents", .def = 0, .min = 0,
     .max = 15},
    {GCB_PARAM("max", REAL, struct gcb_range_state, p.max),
     .help = "larger magnitudes are clamped to this; 0: the tensor's largest magnitude", .def = 0,
     .min = 0, .max = (double)FLT_MAX},
    {GCB_PARAM("rounding", CHOICE, struct gcb_range_state, p.rounding),
     .help = "how a value becomes a code; the paper truncates",
     .choices = gcb_range_rounding_names},
    {.name = NULL},
};

static const struct gcb_codec_ops range_ops = {
    .state_size = sizeof(struct gcb_range_state),
    .init = range_init,
    .clamps = true,
    .encode = range_encode,
    .read = range_read,
    .describe = range_describe,
};

const struct gcb_codec gcb_codec_range = {
    .name = "range",
    .summary = "small floats of N bits between a smallest and a largest value",
    .source = "Wang et al., HPDC'20 (SuperNeurons), section 3.3",
    .guarantee =
        "relative error below 2^-mantissa for eps <= |x| <= max, error below eps for |x| < eps",
    .error_rule = "range",
    .wire_id = 4,
    .params = range_params,
    .check = range_check,
    .ops = &range_ops,
    .collectives = GCB_COLLECTIVES_DENSE,
};
