#include <math.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/blocks.h"

/*
 * Codes of 8 bits for the values of a book. The arithmetic is in kernels/block/book_elem.h.
 *
 * Payload (src/lib/codec/blocks.h): book=dynamic has no head, and a block's largest magnitude is
 * its scale. book=uniform has no scales; its head is the book, 256 float32.
 */
struct codebook {
    struct gcb_books k;
    float book[GCB_BOOK];
    uint32_t *cells; /* encoder, dynamic: what gcb_book_cells fills */
    /* encoder, uniform: for each GCB_SUM_BLOCK elements, their sum and the sum of their squares */
    double *sums;
};

static uint64_t sum_block_count(const struct codebook *s)
{
    return (s->k.b.base.env.count + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
}

/* ---- book=dynamic, and decoding of both books ---- */

static void encode_tile(const struct gcb_blocks *b, struct gcb_blocks_encoding *e)
{
    const struct codebook *s = (const struct codebook *)b;
    uint32_t most[GCB_TILE_BLOCKS];
    float divisor[GCB_TILE_BLOCKS];

    b->base.env.kernels->block.most(most, e->x, e->n, b->log2);
    e->most = 0;
    for (size_t i = 0; i < gcb_blocks_count(b, e->n); i++) {
        gcb_store_u32(e->scale + i * b->scale, most[i]);
        divisor[i] = gcb_dynamic_divisor(gcb_float_of(most[i]));
        e->most = most[i] > e->most ? most[i] : e->most;
    }
    b->base.env.kernels->block.nearest(e->code, e->x, e->n, b->log2, divisor, s->cells);
}

static bool valid_scale(const struct gcb_blocks *b, const uint8_t *scale)
{
    return gcb_load_u32(scale) < GCB_INF_BITS;
}

static void decode_tile(const struct gcb_blocks *b, float *x, const uint16_t *code, size_t n,
                        const uint8_t *scales)
{
    const float *book = ((const struct codebook *)b)->book;
    const size_t length = b->scale ? (size_t)1 << b->log2 : n;

    for (size_t at = 0; at < n; at += length) {
        const float scale = b->scale ? gcb_load_f32(scales + (at >> b->log2) * b->scale) : 1.0f;

        for (size_t i = at; i < n && i < at + length; i++)
            x[i] = book[code[i]] * scale;
    }
}

/* ---- book=uniform ---- */

/* What the parallel tasks of book=uniform share. */
struct job {
    const struct codebook *s;
    const float *from;
    uint8_t *codes;
    struct gcb_bins bins;
    int64_t parts[GCB_BOOK];  /* distances to the middle of each bin, added up (GCB_BIN_PART) */
    uint64_t count[GCB_BOOK]; /* number of elements in each bin */
};

static void sum_span(void *ctx, uint64_t span)
{
    const struct job *job = ctx;
    const struct codebook *s = job->s;
    const struct gcb_reduce_fns *reduce = &s->k.b.base.env.kernels->reduce;
    const uint64_t end = span * GCB_SPAN + gcb_span_length(s->k.b.base.env.count, span);

    for (uint64_t i = span * GCB_SPAN; i < end; i += GCB_SUM_BLOCK) {
        const size_t n = end - i < GCB_SUM_BLOCK ? end - i : GCB_SUM_BLOCK;

        s->sums[2 * (i / GCB_SUM_BLOCK)] = reduce->sum(job->from + i, n);
        s->sums[2 * (i / GCB_SUM_BLOCK) + 1] = reduce->sum_sq(job->from + i, n);
    }
}

static void bin_span(void *ctx, uint64_t span)
{
    struct job *job = ctx;
    const struct gcb_codec_env *env = &job->s->k.b.base.env;
    const uint64_t end = span * GCB_SPAN + gcb_span_length(env->count, span);
    uint16_t code[GCB_TILE];
    int64_t parts[GCB_BOOK] = {0};
    uint64_t count[GCB_BOOK] = {0};

    for (uint64_t i = span * GCB_SPAN; i < end; i += GCB_TILE) {
        const size_t n = gcb_tile_length(end, i);

        env->kernels->block.bins(code, parts, count, job->from + i, n, &job->bins);
        env->kernels->bitpack.pack(job->codes + i, code, n, 8);
    }
    for (size_t c = 0; c < GCB_BOOK; c++) {
        __atomic_fetch_add(&job->parts[c], parts[c], __ATOMIC_RELAXED);
        __atomic_fetch_add(&job->count[c], count[c], __ATOMIC_RELAXED);
    }
}

static int encode_uniform(struct codebook *s, const struct gcb_view *in, uint8_t *out)
{
    const struct gcb_codec_env *env = &s->k.b.base.env;
    struct job job = {.s = s, .from = in->data, .codes = out + s->k.b.head};
    double sum = 0.0, sum_sq = 0.0;

    gcb_parallel(env->queue, gcb_span_count(env->count), sum_span, &job);
    for (uint64_t i = 0; i < sum_block_count(s); i++) {
        sum += s->sums[2 * i];
        sum_sq += s->sums[2 * i + 1];
    }
    s->k.b.base.nonfinite = !isfinite(sum_sq);
    if (!(sum_sq < GCB_BINS_MOST))
        return GCB_E_SEND_RAW;
    job.bins = gcb_bins_of(sum, sum_sq, env->count, GCB_BOOK);
    gcb_parallel(env->queue, gcb_span_count(env->count), bin_span, &job);
    for (uint32_t c = 0; c < GCB_BOOK; c++)
        gcb_store_f32(out + c * sizeof(float),
                      gcb_bin_mean(&job.bins, c, job.parts[c], job.count[c]));
    return 0;
}

static bool open_book(struct gcb_blocks *b, const uint8_t *head)
{
    struct codebook *s = (struct codebook *)b;
    bool finite = true;

    for (size_t c = 0; c < GCB_BOOK; c++) {
        s->book[c] = gcb_load_f32(head + c * sizeof(float));
        finite &= gcb_magnitude(s->book[c]) < GCB_INF_BITS;
    }
    return finite;
}

/* ---- the codec ---- */

static const struct gcb_blocks_ops block_ops = {
    .encode = encode_tile,
    .open = open_book,
    .valid = valid_scale,
    .decode = decode_tile,
};

static void codebook_fini(void *state)
{
    struct codebook *s = state;

    gcb_free(s->cells);
    gcb_free(s->sums);
}

static int codebook_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct codebook *s = state;
    const int err = gcb_books_bind(&s->k, diag);

    s->k.b.ops = &block_ops;
    s->k.b.base.sees_nonfinite = true;
    for (uint32_t c = 0; c < GCB_BOOK; c++)
        s->book[c] = gcb_dynamic_value(c);
    if (err || env->decoding)
        return err;
    if (s->k.book == GCB_BOOK_DYNAMIC) {
        s->cells = gcb_alloc_array(2 * GCB_CELLS, sizeof(*s->cells));
        if (!s->cells)
            return gcb_diag_nomem(diag, 2 * GCB_CELLS * sizeof(*s->cells), "the book");
        gcb_book_cells(s->cells);
        return 0;
    }
    s->sums = gcb_alloc_array(2 * sum_block_count(s), sizeof(double));
    return s->sums ? 0 : gcb_diag_nomem(diag, 2 * sum_block_count(s) * sizeof(double), "sums");
}

static int codebook_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                           struct gcb_wbuf *out)
{
    struct codebook *s = state;
    uint8_t *payload;

    if (s->k.book == GCB_BOOK_DYNAMIC)
        return gcb_blocks_encode(state, at, in, out);
    payload = gcb_wbuf_take(out, s->k.b.base.max_payload);
    return payload ? encode_uniform(s, in, payload) : GCB_E_NOSPACE;
}

static const char *codebook_rule(const double *value)
{
    return value[0] == GCB_BOOK_DYNAMIC ? "dynamic" : NULL;
}

static int codebook_check(const double *value, struct gcb_diag *diag)
{
    return value[0] == GCB_BOOK_DYNAMIC ? gcb_blocks_check((uint64_t)value[1], diag) : 0;
}

static const char *const book_names[] = {"dynamic", "uniform", NULL};

/* The functions above read value[0] and value[1]. */
static const struct gcb_param codebook_params[] = {
    {GCB_PARAM("book", CHOICE, struct gcb_books, book), .choices = book_names,
     .help = "the values: decades of a block's largest, or means of bins by standard deviation",
     .flags = GCB_PARAM_WIRE},
    {GCB_PARAM("block", SIZE, struct gcb_books, block),
     .help = "elements of a block, a power of two", .def = 4096, .min = GCB_BLOCK_LEAST,
     .max = GCB_BLOCK_MOST, .flags = GCB_PARAM_WIRE, .needs = "book=dynamic"},
    {.name = NULL},
};

static const struct gcb_codec_ops codebook_ops = {
    .state_size = sizeof(struct codebook),
    .init = codebook_init,
    .fini = codebook_fini,
    .encode = codebook_encode,
    .read = gcb_blocks_read,
    .describe = gcb_blocks_describe,
};

#define GUARANTEE \
    "dynamic: at most 0.0071 of the block's largest magnitude, and |x|; uniform: a bin's width, " \
    "6/256 of the standard deviation, within three of them"

static const struct gcb_preset codebook_presets[] = {
    {.name = "blockwise8",
     .summary = "the nearest of 256 values in seven decades of a block's largest",
     .source = "Dettmers et al., ICLR 2022 (8-bit Optimizers), section 2; torchao 0.18",
     .defaults = "book=dynamic,block=4096",
     .guarantee = GUARANTEE},
    {.name = "uniform8",
     .summary = "256 bins over six standard deviations, each replaced by its mean",
     .source = "hivemind 1.1.12, Uniform8BitQuantization; INTELLECT-1, arXiv 2412.01152",
     .defaults = "book=uniform",
     .guarantee = GUARANTEE},
    {.name = NULL},
};

const struct gcb_codec gcb_codec_codebook = {
    .name = "codebook",
    .summary = "8-bit codes for the values of a book: dynamic, or means of bins",
    .source = "Dettmers et al., ICLR 2022 (8-bit Optimizers); hivemind 1.1.12",
    .guarantee = GUARANTEE,
    .error_rule_of = codebook_rule,
    .wire_id = 15,
    .params = codebook_params,
    .check = codebook_check,
    .ops = &codebook_ops,
    .collectives = GCB_COLLECTIVES_DENSE,
    .presets = codebook_presets,
};
