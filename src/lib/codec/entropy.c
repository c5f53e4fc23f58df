#include <math.h>
#include <string.h>

#include "src/lib/codec/blocks.h"
#include "src/lib/wire/bits.h"

/*
 * bf16 values with their exponents in a range code (asymmetric numeral systems; Duda, arXiv
 * 1311.2540; four states as Giesen, arXiv 1402.3392). Signs and mantissas are sent as they are.
 *
 * Payload, empty for no elements: the table, the length of each block, the blocks.
 *
 *   table   a bit stream: 8 bits each for the least and the largest exponent; for each exponent
 *           from the least on, 4 bits w. If w > 0, w - 1 bits follow: the exponent's share without
 *           the leading 1. If w is 0, 8 bits follow: how many more exponents have no share. All
 *           shares add up to TOTAL.
 *   length  16 bits: the number of words of 16 bits in the block's range code
 *   block   BLOCK elements, the last fewer: a byte each for sign and mantissa, four states of 32
 *           bits, the words
 */
#define BLOCK ((uint64_t)4 * GCB_TILE)
#define LOG2_TOTAL 12
#define TOTAL (1u << LOG2_TOTAL)
#define STATES 4
#define LEAST 0x10000u /* a state between two elements is at least this */
#define TABLE_MOST 560 /* bytes of the table, with what gcb_bitw_put writes after them */
/* An element adds at most LOG2_TOTAL bits and a rounding error to the range code. */
#define WORDS_MOST(n) ((n)*13 / 16 + 2 * STATES)
#define BLOCK_MOST(n) ((n) + 4 * STATES + 2 * WORDS_MOST(n))

/* An exponent's share of [0, TOTAL): `count` numbers from `start` on. Encoding divides by `count`:
 * it multiplies by `inverse` and shifts right by `shift`. */
struct share {
    uint64_t inverse;
    uint32_t start, count;
    unsigned shift;
};

/* What parallel tasks share. Encoding and decoding set only the fields that they use. The arrays
 * of TOTAL entries are for decoding, and their index is the low bits of a state: `exponent` is the
 * exponent whose share contains the index, `size` is the size of this share, and `place` is the
 * index's place in it. */
struct job {
    struct gcb_half *s;
    uint64_t stream; /* number of the Philox stream */
    const float *from;
    float *to;
    uint8_t *out, *lengths_out;
    const uint8_t *in, *lengths;
    uint64_t parts; /* number of tasks that decode */
    uint64_t histogram[256];
    struct share share[256];
    uint16_t place[TOTAL], size[TOTAL];
    uint8_t exponent[TOTAL];
    bool failed; /* set if a block is invalid */
};

static uint64_t block_count(const struct gcb_half *s)
{
    return (s->base.env.count + BLOCK - 1) / BLOCK;
}

static size_t block_length(const struct gcb_half *s, uint64_t block)
{
    const uint64_t left = s->base.env.count - block * BLOCK;

    return (size_t)(left < BLOCK ? left : BLOCK);
}

static int entropy_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_half *s = state;

    s->base.max_payload = TABLE_MOST + block_count(s) * 2 + env->count / BLOCK * BLOCK_MOST(BLOCK) +
                          BLOCK_MOST(env->count % BLOCK);
    s->base.length_varies = true;
    s->base.sees_nonfinite = true;
    return 0;
}

/* ---- encoding ---- */

/* Rounds n <= GCB_TILE elements from element `first` on to bf16. Returns how many saturate. */
static size_t round_tile(const struct job *job, uint16_t *code, uint64_t first, size_t n)
{
    const struct gcb_codec_env *env = &job->s->base.env;
    const struct gcb_small_float f = gcb_small_float_of(GCB_SMALL_BF16);
    const struct gcb_tile_draw draw = gcb_tile_draw(env->seed, first, job->stream);
    const float one = 1.0f;

    if (job->s->rounding)
        return env->kernels->block.draw_floats(code, job->from + first, n, GCB_BLOCKS_ALL, &one, &f,
                                               &draw);
    return env->kernels->convert.to_bf16((uint8_t *)code, job->from + first, n);
}

/* Counts the exponents and the elements that saturate. Sets base.nonfinite if an element is an
 * infinity or NaN. */
static void count_block(void *ctx, uint64_t block)
{
    struct job *job = ctx;
    struct gcb_codec_base *base = &job->s->base;
    const uint64_t end = block * BLOCK + block_length(job->s, block);
    uint32_t histogram[2][256] = {{0}};
    uint16_t code[GCB_TILE];
    size_t clamped = 0;

    for (uint64_t i = block * BLOCK; i < end; i += GCB_TILE) {
        const size_t n = gcb_tile_length(end, i);

        if (base->env.kernels->reduce.max_bits(job->from + i, n) >= GCB_INF_BITS)
            __atomic_store_n(&base->nonfinite, true, __ATOMIC_RELAXED);
        clamped += round_tile(job, code, i, n);
        for (size_t j = 0; j < n; j++)
            histogram[j & 1][code[j] >> 7 & 0xff]++;
    }
    for (size_t e = 0; e < 256; e++)
        if (histogram[0][e] + histogram[1][e])
            __atomic_fetch_add(&job->histogram[e], histogram[0][e] + histogram[1][e],
                               __ATOMIC_RELAXED);
    __atomic_fetch_add(&base->clamped, clamped, __ATOMIC_RELAXED);
}

/* Sets the sizes of shares in proportion to the histogram: at least 1 for each exponent that
 * occurs, and TOTAL together. */
static void choose_shares(struct job *job)
{
    const double unit = (double)TOTAL / (double)job->s->base.env.count;
    uint32_t sum = 0;

    for (size_t e = 0; e < 256; e++) {
        const double exact = (double)job->histogram[e] * unit;

        job->share[e].count = exact >= 1.0 ? (uint32_t)(exact + 0.5) : job->histogram[e] != 0;
        sum += job->share[e].count;
    }
    for (; sum != TOTAL; sum += sum < TOTAL ? 1 : -1) {
        struct share *most = job->share;

        for (size_t e = 1; e < 256; e++)
            most = job->share[e].count > most->count ? &job->share[e] : most;
        most->count += sum < TOTAL ? 1 : -1;
    }
}

static unsigned width_of(uint32_t v)
{
    return v ? gcb_log2_floor(v) + 1 : 0;
}

/* Writes the table. Returns the end of its bytes. */
static uint8_t *put_table(const struct job *job, uint8_t *out)
{
    struct gcb_bitw w = {.p = out};
    unsigned least = 0, largest = 255, absent;

    while (job->share[least].count == 0)
        least++;
    while (job->share[largest].count == 0)
        largest--;
    gcb_bitw_put(&w, least | largest << 8, 16);
    for (unsigned e = least; e <= largest; e++) {
        const uint32_t count = job->share[e].count;
        const unsigned width = width_of(count);

        gcb_bitw_put(&w, width, 4);
        if (width) {
            gcb_bitw_put(&w, count & ((1u << (width - 1)) - 1), width - 1);
            continue;
        }
        for (absent = 0; job->share[e + 1].count == 0; e++)
            absent++;
        gcb_bitw_put(&w, absent, 8);
    }
    return gcb_bitw_finish(&w);
}

/* Sets the other fields of the shares from their sizes. */
static void place_shares(struct job *job)
{
    uint32_t start = 0;

    for (size_t e = 0; e < 256; e++) {
        struct share *s = &job->share[e];

        s->start = start;
        start += s->count;
        if (s->count == 0)
            continue;
        /* the quotient is exact for all states, which are below count * 2^20 */
        s->shift = 32 + width_of(s->count - 1);
        s->inverse = ((UINT64_C(1) << s->shift) + s->count - 1) / s->count;
    }
}

/* Encodes an exponent: returns the next state, and writes a word before *p if the state is full.
 * There must be room for a word in any case. */
static inline uint32_t put_one(uint32_t x, const struct share *s, uint16_t **p)
{
    const uint32_t full = x >= (uint64_t)s->count << 20;
    uint32_t quotient;

    (*p)[-1] = (uint16_t)x;
    *p -= full;
    x >>= 16 * full;
    quotient = (uint32_t)(x * s->inverse >> s->shift);
    return (quotient << LOG2_TOTAL) + (x - quotient * s->count) + s->start;
}

/* Encodes a block to its place in an array of blocks of the largest size. */
static void encode_block(void *ctx, uint64_t block)
{
    const struct job *job = ctx;
    const uint64_t first = block * BLOCK;
    const size_t n = block_length(job->s, block);
    uint8_t *const out = job->out + block * BLOCK_MOST(BLOCK);
    uint32_t state[STATES] = {LEAST, LEAST, LEAST, LEAST};
    uint16_t code[BLOCK], word[WORDS_MOST(BLOCK)], *const end = word + WORDS_MOST(BLOCK), *p = end;

    for (size_t i = 0; i < n; i += GCB_TILE)
        round_tile(job, code + i, first + i, gcb_tile_length(n, i));
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((code[i] >> 8 & 0x80) | (code[i] & 0x7f));
    for (size_t i = (n + STATES - 1) / STATES * STATES; i > 0; i -= STATES)
        for (size_t k = STATES; k-- > 0;)
            if (i - STATES + k < n)
                state[k] = put_one(state[k], &job->share[code[i - STATES + k] >> 7 & 0xff], &p);
    for (size_t k = 0; k < STATES; k++)
        gcb_store_u32(out + n + 4 * k, state[k]);
    memcpy(out + n + 4 * STATES, p, (size_t)(end - p) * sizeof(*p));
    gcb_store_half(job->lengths_out + 2 * block, (uint32_t)(end - p));
}

static int entropy_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                          struct gcb_wbuf *out)
{
    struct gcb_half *s = state;
    struct job job = {
        .s = s, .stream = gcb_draw_stream(&s->base.env, at, GCB_DRAW_COARSE), .from = in->data};
    const uint64_t blocks = block_count(s);
    uint8_t *start = gcb_wbuf_take(out, s->base.max_payload), *p;

    s->base.clamped = 0;
    s->base.nonfinite = false;
    if (!start)
        return GCB_E_NOSPACE;
    out->len -= s->base.max_payload; /* the payload's length is added in the end */
    if (blocks == 0)
        return 0;
    gcb_parallel(s->base.env.queue, blocks, count_block, &job);
    choose_shares(&job);
    place_shares(&job);
    job.lengths_out = put_table(&job, start);
    p = job.out = job.lengths_out + 2 * blocks;
    gcb_parallel(s->base.env.queue, blocks, encode_block, &job);
    for (uint64_t b = 0; b < blocks; b++) {
        const size_t length =
            block_length(s, b) + 4 * STATES + 2 * (size_t)gcb_load_half(job.lengths_out + 2 * b);

        memmove(p, job.out + b * BLOCK_MOST(BLOCK), length);
        p += length;
    }
    out->len += (size_t)(p - start);
    return 0;
}

/* ---- decoding ---- */

/* Reads the table from `length` bytes and sets the shares. Returns the number of bytes that the
 * table takes, or 0 if it is invalid. */
static uint64_t get_table(struct job *job, const uint8_t *in, uint64_t length)
{
    struct gcb_bitr r = {.p = in, .end = in + length};
    const unsigned least = (unsigned)gcb_bitr_get(&r, 8), largest = (unsigned)gcb_bitr_get(&r, 8);
    uint32_t sum = 0;
    uint64_t bits = 16;

    for (unsigned e = least; e <= largest; e++) {
        const unsigned width = (unsigned)gcb_bitr_get(&r, 4);
        uint32_t count = 0;

        if (width)
            count = 1u << (width - 1) | (uint32_t)gcb_bitr_get(&r, width - 1);
        else
            e += (unsigned)gcb_bitr_get(&r, 8);
        bits += width ? 3 + width : 12;
        if (count > TOTAL - sum || e > largest)
            return 0;
        for (uint32_t i = 0; i < count; i++) {
            job->place[sum + i] = (uint16_t)i;
            job->size[sum + i] = (uint16_t)count;
        }
        memset(job->exponent + sum, (int)e, count);
        job->share[e].count = count;
        sum += count;
    }
    if (gcb_bitr_get(&r, (unsigned)(0 - bits) % 8) || r.failed || sum != TOTAL ||
        !job->share[least].count || !job->share[largest].count)
        return 0;
    return (bits + 7) / 8;
}

/* Decodes an exponent from the state *x, which may then be below LEAST. */
static inline uint8_t get_one(const struct job *job, uint32_t *x)
{
    const uint32_t at = *x % TOTAL;

    *x = job->size[at] * (*x >> LOG2_TOTAL) + job->place[at];
    return job->exponent[at];
}

/* If the state is below LEAST, shifts the word at p into it and returns 1. Otherwise returns 0.
 * Reads the word in any case, because a branch could not be predicted. */
static inline uint32_t refill(uint32_t *x, const uint8_t *p)
{
    const uint32_t empty = *x < LEAST;
    uint16_t word;

    memcpy(&word, p, sizeof(word));
    *x = *x << 16 * empty | (word & (0u - empty));
    return empty;
}

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A block's range code while it is decoded. */
struct reader {
    const uint8_t *p, *end;
    uint32_t x[STATES];
    uint8_t *exponent;
    size_t i, n; /* number of elements decoded so far, and in the block */
    bool valid;
};

/* Returns a reader of the block at `in`, which will write the block's exponents to `exponent`. */
static struct reader open_reader(const struct job *job, uint8_t *exponent, uint64_t block,
                                 const uint8_t *in)
{
    struct reader r = {.exponent = exponent, .n = block_length(job->s, block), .valid = true};

    for (size_t k = 0; k < STATES; k++) {
        r.x[k] = gcb_load_u32(in + r.n + 4 * k);
        r.valid &= r.x[k] >= LEAST;
    }
    r.p = in + r.n + 4 * STATES;
    r.end = r.p + 2 * gcb_load_half(job->lengths + 2 * block);
    return r;
}

/* Decodes an exponent of each state. Returns the end of the words that were read. */
static inline const uint8_t *get_few(const struct job *job, uint8_t *exponent, uint32_t x[STATES],
                                     const uint8_t *p)
{
    for (size_t k = 0; k < STATES; k++)
        exponent[k] = get_one(job, &x[k]);
    for (size_t k = 0; k < STATES; k++)
        p += 2 * refill(&x[k], p);
    return p;
}

/* Decodes exponents of two blocks in turn: one block is decoded while the other waits for its
 * loads. Stops before exponents or words of a block might run out. The arrays of states are local,
 * so that they stay in registers. */
static void get_pairs(const struct job *job, struct reader *a, struct reader *b)
{
    const size_t n = lesser(a->n, b->n);
    const uint8_t *p = a->p, *q = b->p;
    uint32_t x[STATES], y[STATES];
    size_t i = 0, m;

    memcpy(x, a->x, sizeof(x));
    memcpy(y, b->x, sizeof(y));
    /* for m elements the words cannot run out */
    while ((m = lesser(n - i, lesser((size_t)(a->end - p) / 2, (size_t)(b->end - q) / 2))) >=
           STATES)
        for (const size_t end = i + m / STATES * STATES; i < end; i += STATES) {
            p = get_few(job, a->exponent + i, x, p);
            q = get_few(job, b->exponent + i, y, q);
        }
    memcpy(a->x, x, sizeof(x));
    memcpy(b->x, y, sizeof(y));
    a->p = p;
    b->p = q;
    a->i = b->i = i;
}

/* Decodes the rest of a block. Returns false if the block is invalid. */
static bool get_rest(const struct job *job, struct reader *r)
{
    const uint8_t *p = r->p;
    uint32_t x[STATES];
    size_t i = r->i;

    memcpy(x, r->x, sizeof(x));
    for (; i + STATES <= r->n && r->end - p >= 2 * STATES; i += STATES)
        p = get_few(job, r->exponent + i, x, p);
    for (; i < r->n; i++) {
        r->exponent[i] = get_one(job, &x[i % STATES]);
        if (p < r->end)
            p += 2 * refill(&x[i % STATES], p);
    }
    for (size_t k = 0; k < STATES; k++)
        r->valid &= x[k] == LEAST;
    return r->valid && p == r->end;
}

/* Decodes the elements of a block with these exponents, whose signs and mantissas are at `in`. */
static void put_values(const struct job *job, uint64_t block, const uint8_t *exponent,
                       const uint8_t *in)
{
    const struct gcb_kernels *k = job->s->base.env.kernels;
    const uint64_t count = job->s->base.env.count, n = block_length(job->s, block);
    _Alignas(64) float room[GCB_TILE], *x;
    uint16_t code[GCB_TILE];

    for (uint64_t i = 0, m; i < n; i += m) {
        float *const to = job->to + block * BLOCK + i;

        m = gcb_room_length(count, n, i);
        for (size_t j = 0; j < m; j++)
            code[j] =
                (uint16_t)((in[i + j] & 0x80) << 8 | exponent[i + j] << 7 | (in[i + j] & 0x7f));
        x = gcb_room(room, to, count);
        k->convert.from_bf16(x, (const uint8_t *)code, m);
        gcb_room_done(to, x, m);
    }
}

/* Decodes a part of the blocks. First adds up the lengths of all blocks before the part, so there
 * is only one part for each thread. */
static void decode_part(void *ctx, uint64_t part)
{
    struct job *job = ctx;
    const uint64_t blocks = block_count(job->s), first = part * blocks / job->parts;
    const uint64_t last = (part + 1) * blocks / job->parts;
    const uint8_t *in[3] = {job->in};
    uint8_t exponent[2][BLOCK];

    for (uint64_t b = 0; b < first; b++)
        in[0] += BLOCK + 4 * STATES + 2 * (size_t)gcb_load_half(job->lengths + 2 * b);
    for (uint64_t b = first; b < last; b += 2) {
        const uint64_t n = last - b < 2 ? 1 : 2;
        struct reader r[2];

        for (uint64_t i = 0; i < n; i++) {
            r[i] = open_reader(job, exponent[i], b + i, in[i]);
            in[i + 1] = r[i].end;
        }
        if (n == 2)
            get_pairs(job, &r[0], &r[1]);
        for (uint64_t i = 0; i < n; i++) {
            if (!get_rest(job, &r[i]))
                __atomic_store_n(&job->failed, true, __ATOMIC_RELAXED);
            put_values(job, b + i, exponent[i], in[i]);
        }
        in[0] = in[n];
    }
}

/* Reads what stands before the blocks. Returns false if it is invalid, or if the blocks do not end
 * at the payload's end. */
static bool open_payload(struct job *job, struct gcb_rbuf *in)
{
    const uint64_t blocks = block_count(job->s), left = gcb_rbuf_left(in);
    const uint8_t *const p = gcb_rbuf_take(in, left);
    const uint64_t table = left && blocks ? get_table(job, p, left) : 0;
    uint64_t need = table + 2 * blocks;

    if (blocks == 0)
        return left == 0;
    if (!table || left < need)
        return false;
    job->lengths = p + table;
    job->in = job->lengths + 2 * blocks;
    need += job->s->base.env.count + blocks * 4 * STATES;
    for (uint64_t b = 0; b < blocks; b++)
        need += 2 * (uint64_t)gcb_load_half(job->lengths + 2 * b);
    return left == need;
}

static int entropy_read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *to)
{
    struct gcb_half *s = state;
    const struct gcb_queue *queue = s->base.env.queue;
    struct job job = {.s = s, .to = out};

    if (to) /* a range code is checked only while it is decoded */
        return GCB_E_UNSUPPORTED;
    if (!open_payload(&job, in))
        return GCB_E_CORRUPT;
    job.parts =
        lesser(gcb_span_count(s->base.env.count), queue->threads > 1 ? (size_t)queue->threads : 1);
    gcb_parallel(queue, job.parts, decode_part, &job);
    return job.failed ? GCB_E_CORRUPT : 0;
}

static int entropy_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    struct gcb_half *s = state;
    struct job job = {.s = s};
    const uint64_t length = gcb_rbuf_left(in), count = s->base.env.count;
    uint8_t exponent[BLOCK];

    if (!open_payload(&job, in))
        return GCB_E_CORRUPT;
    for (uint64_t b = 0; b < block_count(s); b++) {
        struct reader r = open_reader(&job, exponent, b, job.in);

        if (!get_rest(&job, &r))
            return GCB_E_CORRUPT;
        for (size_t i = 0; i < r.n; i++)
            job.histogram[exponent[i]]++;
        job.in = r.end;
    }
    parts->scale_bytes = count ? (uint64_t)(job.lengths - (in->data + in->pos - length)) : 0;
    parts->value_bytes = length - parts->scale_bytes;
    parts->kept = parts->positions = count;
    parts->entropy0_bits = 8.0 * (double)count + gcb_entropy0(job.histogram, 256);
    return 0;
}

/* ---- about the method ---- */

static const struct gcb_param entropy_params[] = {
    {GCB_PARAM("rounding", CHOICE, struct gcb_half, rounding), .help = "how a value is rounded",
     .choices = gcb_block_rounding_names},
    {.name = NULL},
};

static unsigned entropy_caps(const double *value)
{
    return value[0] != 0.0 ? GCB_CAP_RANDOMISED | GCB_CAP_UNBIASED : 0;
}

static const char *entropy_rule(const double *value)
{
    return value[0] != 0.0 ? "drawn-float" : "bf16";
}

static const struct gcb_codec_ops entropy_ops = {
    .state_size = sizeof(struct gcb_half),
    .init = entropy_init,
    .clamps = true,
    .encode = entropy_encode,
    .read = entropy_read,
    .describe = entropy_describe,
};

const struct gcb_codec gcb_codec_entropy = {
    .name = "bf16-entropy",
    .summary = "bf16 without loss: exponents in a range code",
    .source = "bfloat16; Duda, arXiv 1311.2540 (rANS); Giesen, arXiv 1402.3392",
    .guarantee = "as bf16",
    .error_rule_of = entropy_rule,
    .wire_id = 17,
    .cpu_only = true,
    .caps_of = entropy_caps,
    .params = entropy_params,
    .ops = &entropy_ops,
    .collectives = GCB_COLLECTIVES_DENSE,
};
