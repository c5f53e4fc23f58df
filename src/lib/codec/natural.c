#include "kernels/dither/natural_elem.h"
#include "kernels/philox/philox_elem.h"
#include "src/lib/codec/packed.h"

/*
 * Natural compression (Horvath et al., arXiv 1905.10988): every element is rounded stochastically
 * to the power of two below or above, so that the mean stays the same. A subnormal number is
 * rounded to 0 or 2^-126.
 *
 * Payload: 9 bits for each element, which are the upper 9 bits of its float32: the exponent field,
 * and the sign above it.
 */
#define WIDTH GCB_NATURAL_WIDTH

static int natural_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_codec_base *s = state;

    s->max_payload = gcb_packed_bytes(env->count, WIDTH);
    s->may_send_raw = s->sees_nonfinite = true;
    s->nominal_bits = WIDTH;
    return 0;
}

/* What parallel tasks share. Encoding and decoding set only the fields that they use. */
struct job {
    const struct gcb_codec_env *env;
    struct gcb_rounding_draw draw;
    const float *from;
    float *to;
    const struct gcb_addition *add; /* NULL: decode to `to` */
    uint8_t *out;
    const uint8_t *in;
    bool failed; /* set if an element is too large, or a code is not finite */
};

/* Returns the code of element `index`. `byte` is its coarse random draw; 24 more bits are drawn
 * only if the byte does not decide. */
static uint16_t round_to_power(float x, uint32_t byte, uint64_t index, const struct job *job)
{
    const uint32_t power = gcb_natural_below(x), p = gcb_natural_chance(x);

    if (byte != p >> 24)
        return (uint16_t)(power + (byte < p >> 24));
    return (uint16_t)(power +
                      (gcb_philox_24(job->env->seed, index, job->draw.fine) < (p & 0xffffffu)));
}

static void encode_span(void *ctx, uint64_t span)
{
    struct job *job = ctx;
    const struct gcb_kernels *k = job->env->kernels;
    const uint64_t end = span * GCB_SPAN + gcb_span_length(job->env->count, span);
    uint16_t code[GCB_TILE];
    uint8_t byte[GCB_TILE];

    for (uint64_t i = span * GCB_SPAN; i < end; i += GCB_TILE) {
        const size_t n = gcb_tile_length(end, i);

        if (k->reduce.max_bits(job->from + i, n) > GCB_NATURAL_LARGEST)
            __atomic_store_n(&job->failed, true, __ATOMIC_RELAXED);
        k->philox.bytes(byte, n, job->env->seed, i, job->draw.coarse);
        for (size_t j = 0; j < n; j++)
            code[j] = round_to_power(job->from[i + j], byte[j], i + j, job);
        k->bitpack.pack(job->out + gcb_packed_bytes(i, WIDTH), code, n, WIDTH);
    }
}

static int natural_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                          struct gcb_wbuf *out)
{
    struct gcb_codec_base *s = state;
    struct job job = {.env = &s->env,
                      .draw = gcb_rounding_draw(&s->env, at),
                      .from = in->data,
                      .out = gcb_wbuf_take(out, s->max_payload)};

    s->nonfinite = false;
    if (!job.out)
        return GCB_E_NOSPACE;
    gcb_parallel(s->env.queue, gcb_span_count(s->env.count), encode_span, &job);
    if (!job.failed)
        return 0;
    s->nonfinite = s->env.kernels->reduce.max_bits(in->data, in->count) >= GCB_INF_BITS;
    return GCB_E_SEND_RAW;
}

/* Writes the values of n codes to x. */
static void rebuild(float *x, const uint16_t *code, size_t n)
{
    for (size_t j = 0; j < n; j++)
        x[j] = gcb_natural_value(code[j]);
}

static void decode_span(void *ctx, uint64_t span)
{
    const struct job *job = ctx;
    const struct gcb_kernels *k = job->env->kernels;
    const uint64_t end = span * GCB_SPAN + gcb_span_length(job->env->count, span);
    _Alignas(64) float room[GCB_ROOM], *x;
    uint16_t code[GCB_TILE];

    for (uint64_t i = span * GCB_SPAN, n; i < end; i += n) {
        n = gcb_room_length(job->env->count, end, i);
        k->bitpack.unpack(code, job->in + gcb_packed_bytes(i, WIDTH), n, WIDTH);
        if (job->add) {
            k->accumulate.add_exponents(job->add->acc + i, code, n, job->add->weight);
            continue;
        }
        x = gcb_room(room, job->to + i, job->env->count);
        rebuild(x, code, n);
        gcb_room_done(job->to + i, x, n);
    }
}

/* Masks for the seven 9-bit codes in the lower 63 bits of a word: the sign bits, and the lowest
 * bits. */
#define SIGNS UINT64_C(0x4020100804020100)
#define ONES UINT64_C(0x0040201008040201)

/* Sets the sign bits of those codes whose exponent field is all ones (infinity or NaN): adding 1 to
 * such a field carries into the sign, which was cleared. */
static uint64_t carries(uint64_t codes)
{
    return (codes & ~SIGNS) + ONES;
}

/* Sets job->failed if a code stands for an infinity or NaN. */
static void check_span(void *ctx, uint64_t span)
{
    struct job *job = ctx;
    const uint64_t n = gcb_span_length(job->env->count, span), groups = n / 8;
    const uint8_t *in = job->in + gcb_packed_bytes(span * GCB_SPAN, WIDTH);
    uint64_t found = 0;
    uint16_t code[8];

    /* Eight codes fill nine bytes. The two words of eight bytes hold codes 0 to 6 and 1 to 7. */
    for (uint64_t g = 0; g < groups; g++)
        found |= carries(gcb_load_u64(in + 9 * g)) | carries(gcb_load_u64(in + 9 * g + 1) >> 1);
    job->env->kernels->bitpack.unpack(code, in + 9 * groups, n % 8, WIDTH);
    for (size_t j = 0; j < n % 8; j++)
        found |= carries(code[j]);
    if (found & SIGNS)
        __atomic_store_n(&job->failed, true, __ATOMIC_RELAXED);
}

static int natural_read(void *state, struct gcb_rbuf *in, float *out,
                        const struct gcb_addition *add)
{
    const struct gcb_codec_base *s = state;
    const uint64_t spans = gcb_span_count(s->env.count);
    struct job job = {
        .env = &s->env, .to = out, .add = add, .in = gcb_rbuf_take(in, s->max_payload)};

    if (!job.in || gcb_rbuf_left(in))
        return GCB_E_CORRUPT;
    gcb_parallel(s->env.queue, spans, check_span, &job);
    if (!job.failed)
        gcb_parallel(s->env.queue, spans, decode_span, &job);
    return job.failed ? GCB_E_CORRUPT : 0;
}

static int natural_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    return gcb_packed_describe(parts, in, 0, WIDTH, &((struct gcb_codec_base *)state)->env);
}

static const struct gcb_codec_ops natural_ops = {
    .state_size = sizeof(struct gcb_codec_base),
    .init = natural_init,
    .encode = natural_encode,
    .read = natural_read,
    .describe = natural_describe,
};

const struct gcb_codec gcb_codec_natural = {
    .name = "natural",
    .summary = "stochastic rounding to a power of two: sign and exponent",
    .source = "Horvath et al., arXiv 1905.10988 (natural compression), section 2",
    .guarantee = "unbiased; E||x - x'||^2 <= ||x||^2 / 8 for normal values",
    .error_rule = "natural",
    .wire_id = 7,
    .caps = GCB_CAP_UNBIASED | GCB_CAP_RANDOMISED,
    .ops = &natural_ops,
    .collectives = GCB_COLLECTIVES_DENSE,
};
