#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/lowrank/blas.h"
#include "src/lib/lowrank/matrix.h"
#include "src/lib/lowrank/tiles.h"

/*
 * PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019, algorithm 1): one step of power iteration. M
 * is the tensor as a matrix (src/lib/lowrank/matrix.h). P = M Q; P is made orthonormal; Q = M^T P;
 * the tensor becomes P Q^T. In an all-reduce, the P and the Q of all workers are added up, so all
 * workers factor the sum of their tensors. With start=warm, a step begins with the last step's Q;
 * otherwise with random draws.
 *
 * A tensor is sent whole if it is no matrix, or if its factors would not be shorter.
 *
 * Payload: number of columns of M (uint32), then P and Q (float32).
 *
 * With tile=, each tile is a matrix of its own, and its factors are rounded
 * (src/lib/lowrank/tiles.h). So they cannot be added up. Payload: number of bytes of the parts
 * (uint32), the parts (src/lib/codec/parts.h), the vectors.
 */
#define RANK_MOST 1024
/* The largest element of a worker's Q and, in an all-reduce, of its P. So no sum of them, and no
 * element of P Q^T, overflows. */
#define LARGEST GCB_SUMMAND_MOST
#define DRAW_BYTES 4096 /* random bytes that are drawn at a time */

enum { START_WARM, START_COLD };

struct powersgd {
    struct gcb_codec_base base;

    /* set from powersgd_params */
    uint64_t rank_wanted;
    int start;
    uint64_t tile, factor_bits;
    double budget; /* bits per element; 0: all vectors are sent */

    bool dense; /* the tensor is sent whole */
    struct gcb_factors f;
    float *first; /* the Q with which a step begins; orthonormal, except with tiles */
    float *p, *q; /* a step's factors, except with tiles; q is NULL in an exchange */
    float *kept;  /* the last step's Q; a vector that is zero is drawn anew */
    double *work; /* scratch of gcb_orthonormalise */
    float *read;  /* decoder: the factors of a payload, at most env.count floats */
    struct gcb_tiles t;
    float *gain;     /* gains of the tiles' vectors (struct gcb_tile_factors) */
    uint8_t *record; /* all vectors of tiles, as in a message */
    /* Encoder of messages: if `begun`, `first` is the Q with which step and worker `at` begin.
     * Encoding the same step again begins with this Q again. */
    bool begun;
    struct gcb_step at;
};

static uint64_t p_floats(const struct gcb_factors *f)
{
    return f->rank * f->m.rows;
}

static uint64_t q_floats(const struct gcb_factors *f)
{
    return f->rank * f->m.cols;
}

/* Floats of the Q that an encoder keeps. */
static uint64_t first_floats(const struct powersgd *s)
{
    return s->tile ? s->t.q_floats : q_floats(&s->f);
}

static unsigned rank_of(const struct powersgd *s, const struct gcb_matrix *m)
{
    const uint64_t side = m->rows < m->cols ? m->rows : m->cols;

    return (unsigned)(s->rank_wanted < side ? s->rank_wanted : side);
}

static void powersgd_fini(void *state)
{
    struct powersgd *s = state;

    gcb_free(s->first);
    gcb_free(s->p);
    gcb_free(s->q);
    gcb_free(s->kept);
    gcb_free(s->work);
    gcb_free(s->read);
    gcb_tiles_drop(&s->t);
    gcb_free(s->gain);
    gcb_free(s->record);
}

/* Sets the sizes of an encoder's messages and rounds. */
static void set_sizes(struct powersgd *s)
{
    const uint64_t count = s->base.env.count;
    const uint64_t floats = s->dense ? count : p_floats(&s->f) + q_floats(&s->f);

    s->base.max_payload = sizeof(uint32_t) + floats * sizeof(float);
    s->base.nominal_bits = count ? 32.0 * (double)floats / (double)count : 32.0;
    s->base.rounds = s->dense ? 1 : 2;
    s->base.round[0] = (struct gcb_reduce_round){GCB_SUM_F32, s->dense ? count : p_floats(&s->f)};
    s->base.round[1] = (struct gcb_reduce_round){GCB_SUM_F32, q_floats(&s->f)};
}

/* Writes the parts of an encoder's tensors and makes the tiles. If no shape is known, each tile has
 * consecutive elements of the message, and those after the last whole tile are a vector. */
static int find_tiles(struct powersgd *s)
{
    struct gcb_codec_env env = s->base.env;
    const uint64_t width = gcb_tile_cols(s->tile), height = gcb_tile_rows(s->tile);
    const uint64_t rows = env.count / (height * width) * height;
    const uint64_t joined[] = {2, rows, width, 1, env.count - rows * width};
    struct gcb_wbuf wire;
    int err = GCB_E_NOMEM;

    if (!env.shape && !env.joined) {
        env.joined = joined;
        env.joined_length = sizeof(joined) / sizeof(*joined);
    }
    wire = (struct gcb_wbuf){.cap = gcb_parts_bound(&env)};
    wire.data = gcb_alloc_array(wire.cap + 1, 1);
    if (wire.data) {
        gcb_parts_write(&wire, &env, s->tile);
        err = gcb_tiles_make(&s->t, wire.data, wire.len, UINT64_MAX);
    }
    gcb_free(wire.data);
    return err;
}

static int init_tiles(struct powersgd *s, struct gcb_diag *diag)
{
    const struct gcb_codec_env *env = &s->base.env;
    struct gcb_tiles *t = &s->t;
    int err;

    *t = (struct gcb_tiles){
        .env = env, .tile = s->tile, .rank = s->rank_wanted, .bits = (unsigned)s->factor_bits};
    if (env->decoding)
        return 0;
    err = find_tiles(s);
    if (err == GCB_E_CORRUPT)
        return gcb_invalid(diag, "the tensors' shapes have another number of elements");
    s->dense = env->count == 0;
    s->base.max_payload = sizeof(uint32_t) + t->wire_bytes + t->bytes + 2 * t->tiles;
    s->base.length_varies = true;
    s->base.nominal_bits =
        s->budget > 0.0 || s->dense ? s->budget : 8.0 * (double)t->bytes / (double)env->count;
    s->first = gcb_alloc_zero(t->q_floats, sizeof(float));
    s->kept = gcb_alloc_zero(t->q_floats, sizeof(float));
    s->gain = gcb_alloc_array(t->vectors, sizeof(float));
    s->record = gcb_alloc_array(t->bytes, 1);
    if (err || !s->first || !s->kept || !s->gain || !s->record)
        return gcb_diag_nomem(diag, t->bytes + 2 * t->q_floats * sizeof(float), "factors");
    return 0;
}

static int powersgd_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct powersgd *s = state;
    const uint64_t cols = env->decoding ? 0 : gcb_matrix_columns(env);
    uint64_t longest;

    s->base.may_send_raw = true;
    if (s->tile)
        return init_tiles(s, diag);
    s->f.queue = env->queue;
    if (env->decoding) {
        s->read = gcb_alloc_array(env->count, sizeof(float));
        return s->read ? gcb_blas_open(env->queue->threads, diag)
                       : gcb_diag_nomem(diag, env->count * sizeof(float), "factors");
    }
    if (cols) {
        s->f.m = gcb_matrix_of(env->count, cols);
        s->f.rank = rank_of(s, &s->f.m);
    }
    s->dense = cols == 0 || p_floats(&s->f) + q_floats(&s->f) >= env->count;
    set_sizes(s);
    if (s->dense)
        return 0;
    longest = s->f.m.rows > s->f.m.cols ? s->f.m.rows : s->f.m.cols;
    s->first = gcb_alloc_zero(q_floats(&s->f), sizeof(float));
    s->p = gcb_alloc_array(p_floats(&s->f), sizeof(float));
    if (!env->workers) /* an exchange passes its own array to contribute */
        s->q = gcb_alloc_array(q_floats(&s->f), sizeof(float));
    s->kept = gcb_alloc_zero(q_floats(&s->f), sizeof(float));
    s->work = gcb_alloc_array(s->f.rank * longest, sizeof(double));
    if (!s->first || !s->p || (!s->q && !env->workers) || !s->kept || !s->work)
        return gcb_diag_nomem(diag, s->f.rank * longest * 5 * sizeof(float), "factors");
    return gcb_blas_open(env->queue->threads, diag);
}

/* ---- the Q that a step begins with ---- */

#define MEAN_OF_DRAW 510.0f /* of a sum of four random bytes */

/* Draws vector v of Q: sums of four random bytes minus their mean, about Gaussian. All workers draw
 * the same vector. */
static void draw(const struct powersgd *s, float *to, unsigned v, uint64_t step)
{
    const uint64_t stream =
        gcb_draw_stream(&s->base.env, &(struct gcb_step){.step = step}, GCB_DRAW_VECTORS + v);
    const uint64_t n = s->f.m.cols;
    uint8_t byte[DRAW_BYTES];

    for (uint64_t i = 0; i < n; i += DRAW_BYTES / 4) {
        const uint64_t left = n - i, m = left < DRAW_BYTES / 4 ? left : DRAW_BYTES / 4;

        s->base.env.kernels->philox.bytes(byte, m * 4, s->base.env.seed, i * 4, stream);
        for (uint64_t k = 0; k < m; k++)
            to[i + k] = (float)(byte[4 * k] + byte[4 * k + 1] + byte[4 * k + 2] + byte[4 * k + 3]) -
                        MEAN_OF_DRAW;
    }
}

/* Sets `first`. With tiles, gcb_tiles_factor will draw the vectors that are zero: all vectors with
 * start=cold. */
static void begin_step(struct powersgd *s, uint64_t step)
{
    const bool warm = s->start == START_WARM;
    const uint64_t n = s->f.m.cols;

    if (s->tile) {
        if (warm)
            memcpy(s->first, s->kept, s->t.q_floats * sizeof(float));
        return;
    }
    for (unsigned v = 0; v < s->f.rank; v++) {
        const bool is_zero = s->base.env.kernels->reduce.max_bits(s->kept + v * n, n) == 0;

        if (warm && !is_zero)
            memcpy(s->first + v * n, s->kept + v * n, n * sizeof(float));
        else
            draw(s, s->first + v * n, v, warm ? 0 : step);
    }
    gcb_orthonormalise(s->first, s->f.rank, n, s->work);
}

static void end_step(struct powersgd *s, const float *q)
{
    memcpy(s->kept, q, q_floats(&s->f) * sizeof(float));
}

/* ---- the products ---- */

/* True if no magnitude is above LARGEST, and none is NaN. */
static bool are_small(const struct powersgd *s, const float *factor, uint64_t n)
{
    return s->base.env.kernels->reduce.max_bits(factor, n) <= gcb_bits_of(LARGEST);
}

static void make_p(struct powersgd *s, float *p, float weight, const float *x)
{
    gcb_blas_begin();
    gcb_matrix_to_p(&s->f, p, weight, x, s->first);
    gcb_blas_end();
}

/* Makes Q from s->p. Returns false if an element's magnitude exceeds LARGEST or is NaN. */
static bool make_q(struct powersgd *s, float *q, float weight, const float *x)
{
    gcb_blas_begin();
    gcb_matrix_to_q(&s->f, q, weight, x, s->p);
    gcb_blas_end();
    return are_small(s, q, q_floats(&s->f));
}

static void rebuild(const struct gcb_factors *f, float *out, const float *p, const float *q)
{
    gcb_blas_begin();
    gcb_matrix_rebuild(f, out, p, q);
    gcb_blas_end();
}

/* ---- messages ---- */

/* Begins a step, unless this step of this worker has begun already. After a change of the worker or
 * a step back, begins as in a new encoder. */
static void choose_start(struct powersgd *s, const struct gcb_step *at)
{
    const bool same_worker = s->begun && at->worker == s->at.worker;

    if (same_worker && at->step == s->at.step)
        return;
    if (!same_worker || at->step < s->at.step)
        memset(s->kept, 0, first_floats(s) * sizeof(float));
    begin_step(s, at->step);
    s->begun = true;
    s->at = *at;
}

static int encode_tiles(struct powersgd *s, const float *x, struct gcb_wbuf *out)
{
    const struct gcb_codec_env *env = &s->base.env;
    const struct gcb_tile_factors f = {.first = s->first,
                                       .at.step = s->start == START_WARM ? 0 : s->at.step,
                                       .kept = s->kept,
                                       .record = s->record,
                                       .gain = s->gain};
    const double budget = s->budget / 8.0 * (double)env->count;
    const uint64_t head = sizeof(uint32_t) + s->t.wire_bytes;

    if (env->kernels->reduce.max_bits(x, env->count) > gcb_bits_of(0x1p90f))
        return GCB_E_SEND_RAW;
    gcb_tiles_factor(&s->t, &f, x);
    gcb_put_u32(out, (uint32_t)s->t.wire_bytes);
    gcb_put(out, s->t.wire, s->t.wire_bytes);
    gcb_tiles_put(&s->t, &f,
                  s->budget <= 0.0        ? UINT64_MAX
                  : budget > (double)head ? (uint64_t)budget - head
                                          : 0,
                  out);
    return out->failed ? GCB_E_NOSPACE : 0;
}

static int powersgd_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                           struct gcb_wbuf *out)
{
    struct powersgd *s = state;

    if (s->dense)
        return GCB_E_SEND_RAW;
    choose_start(s, at);
    if (s->tile)
        return encode_tiles(s, in->data, out);
    make_p(s, s->p, 1.0f, in->data);
    if (s->base.env.kernels->reduce.max_bits(s->p, p_floats(&s->f)) >= GCB_INF_BITS)
        return GCB_E_SEND_RAW;
    gcb_orthonormalise(s->p, s->f.rank, s->f.m.rows, s->work);
    if (!make_q(s, s->q, 1.0f, in->data))
        return GCB_E_SEND_RAW;
    gcb_put_u32(out, (uint32_t)s->f.m.cols);
    gcb_put(out, s->p, p_floats(&s->f) * sizeof(float));
    gcb_put(out, s->q, q_floats(&s->f) * sizeof(float));
    end_step(s, s->q);
    return out->failed ? GCB_E_NOSPACE : 0;
}

/* Reads the number of columns and derives the sizes of P and Q. Returns false unless the rest of
 * the payload has exactly these sizes and is shorter than the tensor. */
static bool read_sizes(struct powersgd *s, struct gcb_rbuf *in)
{
    const uint64_t cols = gcb_get_u32(in), floats = gcb_rbuf_left(in) / sizeof(float);

    if (in->failed || cols == 0 || cols > s->base.env.count || gcb_rbuf_left(in) % sizeof(float))
        return false;
    s->f.m = gcb_matrix_of(s->base.env.count, cols);
    s->f.rank = rank_of(s, &s->f.m);
    return gcb_matrix_fits(&s->f.m) && floats < s->base.env.count &&
           p_floats(&s->f) + q_floats(&s->f) == floats;
}

/* Reads the parts and finds the vectors, which begin at *record. */
static int read_tiles(struct powersgd *s, struct gcb_rbuf *in, const uint8_t **record)
{
    const uint32_t bytes = gcb_get_u32(in);
    const uint8_t *wire = gcb_rbuf_take(in, bytes);
    const int err = wire ? gcb_tiles_make(&s->t, wire, bytes, gcb_rbuf_left(in)) : GCB_E_CORRUPT;

    *record = in->data + in->pos;
    return err ? err : gcb_tiles_find(&s->t, in) ? 0 : GCB_E_CORRUPT;
}

static int powersgd_read(void *state, struct gcb_rbuf *in, float *out,
                         const struct gcb_addition *to)
{
    struct powersgd *s = state;
    const uint8_t *from;
    uint64_t p, floats;
    int err;

    if (to)
        return GCB_E_UNSUPPORTED;
    if (s->tile) {
        err = read_tiles(s, in, &from);
        if (!err)
            gcb_tiles_rebuild(&s->t, from, out);
        return err;
    }
    if (!read_sizes(s, in))
        return GCB_E_CORRUPT;
    p = p_floats(&s->f);
    floats = p + q_floats(&s->f);
    from = gcb_rbuf_take(in, floats * sizeof(float));
    memcpy(s->read, from, floats * sizeof(float));
    /* the vectors of P have length 1; 2 leaves room for rounding */
    if (s->base.env.kernels->reduce.max_bits(s->read, p) > gcb_bits_of(2.0f) ||
        s->base.env.kernels->reduce.max_bits(s->read + p, floats - p) > gcb_bits_of(LARGEST))
        return GCB_E_CORRUPT;
    rebuild(&s->f, out, s->read, s->read + p);
    return 0;
}

static int powersgd_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct powersgd *s = state;
    const uint64_t bytes = gcb_rbuf_left(in);
    const uint32_t first = gcb_get_u32(in);

    parts->scale_bytes = sizeof(uint32_t) + (s->tile ? first : 0);
    if (in->failed || parts->scale_bytes > bytes)
        return GCB_E_CORRUPT;
    parts->value_bytes = bytes - parts->scale_bytes;
    parts->kept = parts->positions = s->base.env.count;
    parts->entropy0_bits = 8.0 * (double)parts->value_bytes;
    return 0;
}

/* ---- checkpoints: step, worker, `begun` and `kept`; `first` too, except in an exchange ---- */

static bool keeps(const struct powersgd *s)
{
    return !s->dense && s->start == START_WARM;
}

static uint64_t kept_floats(const struct powersgd *s)
{
    return (s->base.env.workers ? 1 : 2) * first_floats(s);
}

static uint64_t powersgd_kept_bytes(const void *state)
{
    const struct powersgd *s = state;

    return keeps(s) ? 2 * sizeof(uint64_t) + kept_floats(s) * sizeof(float) : 0;
}

static void powersgd_write(const void *state, struct gcb_wbuf *out)
{
    const struct powersgd *s = state;

    if (!keeps(s))
        return;
    gcb_put_u64(out, s->at.step);
    gcb_put_u32(out, s->at.worker);
    gcb_put_u32(out, s->begun);
    gcb_put(out, s->kept, first_floats(s) * sizeof(float));
    if (!s->base.env.workers)
        gcb_put(out, s->first, first_floats(s) * sizeof(float));
}

static int powersgd_read_kept(void *state, struct gcb_rbuf *in)
{
    struct powersgd *s = state;
    const uint64_t bytes = first_floats(s) * sizeof(float);
    struct gcb_step at;
    const uint8_t *floats;
    uint32_t begun;

    if (!keeps(s))
        return 0;
    if (!in) {
        memset(s->kept, 0, bytes);
        s->begun = false;
        return 0;
    }
    at.step = gcb_get_u64(in);
    at.worker = gcb_get_u32(in);
    begun = gcb_get_u32(in);
    floats = gcb_rbuf_take(in, kept_floats(s) * sizeof(float));
    if (in->failed || begun > 1)
        return GCB_E_MISMATCH;
    for (uint64_t i = 0; i < kept_floats(s); i++)
        if ((gcb_load_u32(floats + i * sizeof(float)) & GCB_MAGNITUDE_MASK) >= GCB_INF_BITS)
            return GCB_E_MISMATCH;
    s->at = at;
    s->begun = begun;
    memcpy(s->kept, floats, bytes);
    if (!s->base.env.workers)
        memcpy(s->first, floats + bytes, bytes);
    return 0;
}

static const struct gcb_kept_ops powersgd_kept_ops = {
    .bytes = powersgd_kept_bytes,
    .write = powersgd_write,
    .read = powersgd_read_kept,
};

/* ---- all-reduce: P, then Q ---- */

static int powersgd_contribute(void *state, const struct gcb_reduce_at *at, unsigned round,
                               const float *x, void *values)
{
    struct powersgd *s = state;

    if (s->dense) {
        gcb_weigh(values, x, at->weight, s->base.env.count, s->base.env.queue);
        return 0;
    }
    if (round == 0) {
        begin_step(s, at->step.step);
        make_p(s, values, at->weight, x);
        return are_small(s, values, p_floats(&s->f)) ? 0 : GCB_E_SEND_RAW;
    }
    return make_q(s, values, at->weight, x) ? 0 : GCB_E_SEND_RAW;
}

static void powersgd_absorb(void *state, unsigned round, const void *combined)
{
    struct powersgd *s = state;

    memcpy(s->p, combined, p_floats(&s->f) * sizeof(float));
    gcb_orthonormalise(s->p, s->f.rank, s->f.m.rows, s->work);
}

/* Nobody can tell which part of the update came from which worker. So each worker counts an equal
 * share of the update as sent. */
static void powersgd_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                              const void *combined, float *update, float *own)
{
    struct powersgd *s = state;
    float *out = update ? update : own;

    if (s->dense) {
        gcb_conclude_whole(s->base.env.count, x, combined, update, own);
        return;
    }
    if (out)
        rebuild(&s->f, out, s->p, combined);
    if (own)
        gcb_unweigh(own, out, at->total, s->base.env.count, s->base.env.queue);
    end_step(s, combined);
}

static const struct gcb_reduce_ops powersgd_reduce = {
    .contribute = powersgd_contribute,
    .absorb = powersgd_absorb,
    .conclude = powersgd_conclude,
    .conserves = true,
    .adds_whole = true,
};

/* ---- about the method ---- */

/* Rows of the table of parameters. */
enum { RANK, START, TILE, FACTOR_BITS, BUDGET };

static bool has_tiles(const double *value)
{
    return (uint64_t)value[TILE] != GCB_TILE_NONE;
}

static unsigned powersgd_caps(const double *value)
{
    return (has_tiles(value) ? 0 : GCB_CAP_LIBRARY_MATH | GCB_CAP_DEVICE_MATH) |
           (value[START] == START_WARM ? GCB_CAP_STATEFUL : 0);
}

static unsigned powersgd_collectives(const double *value)
{
    return has_tiles(value) ? 0 : GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE);
}

static const char *const starts[] = {"warm", "cold", NULL};

static const struct gcb_param powersgd_params[] = {
    [RANK] = {GCB_PARAM("rank", INT, struct powersgd, rank_wanted),
              .help = "columns of P and Q; at most the shorter side of the matrix", .def = 4,
              .min = 1, .max = RANK_MOST, .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL,
              .rate = GCB_RATE_UP},
    [START] = {GCB_PARAM("start", CHOICE, struct powersgd, start),
               .help = "begin a step with the last step's Q, or with random draws",
               .choices = starts},
    [TILE] = {GCB_PARAM("tile", TILE, struct powersgd, tile),
              .help = "what is a matrix: AxB, tiles of each tensor whose sides are the largest "
                      "divisors up to A and B; kernel, a convolution's kernels; none, the tensor",
              .max = GCB_TILE_SIDE << 16 | GCB_TILE_SIDE, .absent = GCB_TILE_NONE,
              .flags = GCB_PARAM_WIRE | GCB_PARAM_ADDED},
    [FACTOR_BITS] = {GCB_PARAM("factor-bits", INT, struct powersgd, factor_bits),
                     .help = "bits of an element of P and Q", .def = 5, .min = 2, .max = 8,
                     .absent = 5, .flags = GCB_PARAM_WIRE | GCB_PARAM_ADDED, .needs = "tile!=none",
                     .rate = GCB_RATE_UP},
    [BUDGET] = {GCB_PARAM("bits-per-element", REAL, struct powersgd, budget),
                .help = "goal for the bits of a message; tiles of one row or column are always "
                        "sent, and an empty tile takes 16 bits; 0: all vectors",
                .max = 32, .needs = "tile!=none|kernel"},
    {.name = NULL},
};

static const struct gcb_codec_ops powersgd_ops = {
    .state_size = sizeof(struct powersgd),
    .init = powersgd_init,
    .fini = powersgd_fini,
    .encode = powersgd_encode,
    .read = powersgd_read,
    .kept_ops = &powersgd_kept_ops,
    .describe = powersgd_describe,
};

const struct gcb_codec gcb_codec_powersgd = {
    .name = "powersgd",
    .summary = "a low-rank approximation by one step of power iteration",
    .source = "Vogels et al., NeurIPS 2019 (PowerSGD), algorithm 1",
    .guarantee =
        "||x - x'||^2 is at most ||x||^2, and at least the energy outside the `rank` largest "
        "singular values",
    .wire_id = 9,
    .cpu_only = true,
    .caps_of = powersgd_caps,
    .params = powersgd_params,
    .ops = &powersgd_ops,
    .reduce = &powersgd_reduce,
    .collective = GCB_COLLECTIVE_ALLREDUCE,
    .collectives_of = powersgd_collectives,
};
