#include <inttypes.h>

#include "kernels/philox/philox_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/sparse/select.h"

/*
 * Count sketch (Charikar, Chen, Farach-Colton, ICALP 2002), as FetchSGD uses it (Rothchild et al.,
 * ICML 2020): a table of a few rows. In each row, a hash adds every element, with a random sign, to
 * one cell. An element's estimate is the median over the rows of its cell times its sign. The k
 * largest estimates are kept.
 *
 * The hashes are the same in each step and for all workers. So the sum of tables is the table of
 * the summed tensors. A large element of the sum is found even if it is small in every summand.
 *
 * Payload: the key of the hashes (8 bytes), k (8 bytes), then the cells (float32), row by row.
 */
#define MOST_ROWS 31
#define ROWS_APART 64            /* by which a row's Philox counter grows every 2^32 elements */
#define MOST_COLUMNS 0x7fffffffu /* a hash has 31 bits, besides the bit of the sign */
/* most cells of a table whose rows have more columns than the tensor has elements */
#define MOST_SPARE 0x100000u
#define HEAD (2 * sizeof(uint64_t)) /* bytes before the cells */

struct countsketch {
    struct gcb_codec_base base;

    /* set from countsketch_params */
    uint64_t rows;
    double cells;   /* cells for each element */
    uint64_t asked; /* columns; 0: from `cells` */
    double theta;

    uint64_t columns, k, key; /* encoder: columns of the table, estimates kept, key of the hashes */
    float *table;             /* scratch of an encoder that makes messages */
};

static uint64_t choose_columns(const struct countsketch *s)
{
    const double columns = rint(s->cells * (double)s->base.env.count / (double)s->rows);

    if (s->base.env.count == 0)
        return 0;
    if (s->asked)
        return s->asked;
    return columns < 1.0 ? 1 : columns > MOST_COLUMNS ? MOST_COLUMNS : (uint64_t)columns;
}

static uint64_t cells_of(const struct countsketch *s)
{
    return s->rows * s->columns;
}

static int countsketch_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct countsketch *s = state;
    const uint64_t spare = MOST_SPARE / s->rows, most = env->count > spare ? env->count : spare;

    s->columns = choose_columns(s);
    s->k = gcb_kept_of(1.0 - s->theta, env->count);
    s->base.max_payload = HEAD + cells_of(s) * sizeof(float);
    s->base.may_send_raw = true; /* a cell may overflow */
    if (env->count)
        s->base.nominal_bits = 32.0 * (double)cells_of(s) / (double)env->count;
    s->base.rounds = 1;
    s->base.round[0] = (struct gcb_reduce_round){GCB_SUM_F32, cells_of(s)};
    if (env->decoding)
        return 0;
    if (s->columns > most)
        return gcb_invalid(diag, "columns=%" PRIu64 ": use at most %" PRIu64 " for this tensor",
                           s->columns, most);
    s->key = gcb_draw_stream(env, &(struct gcb_step){.step = 0}, GCB_DRAW_HASHES) ^ env->seed;
    if (env->workers) /* an exchange passes its own table to contribute */
        return 0;
    s->table = gcb_alloc_array(cells_of(s), sizeof(*s->table));
    return s->table ? 0 : gcb_diag_nomem(diag, cells_of(s) * sizeof(*s->table), "a sketch");
}

static void countsketch_fini(void *state)
{
    gcb_free(((struct countsketch *)state)->table);
}

/* ---- hashes ---- */

struct hash {
    uint64_t key, columns;
};

/*
 * Hashes elements first to first + n - 1 for a row. column[j]: where element first + j is added.
 * sign[j]: its sign, as the sign bit of a float. The upper halves of all 64-bit indices are equal.
 * The hash of the lower half is lowbias32 (Wellons), with two random words mixed in.
 */
static void hash_tile(const struct hash *h, uint64_t row, uint64_t first, size_t n,
                      uint32_t *restrict column, uint32_t *restrict sign)
{
    const struct gcb_philox_block b = gcb_philox(h->key, (first >> 32) * ROWS_APART + row, 0);
    const uint32_t low = (uint32_t)first, before = b.word[0], between = b.word[1];
    const uint64_t columns = h->columns;

    for (size_t j = 0; j < n; j++) {
        uint32_t x = (low + (uint32_t)j) ^ before;

        x = (x ^ x >> 16) * 0x7feb352du;
        x ^= x >> 15 ^ between;
        x *= 0x846ca68bu;
        x ^= x >> 16;
        column[j] = (uint32_t)((x >> 1) * columns >> 31);
        sign[j] = x << 31;
    }
}

/* ---- the table ---- */

/* What parallel tasks share. The words before the colons name the tasks that use a field. */
struct job {
    const struct gcb_codec_env *env;
    struct hash hash;
    uint64_t rows;
    const float *x;       /* sketch: the tensor */
    float *table;         /* sketch: its table */
    const uint8_t *cells; /* estimate: the table, as float32 at any address */
    float *out;           /* estimate, drop: an estimate for each element */
    uint32_t threshold;   /* drop: the k-th largest magnitude, as the bits of a float */
    uint64_t ties;        /* drop: counts the elements whose magnitude is `threshold` */
};

static struct job make_job(const struct countsketch *s)
{
    return (struct job){
        .env = &s->base.env, .hash = {.key = s->key, .columns = s->columns}, .rows = s->rows};
}

/* Makes a row of the table. One task adds all elements of a row, so the order of the additions does
 * not depend on the number of threads. */
static void sketch_row(void *ctx, uint64_t row)
{
    const struct job *job = ctx;
    float *table = job->table + row * job->hash.columns;
    uint32_t column[GCB_TILE], sign[GCB_TILE];

    memset(table, 0, job->hash.columns * sizeof(*table));
    for (uint64_t i = 0; i < job->env->count; i += GCB_TILE) {
        const size_t n = gcb_tile_length(job->env->count, i);
        const float *x = job->x + i;

        hash_tile(&job->hash, row, i, n, column, sign);
        for (size_t j = 0; j < n; j++)
            table[column[j]] += gcb_float_of(gcb_bits_of(x[j]) ^ sign[j]);
    }
}

static void make_table(const struct countsketch *s, const float *x, float *table)
{
    struct job job = make_job(s);

    job.x = x;
    job.table = table;
    if (s->columns)
        gcb_parallel(s->base.env.queue, s->rows, sketch_row, &job);
}

/* Returns the largest magnitude of a cell, as the bits of a float. */
static uint32_t largest_cell(const struct countsketch *s, const float *table)
{
    return gcb_max_bits(table, cells_of(s), s->base.env.kernels, s->base.env.queue);
}

/* ---- estimates ---- */

static inline float min_of(float a, float b)
{
    return a < b ? a : b;
}

static inline float max_of(float a, float b)
{
    return a > b ? a : b;
}

static inline float median_of_3(float a, float b, float c)
{
    return max_of(min_of(a, b), min_of(max_of(a, b), c));
}

/* The median of v[0..rows), or the mean of the two middle values if `rows` is even. Sorts v. */
static float median(float *v, uint64_t rows)
{
    for (uint64_t i = 1; i < rows; i++) {
        const float x = v[i];
        uint64_t j = i;

        for (; j > 0 && v[j - 1] > x; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
    return rows % 2 ? v[rows / 2] : 0.5f * v[rows / 2 - 1] + 0.5f * v[rows / 2];
}

/* The lowest and the highest of a to d cannot be the median of five, so the median of the other
 * three is. */
static inline float median_of_5(float a, float b, float c, float d, float e)
{
    return median_of_3(max_of(min_of(a, b), min_of(c, d)), min_of(max_of(a, b), max_of(c, d)), e);
}

#define SMALL_TILE 1024 /* so that a tile of five rows fits the first-level cache */
typedef float cell_tile[SMALL_TILE];

/* out[j] = the median of column j of `cell`, for j < n. Only one of the three loops runs; those for
 * 3 and 5 rows have no branches, so the compiler can use vectors. Adding 0 turns -0 into +0. */
static void take_medians(cell_tile *cell, uint64_t rows, float *out, size_t n)
{
    float v[MOST_ROWS];

    for (size_t j = 0; rows == 3 && j < n; j++)
        out[j] = median_of_3(cell[0][j], cell[1][j], cell[2][j]) + 0.0f;
    for (size_t j = 0; rows == 5 && j < n; j++)
        out[j] = median_of_5(cell[0][j], cell[1][j], cell[2][j], cell[3][j], cell[4][j]) + 0.0f;
    for (size_t j = 0; rows != 3 && rows != 5 && j < n; j++) {
        for (uint64_t r = 0; r < rows; r++)
            v[r] = cell[r][j];
        out[j] = median(v, rows) + 0.0f;
    }
}

/* Computes the estimates of a span's elements from job->cells. */
static void estimate_span(void *ctx, uint64_t span)
{
    const struct job *job = ctx;
    const uint64_t end = span * GCB_SPAN + gcb_span_length(job->env->count, span);
    uint32_t column[SMALL_TILE], sign[SMALL_TILE];
    cell_tile cell[MOST_ROWS];

    for (uint64_t i = span * GCB_SPAN; i < end; i += SMALL_TILE) {
        const size_t n = end - i < SMALL_TILE ? (size_t)(end - i) : SMALL_TILE;

        for (uint64_t r = 0; r < job->rows; r++) {
            const uint8_t *row = job->cells + r * job->hash.columns * sizeof(float);

            hash_tile(&job->hash, r, i, n, column, sign);
            for (size_t j = 0; j < n; j++)
                cell[r][j] = gcb_float_of(gcb_load_u32(row + column[j] * sizeof(float)) ^ sign[j]);
        }
        take_medians(cell, job->rows, job->out + i, n);
    }
}

/* Sets the elements of a span whose magnitude is below the threshold to 0, and counts those whose
 * magnitude equals the threshold. */
static void drop_span(void *ctx, uint64_t span)
{
    struct job *job = ctx;
    const uint64_t n = gcb_span_length(job->env->count, span);
    float *x = job->out + span * GCB_SPAN;
    uint64_t ties = 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint32_t m = gcb_magnitude(x[i]);

        ties += m == job->threshold;
        x[i] = m < job->threshold ? 0.0f : x[i];
    }
    __atomic_fetch_add(&job->ties, ties, __ATOMIC_RELAXED);
}

/* Keeps the k largest magnitudes of `x`; among equal magnitudes, those with the lower index. Sets
 * all other elements to 0. `x` is job->out. */
static void keep_largest(struct job *job, float *x, uint64_t k)
{
    const uint64_t n = job->env->count;
    uint64_t above;

    if (k >= n)
        return;
    job->threshold = gcb_select_kth(job->env->kernels, x, n, k, &above);
    gcb_parallel(job->env->queue, gcb_span_count(n), drop_span, job);
    /* drops elements that equal the threshold, from the last one on, until k are left */
    for (uint64_t i = n; job->ties > k - above; i--)
        if (gcb_magnitude(x[i - 1]) == job->threshold) {
            x[i - 1] = 0.0f;
            job->ties--;
        }
}

/* Writes the k largest estimates to `out`, and 0 elsewhere. */
static void decode_table(struct job *job, const void *cells, uint64_t k, float *out)
{
    job->cells = cells;
    job->out = out;
    gcb_parallel(job->env->queue, gcb_span_count(job->env->count), estimate_span, job);
    keep_largest(job, out, k);
}

/* ---- messages ---- */

static int countsketch_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                              struct gcb_wbuf *out)
{
    const struct countsketch *s = state;
    uint8_t *cells;

    gcb_put_u64(out, s->key);
    gcb_put_u64(out, s->k);
    cells = gcb_wbuf_take(out, cells_of(s) * sizeof(float));
    if (!cells)
        return GCB_E_NOSPACE;
    make_table(s, in->data, s->table);
    if (largest_cell(s, s->table) >= GCB_INF_BITS)
        return GCB_E_SEND_RAW;
    if (cells_of(s))
        memcpy(cells, s->table, cells_of(s) * sizeof(float));
    return 0;
}

static int countsketch_read(void *state, struct gcb_rbuf *in, float *out,
                            const struct gcb_addition *to)
{
    const struct countsketch *s = state;
    const uint64_t n = s->base.env.count, key = gcb_get_u64(in), k = gcb_get_u64(in);
    const size_t bytes = gcb_rbuf_left(in), row = s->rows * sizeof(float);
    const uint8_t *cells = gcb_rbuf_take(in, bytes);
    struct job job = make_job(s);

    if (to)
        return GCB_E_UNSUPPORTED;
    if (!cells || bytes % row || bytes / row > MOST_COLUMNS || k > n)
        return GCB_E_CORRUPT;
    if ((n > 0) != (bytes > 0) || (n > 0) != (k > 0)) /* only an empty tensor has no cells */
        return GCB_E_CORRUPT;
    for (size_t i = 0; i < bytes; i += sizeof(float))
        if ((gcb_load_u32(cells + i) & GCB_MAGNITUDE_MASK) >= GCB_INF_BITS)
            return GCB_E_CORRUPT;
    job.hash = (struct hash){.key = key, .columns = bytes / row};
    decode_table(&job, cells, k, out);
    return 0;
}

static int countsketch_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    gcb_rbuf_take(in, HEAD);
    parts->scale_bytes = HEAD;
    parts->value_bytes = gcb_rbuf_left(in);
    /* the positions of a sketch are its cells, and all cells are sent */
    parts->kept = parts->positions = parts->value_bytes / sizeof(float);
    parts->entropy0_bits = 8.0 * (double)parts->value_bytes;
    return 0;
}

/* ---- all-reduce: the sum of the tables ---- */

static int countsketch_contribute(void *state, const struct gcb_reduce_at *at, unsigned round,
                                  const float *x, void *values)
{
    const struct countsketch *s = state;

    make_table(s, x, values);
    gcb_weigh(values, values, at->weight, cells_of(s), s->base.env.queue);
    return largest_cell(s, values) <= gcb_bits_of(GCB_SUMMAND_MOST) ? 0 : GCB_E_SEND_RAW;
}

/* Nobody can tell which part of the update came from which worker. So each worker counts an equal
 * share of the update as sent. */
static void countsketch_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                                 const void *combined, float *update, float *own)
{
    const struct countsketch *s = state;
    float *out = update ? update : own;
    struct job job = make_job(s);

    if (!out)
        return;
    decode_table(&job, combined, s->k, out);
    if (own)
        gcb_unweigh(own, out, at->total, s->base.env.count, s->base.env.queue);
}

static const struct gcb_reduce_ops countsketch_reduce = {
    .rounds = 1,
    .contribute = countsketch_contribute,
    .conclude = countsketch_conclude,
    .conserves = true,
    .adds_whole = true,
};

/* ---- about the method ---- */

static const struct gcb_param countsketch_params[] = {
    {GCB_PARAM("cells", REAL, struct countsketch, cells),
     .help = "cells of the table for each element of the tensor", .def = 0.2, .min = 1e-6, .max = 1,
     .flags = GCB_PARAM_LABEL, .rate = GCB_RATE_UP},
    {GCB_PARAM("rows", INT, struct countsketch, rows),
     .help = "rows of the table; an element has a cell in each", .def = 5, .min = 1,
     .max = MOST_ROWS, .flags = GCB_PARAM_WIRE},
    {GCB_PARAM("columns", SIZE, struct countsketch, asked),
     .help = "columns of the table; 0: as many as `cells` allows", .max = MOST_COLUMNS},
    {.name = "theta",
     .help = "share of estimates dropped",
     .type = GCB_PARAM_REAL,
     .offset = offsetof(struct countsketch, theta),
     .def = 0.999,
     .max = 1,
     .flags = GCB_PARAM_LABEL | GCB_PARAM_OPEN_MAX,
     .complement = {"density", "p"}},
    {.name = NULL},
};

static const struct gcb_codec_ops countsketch_ops = {
    .state_size = sizeof(struct countsketch),
    .init = countsketch_init,
    .fini = countsketch_fini,
    .encode = countsketch_encode,
    .read = countsketch_read,
    .describe = countsketch_describe,
};

const struct gcb_codec gcb_codec_countsketch = {
    .name = "countsketch",
    .summary = "the largest elements of the sum, estimated from summed sketches",
    .source = "Charikar et al., ICALP 2002; Rothchild et al., ICML 2020 (FetchSGD)",
    .guarantee = "one row, theta=0: unbiased, E||x - x'||^2 = (n - 1)/columns ||x||^2",
    .wire_id = 11,
    .cpu_only = true,
    .caps = GCB_CAP_NO_CONTRACTION,
    .params = countsketch_params,
    .ops = &countsketch_ops,
    .reduce = &countsketch_reduce,
    .collective = GCB_COLLECTIVE_ALLREDUCE,
};
