#include <math.h>
#include <string.h>

#include "kernels/hadamard/hadamard_elem.h"
#include "src/lib/codec/packed.h"

/*
 * EDEN (Vargaftik et al. 2022), and with one bit DRIVE (2021). A block is rotated at random: signs,
 * then a Walsh-Hadamard transform. Its coefficients are then nearly normal, so they are rounded to
 * the Lloyd-Max levels of the normal distribution. With scale=unbiased, each block x and what it
 * decodes to, x', have <x, x'> = <x, x>.
 *
 * A block has `block` elements. The elements after the last whole block are cut into blocks whose
 * lengths are powers of two, longest first; the last fewer than LEAST are followed by zeros.
 *
 * Payload: the key of the signs (uint64), a scale for each block (float32), and a code for each
 * element and each zero: the number of a level, and the sign above it.
 */
#define LEAST 128 /* Philox draws whole groups of 128 signs */
#define MOST GCB_TILE
#define BITS 4 /* most bits of a code */
#define LEVELS (1 << (BITS - 1))
/* A tensor is sent raw if the coefficients of a block have this norm or more, and a decoder refuses
 * scales of this size or more, so no sum overflows. */
#define COEFFICIENT_MOST 0x1p100f

enum { SCALE_UNBIASED, SCALE_LEAST };

struct eden {
    struct gcb_codec_base base;
    uint64_t bits, block;
    int scale;
};

/* For each value of `bits`: the levels, in standard deviations, and the middles between them. */
static const float levels[BITS + 1][LEVELS] = {
    [1] = {0.797884583f},
    [2] = {0.452780038f, 1.51041758f},
    [3] = {0.24509418f, 0.756005287f, 1.34390926f, 2.15194559f},
    [4] = {0.128395036f, 0.388048291f, 0.656759143f, 0.942340434f, 1.25623119f, 1.6180464f,
           2.06901717f, 2.73258948f},
};
static const float middles[BITS + 1][LEVELS] = {
    [2] = {0.981598794f},
    [3] = {0.500549734f, 1.04995728f, 1.74792755f},
    [4] = {0.258221656f, 0.522403717f, 0.799549758f, 1.09928584f, 1.4371388f, 1.84353185f,
           2.40080333f},
};

/* The number of elements, with the zeros after them. */
static uint64_t padded(const struct eden *s)
{
    return (s->base.env.count + LEAST - 1) / LEAST * LEAST;
}

/* Index of the block that begins at element i. For i = padded(s), the number of blocks. */
static uint64_t block_number(const struct eden *s, uint64_t i)
{
    return i / s->block + (uint64_t)__builtin_popcountll(i & (s->block - 1));
}

/* Bytes before the codes: the key and the scales. */
static uint64_t head_bytes(const struct eden *s)
{
    return sizeof(uint64_t) + block_number(s, padded(s)) * sizeof(float);
}

static int eden_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct eden *s = state;

    if (s->block & (s->block - 1))
        return gcb_invalid(diag, "block=%llu is not a power of two", (unsigned long long)s->block);
    s->base.max_payload = head_bytes(s) + gcb_packed_bytes(padded(s), (unsigned)s->bits);
    s->base.may_send_raw = s->base.sees_nonfinite = true;
    s->base.nominal_bits = (double)s->bits + 32.0 / (double)s->block;
    return 0;
}

/* What parallel tasks share. Encoding and decoding set only the fields that they use. */
struct job {
    const struct eden *s;
    uint64_t key;
    const float *from;
    float *to;
    const struct gcb_addition *add; /* NULL: decode to `to` */
    uint8_t *out;
    const uint8_t *in;
    bool failed; /* set if a block's coefficients are too large or not finite */
};

static void flip_signs(const struct job *job, float *x, uint64_t first, size_t n)
{
    const struct gcb_kernels *k = job->s->base.env.kernels;
    uint8_t sign[MOST / 8];

    k->philox.bytes(sign, n / 8, job->key, first / 8, 0);
    k->hadamard.flip(x, sign, n);
}

/* Writes the codes of n coefficients with this standard deviation, and their levels. The loop over
 * levels is the outer one, so that the compiler can vectorise the inner one. */
static void round_all(const struct eden *s, uint16_t *code, float *level, const float *z, size_t n,
                      float deviation)
{
    const unsigned sign = (unsigned)s->bits - 1;
    uint32_t number[MOST] = {0};

    for (unsigned j = 0; j + 1 < 1u << sign; j++) {
        const int32_t from = (int32_t)gcb_bits_of(middles[s->bits][j] * deviation);

        for (size_t i = 0; i < n; i++)
            number[i] += (int32_t)(gcb_bits_of(z[i]) & GCB_MAGNITUDE_MASK) >= from;
    }
    for (size_t i = 0; i < n; i++) {
        code[i] = (uint16_t)(number[i] | gcb_bits_of(z[i]) >> 31 << sign);
        level[i] = levels[s->bits][number[i]];
    }
}

/* Encodes the n coefficients z, whose squares add up to `energy`, and overwrites them. Returns the
 * block's scale. */
static float encode_block(const struct eden *s, uint16_t *code, float *z, size_t n, double energy)
{
    const struct gcb_reduce_fns *reduce = &s->base.env.kernels->reduce;
    const float deviation = (float)sqrt(energy / (double)n);
    float level[MOST];
    double along, lengths;

    round_all(s, code, level, z, n, deviation);
    lengths = s->scale == SCALE_LEAST ? reduce->sum_sq(level, n) : 0.0;
    for (size_t i = 0; i < n; i++)
        z[i] *= level[i];
    along = reduce->sum_abs(z, n);
    if (along == 0.0)
        return 0.0f;
    return (float)((s->scale == SCALE_LEAST ? along / lengths : energy / along) / (double)n);
}

static void encode_span(void *ctx, uint64_t span)
{
    struct job *job = ctx;
    const struct eden *s = job->s;
    const struct gcb_codec_env *env = &s->base.env;
    const struct gcb_kernels *k = env->kernels;
    const uint64_t all = padded(s), end = span * GCB_SPAN + gcb_span_length(all, span);
    uint8_t *codes = job->out + head_bytes(s);
    _Alignas(64) float z[MOST];
    uint16_t code[MOST];

    for (uint64_t i = span * GCB_SPAN, n; i < end; i += n) {
        const uint64_t left = env->count - i;
        double energy;

        n = gcb_hadamard_piece(all, s->block, i);
        memset(z, 0, n * sizeof(*z));
        memcpy(z, job->from + i, (left < n ? left : n) * sizeof(*z));
        flip_signs(job, z, i, n);
        k->hadamard.transform(z, n);
        energy = k->reduce.sum_sq(z, n);
        if (!(energy < (double)COEFFICIENT_MOST * (double)COEFFICIENT_MOST)) {
            __atomic_store_n(&job->failed, true, __ATOMIC_RELAXED);
            return;
        }
        gcb_store_f32(job->out + sizeof(uint64_t) + block_number(s, i) * sizeof(float),
                      encode_block(s, code, z, n, energy));
        k->bitpack.pack(codes + gcb_packed_bytes(i, (unsigned)s->bits), code, n, (unsigned)s->bits);
    }
}

static int eden_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                       struct gcb_wbuf *out)
{
    struct eden *s = state;
    const struct gcb_codec_env *env = &s->base.env;
    struct job job = {.s = s,
                      .key = gcb_draw_stream(env, at, GCB_DRAW_SIGNS) ^ env->seed,
                      .from = in->data,
                      .out = gcb_wbuf_take(out, s->base.max_payload)};

    s->base.nonfinite = false;
    if (!job.out)
        return GCB_E_NOSPACE;
    gcb_store_u64(job.out, job.key);
    gcb_parallel(env->queue, gcb_span_count(padded(s)), encode_span, &job);
    if (!job.failed)
        return 0;
    s->base.nonfinite = gcb_max_bits(in->data, in->count, env->kernels, env->queue) >= GCB_INF_BITS;
    return GCB_E_SEND_RAW;
}

static void decode_span(void *ctx, uint64_t span)
{
    const struct job *job = ctx;
    const struct eden *s = job->s;
    const struct gcb_kernels *k = s->base.env.kernels;
    const uint64_t all = padded(s), end = span * GCB_SPAN + gcb_span_length(all, span);
    const uint8_t *codes = job->in + head_bytes(s);
    const unsigned bits = (unsigned)s->bits;
    _Alignas(64) float x[MOST];
    float value[2 * LEVELS];
    uint16_t code[MOST];

    for (uint64_t i = span * GCB_SPAN, n; i < end; i += n) {
        const uint64_t left = s->base.env.count - i;
        const float scale =
            gcb_load_f32(job->in + sizeof(uint64_t) + block_number(s, i) * sizeof(float));

        n = gcb_hadamard_piece(all, s->block, i);
        for (unsigned j = 0; j < 1u << (bits - 1); j++) {
            value[j] = levels[bits][j] * scale;
            value[j + (1u << (bits - 1))] = -value[j];
        }
        k->bitpack.unpack(code, codes + gcb_packed_bytes(i, bits), n, bits);
        for (size_t j = 0; j < n; j++)
            x[j] = value[code[j]];
        k->hadamard.transform(x, n);
        flip_signs(job, x, i, n);
        if (job->add)
            k->accumulate.add(job->add->acc + i, x, left < n ? left : n, job->add->weight);
        else
            memcpy(job->to + i, x, (left < n ? left : n) * sizeof(*x));
    }
}

static int eden_read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *add)
{
    const struct eden *s = state;
    struct job job = {.s = s, .to = out, .add = add};

    job.in = gcb_rbuf_take(in, s->base.max_payload);
    if (!job.in || gcb_rbuf_left(in))
        return GCB_E_CORRUPT;
    job.key = gcb_load_u64(job.in);
    for (uint64_t at = sizeof(uint64_t); at < head_bytes(s); at += sizeof(float))
        if (gcb_load_u32(job.in + at) >= gcb_bits_of(COEFFICIENT_MOST))
            return GCB_E_CORRUPT;
    gcb_parallel(s->base.env.queue, gcb_span_count(padded(s)), decode_span, &job);
    return 0;
}

static int eden_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct eden *s = state;
    const unsigned bits = (unsigned)s->bits;
    const uint8_t *p = gcb_rbuf_take(in, s->base.max_payload);

    if (!p)
        return GCB_E_CORRUPT;
    parts->scale_bytes = head_bytes(s);
    parts->value_bytes = gcb_packed_bytes(padded(s), bits);
    parts->kept = parts->positions = s->base.env.count;
    return gcb_packed_entropy(&parts->entropy0_bits, p + parts->scale_bytes, padded(s), bits,
                              s->base.env.kernels);
}

static const char *const scale_names[] = {"unbiased", "least", NULL};

/* eden_check reads value[1]. */
static const struct gcb_param eden_params[] = {
    {GCB_PARAM("bits", INT, struct eden, bits), .help = "bits of a coefficient's code", .def = 4,
     .min = 1, .max = BITS, .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL, .rate = GCB_RATE_UP},
    {GCB_PARAM("block", SIZE, struct eden, block),
     .help = "elements that are rotated together, a power of two", .def = MOST, .min = LEAST,
     .max = MOST, .flags = GCB_PARAM_WIRE},
    {GCB_PARAM("scale", CHOICE, struct eden, scale),
     .help = "unbiased: <x, x'> = <x, x>; least: the least error of a message",
     .choices = scale_names},
    {.name = NULL},
};

static int eden_check(const double *value, struct gcb_diag *diag)
{
    const uint64_t block = (uint64_t)value[1];

    return block & (block - 1)
               ? gcb_invalid(diag, "block=%llu is not a power of two", (unsigned long long)block)
               : 0;
}

static const struct gcb_codec_ops eden_ops = {
    .state_size = sizeof(struct eden),
    .init = eden_init,
    .encode = eden_encode,
    .read = eden_read,
    .describe = eden_describe,
};

#define GUARANTEE \
    "unbiased: <x, x'> = ||x||^2 in each block, so ||x - x'||^2 = ||x'||^2 - ||x||^2; least: " \
    "||x - x'||^2 <= ||x||^2 - ||x'||^2"

static const struct gcb_preset eden_presets[] = {
    {.name = "drive",
     .summary = "the signs of a random rotation, and a scale for each block",
     .source = "Vargaftik et al., NeurIPS 2021 (DRIVE), sections 3 and 4",
     .defaults = "bits=1",
     .guarantee = GUARANTEE},
    {.name = NULL},
};

const struct gcb_codec gcb_codec_eden = {
    .name = "eden",
    .summary = "a random rotation, rounded to the levels of a normal distribution",
    .source = "Vargaftik et al., ICML 2022 (EDEN), section 3",
    .guarantee = GUARANTEE,
    .wire_id = 18,
    .cpu_only = true,
    .caps = GCB_CAP_RANDOMISED, /* not UNBIASED: the mean over Hadamard rotations is not x */
    .params = eden_params,
    .check = eden_check,
    .ops = &eden_ops,
    .collectives = GCB_COLLECTIVES_DENSE,
    .presets = eden_presets,
};
