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
 * With tile=, each tile is a matrix of its own (src/lib/lowrank/tiles.h). Then the payload is: the
 * number L of bytes of the parts (uint32), the parts, 1 if the tiles have different ranks or 0
 * (1 byte), the ranks (a byte each), the scales (2 bytes each), P and Q.
 */
#define RANK_MOST 1024
/* The largest element of a worker's P or Q. So no sum of them, and no element of P Q^T,
 * overflows. */
#define LARGEST GCB_SUMMAND_MOST
#define DRAW_BYTES 4096 /* random bytes that are drawn at a time */

enum { START_WARM, START_COLD };

struct powersgd {
    struct gcb_codec_base base;
    uint64_t rank_wanted; /* parameter */
    int start;            /* parameter */
    uint64_t tile, factor_bits; /* parameters */
    double budget;              /* parameter; bits per element, 0: every tile has the same rank */
    bool dense;           /* the tensor is sent whole */
    struct gcb_factors f;
    float *first; /* the orthonormal Q with which a step begins */
    float *p, *q; /* a step's factors */
    float *kept;  /* the last step's Q; a vector that is zero is drawn anew */
    double *work; /* scratch of gcb_orthonormalise */
    float *read;  /* decoder: the factors of a payload, at most env.count floats */
    /* only with tiles */
    struct gcb_tiles t;
    struct gcb_wbuf wire; /* the parts */
    float *drawn;         /* vectors of GCB_TILE_SIDE floats */
    float *exact, *gain;  /* struct gcb_tile_factors */
    uint8_t *scale, *ranks;
    /* Encoder of messages: the step and worker that begin with `first`. Encoding the same step
     * again begins with `first` again. */
    bool begun;
    struct gcb_step at;
};

static uint64_t p_floats(const struct powersgd *s)
{
    return s->tile ? s->t.all.p : s->f.rank * s->f.m.rows;
}

static uint64_t q_floats(const struct powersgd *s)
{
    return s->tile ? s->t.all.q : s->f.rank * s->f.m.cols;
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
    gcb_free(s->wire.data);
    gcb_free(s->drawn);
    gcb_free(s->exact);
    gcb_free(s->gain);
    gcb_free(s->scale);
    gcb_free(s->ranks);
}

/* Bytes of a payload with tiles before P and Q. */
static uint64_t tiles_head(const struct powersgd *s, const struct gcb_tile_totals *sent)
{
    return sizeof(uint32_t) + s->wire.len + 1 + (s->budget > 0.0 ? sent->tiles : 0) +
           (s->factor_bits < 32 ? 2 * sent->vectors : 0);
}

/* Sets the sizes of an encoder's messages and rounds. */
static void set_sizes(struct powersgd *s)
{
    const unsigned bits = s->dense ? 32 : (unsigned)s->factor_bits;
    const uint64_t count = s->base.env.count;
    const uint64_t floats = s->dense ? count : p_floats(s) + q_floats(s);

    s->base.max_payload = sizeof(uint32_t) + floats * sizeof(float);
    if (s->tile && !s->dense)
        s->base.max_payload = tiles_head(s, &s->t.all) + gcb_tile_floats_bytes(p_floats(s), bits) +
                              gcb_tile_floats_bytes(q_floats(s), bits);
    s->base.length_varies = s->budget > 0.0;
    s->base.nominal_bits = count ? bits * (double)floats / (double)count : bits;
    if (s->budget > 0.0 && s->budget < s->base.nominal_bits)
        s->base.nominal_bits = s->budget;
    s->base.rounds = s->dense ? 1 : 2;
    s->base.round[0] = (struct gcb_reduce_round){GCB_SUM_F32, s->dense ? count : p_floats(s)};
    s->base.round[1] = (struct gcb_reduce_round){GCB_SUM_F32, q_floats(s)};
}

/* Makes the tiles from the bytes of their parts. Returns 0, GCB_E_CORRUPT or GCB_E_NOMEM. */
static int make_tiles(struct powersgd *s, const uint8_t *wire, size_t bytes)
{
    struct gcb_rbuf in = {.data = wire, .len = bytes};

    gcb_tiles_drop(&s->t);
    gcb_free(s->wire.data);
    s->t = (struct gcb_tiles){.rank = s->rank_wanted, .queue = s->base.env.queue};
    s->wire = (struct gcb_wbuf){.cap = bytes, .data = gcb_alloc_array(bytes + 1, 1)};
    if (!s->wire.data)
        return GCB_E_NOMEM;
    gcb_put(&s->wire, wire, bytes);
    return gcb_tiles_make(&s->t, &in, s->tile, s->base.env.count);
}

/* Makes the tiles of an encoder. If no shape is known, each tile is as many elements in a row as it
 * has, and what is left is a vector. */
static int find_tiles(struct powersgd *s, struct gcb_diag *diag)
{
    struct gcb_codec_env env = s->base.env;
    const uint64_t width = gcb_tile_cols(s->tile), area = gcb_tile_rows(s->tile) * width;
    const uint64_t rows = env.count / area * gcb_tile_rows(s->tile);
    const uint64_t joined[] = {2, rows, width, 1, env.count % area};
    struct gcb_wbuf out;
    int err;

    if (!env.shape && !env.joined) {
        env.joined = joined;
        env.joined_length = 5;
    }
    out = (struct gcb_wbuf){.cap = gcb_parts_bound(&env)};
    out.data = gcb_alloc_array(out.cap + 1, 1);
    if (!out.data)
        return gcb_diag_nomem(diag, out.cap, "tiles");
    gcb_parts_write(&out, &env, s->tile);
    err = make_tiles(s, out.data, out.len);
    gcb_free(out.data);
    if (err == GCB_E_CORRUPT)
        return gcb_invalid(diag, "the tensors' shapes have another number of elements");
    return err ? gcb_diag_nomem(diag, env.count * sizeof(float), "tiles") : 0;
}

/* Number of vectors that a tile may have. */
static unsigned drawn_vectors(const struct powersgd *s)
{
    return s->rank_wanted < GCB_TILE_SIDE ? (unsigned)s->rank_wanted : GCB_TILE_SIDE;
}

/* Allocates what an encoder of tiles needs in addition. */
static bool allocate_tiles(struct powersgd *s)
{
    const struct gcb_tile_totals *all = &s->t.all;

    s->drawn = gcb_alloc_array((size_t)drawn_vectors(s) * GCB_TILE_SIDE, sizeof(float));
    if (s->factor_bits < 32) {
        s->exact = gcb_alloc_array(all->q, sizeof(float));
        s->scale = gcb_alloc_array(all->vectors, 2);
    }
    if (s->budget > 0.0) {
        s->gain = gcb_alloc_array(all->vectors, sizeof(float));
        s->ranks = gcb_alloc_array(all->tiles, 1);
    }
    return s->drawn && (s->factor_bits == 32 || (s->exact && s->scale)) &&
           (s->budget <= 0.0 || (s->gain && s->ranks));
}

/* Fewest floats of the factors of all tiles, or of the matrix. With a budget, tiles may have fewer
 * vectors than `rank`; one for each tile counts. */
static uint64_t least_floats(const struct powersgd *s)
{
    uint64_t floats = 0;

    if (s->budget <= 0.0)
        return p_floats(s) + q_floats(s);
    for (size_t i = 0; i < s->t.parts; i++)
        floats += s->t.part[i].tiles * (s->t.part[i].height + s->t.part[i].width);
    return floats;
}

static bool has_bits(uint64_t bits)
{
    return bits <= 16 || bits == 32;
}

static int powersgd_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct powersgd *s = state;
    const uint64_t cols = env->decoding || s->tile ? 0 : gcb_matrix_columns(env);
    uint64_t longest;
    int err;

    if (!has_bits(s->factor_bits)) /* of a message; powersgd_check refuses those of users */
        return gcb_diag_set(diag, GCB_E_CORRUPT, "message header: factor-bits out of range");
    s->base.may_send_raw = true;
    s->f.queue = env->queue;
    if (env->decoding) {
        s->read = gcb_alloc_array(env->count, sizeof(float));
        if (!s->read)
            return gcb_diag_nomem(diag, env->count * sizeof(float), "factors");
        return s->tile ? 0 : gcb_blas_open(env->queue->threads, diag);
    }
    if (cols) {
        s->f.m = gcb_matrix_of(env->count, cols);
        s->f.rank = rank_of(s, &s->f.m);
    }
    err = s->tile ? find_tiles(s, diag) : 0;
    if (err)
        return err;
    s->dense = (cols == 0 && !s->tile) || least_floats(s) >= env->count;
    set_sizes(s);
    if (s->dense)
        return 0;
    longest = s->f.m.rows > s->f.m.cols ? s->f.m.rows : s->f.m.cols;
    s->first = gcb_alloc_zero(q_floats(s), sizeof(float));
    s->p = gcb_alloc_array(p_floats(s), sizeof(float));
    if (!env->workers) /* an exchange passes its own array to contribute */
        s->q = gcb_alloc_array(q_floats(s), sizeof(float));
    s->kept = gcb_alloc_zero(q_floats(s), sizeof(float));
    if (!s->tile)
        s->work = gcb_alloc_array(s->f.rank * longest, sizeof(double));
    if (!s->first || !s->p || (!s->q && !env->workers) || !s->kept ||
        !(s->tile ? allocate_tiles(s) : s->work != NULL))
        return gcb_diag_nomem(diag, (p_floats(s) + 4 * q_floats(s)) * sizeof(float), "factors");
    return s->tile ? 0 : gcb_blas_open(env->queue->threads, diag);
}

/* ---- the Q that a step begins with ---- */

#define MEAN_OF_DRAW 510.0f /* of a sum of four random bytes */

/* Draws n elements of vector v of Q: sums of four random bytes minus `mean`, about Gaussian. All
 * workers draw the same vector. */
static void draw(const struct powersgd *s, float *to, uint64_t n, unsigned v, uint64_t step,
                 float mean)
{
    const uint64_t stream =
        gcb_draw_stream(&s->base.env, &(struct gcb_step){.step = step}, GCB_DRAW_VECTORS + v);
    uint8_t byte[DRAW_BYTES];

    for (uint64_t i = 0; i < n; i += DRAW_BYTES / 4) {
        const uint64_t left = n - i, m = left < DRAW_BYTES / 4 ? left : DRAW_BYTES / 4;

        s->base.env.kernels->philox.bytes(byte, m * 4, s->base.env.seed, i * 4, stream);
        for (uint64_t k = 0; k < m; k++)
            to[i + k] =
                (float)(byte[4 * k] + byte[4 * k + 1] + byte[4 * k + 2] + byte[4 * k + 3]) - mean;
    }
}

/* Sets `first` for tiles. All tiles without a vector begin with the same one, whose elements are
 * never 0. */
static void begin_tiles(struct powersgd *s, uint64_t step)
{
    if (s->start == START_WARM)
        memcpy(s->first, s->kept, q_floats(s) * sizeof(float));
    else
        memset(s->first, 0, q_floats(s) * sizeof(float));
    for (unsigned v = 0; v < drawn_vectors(s); v++)
        draw(s, s->drawn + (size_t)v * GCB_TILE_SIDE, GCB_TILE_SIDE, v,
             s->start == START_WARM ? 0 : step, MEAN_OF_DRAW - 0.5f);
    gcb_tiles_orthonormalise_q(&s->t, s->first, s->drawn);
}

/* Sets `first`. */
static void begin_step(struct powersgd *s, uint64_t step)
{
    const bool warm = s->start == START_WARM;
    const uint64_t n = s->f.m.cols;

    if (s->tile) {
        begin_tiles(s, step);
        return;
    }
    for (unsigned v = 0; v < s->f.rank; v++) {
        const bool is_zero = s->base.env.kernels->reduce.max_bits(s->kept + v * n, n) == 0;

        if (warm && !is_zero)
            memcpy(s->first + v * n, s->kept + v * n, n * sizeof(float));
        else
            draw(s, s->first + v * n, n, v, warm ? 0 : step, MEAN_OF_DRAW);
    }
    gcb_orthonormalise(s->first, s->f.rank, n, s->work);
}

static void end_step(struct powersgd *s, const float *q)
{
    memcpy(s->kept, q, q_floats(s) * sizeof(float));
}

/* ---- the products ---- */

/* True if no element is larger than LARGEST. */
static bool are_small(const struct powersgd *s, const float *factor, uint64_t n)
{
    return s->base.env.kernels->reduce.max_bits(factor, n) <= gcb_bits_of(LARGEST);
}

static void make_p(struct powersgd *s, float *p, float weight, const float *x)
{
    if (s->tile) {
        gcb_tiles_to_p(&s->t, p, weight, x, s->first);
        return;
    }
    gcb_blas_begin();
    gcb_matrix_to_p(&s->f, p, weight, x, s->first);
    gcb_blas_end();
}

static void orthonormalise_p(struct powersgd *s)
{
    if (s->tile)
        gcb_tiles_orthonormalise_p(&s->t, s->p);
    else
        gcb_orthonormalise(s->p, s->f.rank, s->f.m.rows, s->work);
}

/* Makes Q from P. Returns false if an element of Q exceeds LARGEST. */
static bool make_q(struct powersgd *s, float *q, float weight, const float *x)
{
    if (s->tile) {
        gcb_tiles_to_q(&s->t, q, weight, x, s->p);
    } else {
        gcb_blas_begin();
        gcb_matrix_to_q(&s->f, q, weight, x, s->p);
        gcb_blas_end();
    }
    return are_small(s, q, q_floats(s));
}

static void rebuild(const struct powersgd *s, float *out, const float *p, const float *q)
{
    if (s->tile) {
        gcb_tiles_rebuild(&s->t, out, p, q, NULL, NULL);
        return;
    }
    gcb_blas_begin();
    gcb_matrix_rebuild(&s->f, out, p, q);
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
        memset(s->kept, 0, q_floats(s) * sizeof(float));
    begin_step(s, at->step);
    s->begun = true;
    s->at = *at;
}

#define SCALE_MOST (gcb_bits_of(LARGEST) >> 16)

/* True if no scale is larger than LARGEST, negative or NaN. */
static bool are_scales_small(const uint8_t *scale, uint64_t vectors)
{
    for (uint64_t i = 0; i < vectors; i++)
        if ((uint32_t)(scale[2 * i] | scale[2 * i + 1] << 8) > SCALE_MOST)
            return false;
    return true;
}

/* Bits that P, Q and scales may take, so that the payload has at most `budget` bits an element. */
static uint64_t bits_left(const struct powersgd *s)
{
    const struct gcb_tile_totals none = {.tiles = s->t.all.tiles};
    const double all = s->budget * (double)s->base.env.count;
    const double used = 8.0 * (double)(tiles_head(s, &none) + 2); /* P and Q end in whole bytes */

    return all > used ? (uint64_t)(all - used) : 0;
}

static int encode_tiles(struct powersgd *s, const float *x, struct gcb_wbuf *out)
{
    const struct gcb_kernels *kernels = s->base.env.kernels;
    const unsigned bits = (unsigned)s->factor_bits;
    const struct gcb_tile_factors f = {.bits = bits, .p = s->p, .q = s->q, .scale = s->scale,
                                       .exact = bits < 32 ? s->exact : s->q, .gain = s->gain};
    struct gcb_tile_totals sent = s->t.all;

    gcb_tiles_factor(&s->t, &f, x, s->first);
    if (!are_small(s, s->p, sent.p) || !are_small(s, f.exact, sent.q) ||
        (s->scale && !are_scales_small(s->scale, sent.vectors)))
        return GCB_E_SEND_RAW;
    end_step(s, f.exact);
    if (s->budget > 0.0) {
        gcb_tiles_choose(&s->t, &f, s->ranks, bits_left(s));
        (void)gcb_tiles_count(&s->t, s->ranks, &sent);
    }
    if (sent.p + sent.q >= s->base.env.count)
        return GCB_E_SEND_RAW;
    gcb_put_u32(out, (uint32_t)s->wire.len);
    gcb_put(out, s->wire.data, s->wire.len);
    gcb_put_u8(out, s->budget > 0.0);
    if (s->budget > 0.0)
        gcb_put(out, s->ranks, sent.tiles);
    if (bits < 32)
        gcb_put(out, s->scale, 2 * sent.vectors);
    gcb_tile_floats_put(out, s->p, sent.p, bits, kernels);
    gcb_tile_floats_put(out, s->q, sent.q, bits, kernels);
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
    if (s->base.env.kernels->reduce.max_bits(s->p, p_floats(s)) >= GCB_INF_BITS)
        return GCB_E_SEND_RAW;
    gcb_orthonormalise(s->p, s->f.rank, s->f.m.rows, s->work);
    if (!make_q(s, s->q, 1.0f, in->data))
        return GCB_E_SEND_RAW;
    gcb_put_u32(out, (uint32_t)s->f.m.cols);
    gcb_put(out, s->p, p_floats(s) * sizeof(float));
    gcb_put(out, s->q, q_floats(s) * sizeof(float));
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
           p_floats(s) + q_floats(s) == floats;
}

/* What a payload with tiles has before P and Q. */
struct tiles_payload {
    const uint8_t *ranks, *scale; /* NULL: none */
    struct gcb_tile_totals sent;
};

/* Reads a payload up to P. Returns 0, GCB_E_CORRUPT or GCB_E_NOMEM. */
static int read_tiles_head(struct powersgd *s, struct gcb_rbuf *in, struct tiles_payload *out)
{
    const uint32_t bytes = gcb_get_u32(in);
    const uint8_t *wire = gcb_rbuf_take(in, bytes);
    const unsigned bits = (unsigned)s->factor_bits;
    const bool same = wire && s->wire.data && s->wire.len == bytes &&
                      memcmp(s->wire.data, wire, bytes) == 0 && s->t.scratch;
    const int err = !wire ? GCB_E_CORRUPT : same ? 0 : make_tiles(s, wire, bytes);
    uint8_t differ;

    if (err)
        return err;
    differ = gcb_get_u8(in);
    out->ranks = differ ? gcb_rbuf_take(in, s->t.all.tiles) : NULL;
    if (in->failed || differ > 1 || !gcb_tiles_count(&s->t, out->ranks, &out->sent) ||
        out->sent.p + out->sent.q >= s->base.env.count)
        return GCB_E_CORRUPT;
    out->scale = bits < 32 ? gcb_rbuf_take(in, 2 * out->sent.vectors) : NULL;
    return in->failed || (out->scale && !are_scales_small(out->scale, out->sent.vectors)) ||
                   gcb_rbuf_left(in) != gcb_tile_floats_bytes(out->sent.p, bits) +
                                            gcb_tile_floats_bytes(out->sent.q, bits)
               ? GCB_E_CORRUPT
               : 0;
}

static int read_tiles(struct powersgd *s, struct gcb_rbuf *in, float *out)
{
    const struct gcb_kernels *kernels = s->base.env.kernels;
    const unsigned bits = (unsigned)s->factor_bits;
    struct tiles_payload payload;
    const int err = read_tiles_head(s, in, &payload);
    uint64_t p, q;

    if (err)
        return err;
    p = payload.sent.p;
    q = payload.sent.q;
    if (!gcb_tile_floats_get(s->read, in, p, bits, kernels) ||
        !gcb_tile_floats_get(s->read + p, in, q, bits, kernels))
        return GCB_E_CORRUPT;
    /* the vectors of P have length 1; 2 leaves room for rounding */
    if (bits == 32 && (kernels->reduce.max_bits(s->read, p) > gcb_bits_of(2.0f) ||
                       !are_small(s, s->read + p, q)))
        return GCB_E_CORRUPT;
    gcb_tiles_rebuild(&s->t, out, s->read, s->read + p, payload.ranks, payload.scale);
    return 0;
}

static int powersgd_read(void *state, struct gcb_rbuf *in, float *out,
                         const struct gcb_addition *to)
{
    struct powersgd *s = state;
    const uint8_t *from;
    uint64_t p, floats;

    if (to)
        return GCB_E_UNSUPPORTED;
    if (s->tile)
        return read_tiles(s, in, out);
    if (!read_sizes(s, in))
        return GCB_E_CORRUPT;
    p = p_floats(s);
    floats = p + q_floats(s);
    from = gcb_rbuf_take(in, floats * sizeof(float));
    memcpy(s->read, from, floats * sizeof(float));
    /* the vectors of P have length 1; 2 leaves room for rounding */
    if (s->base.env.kernels->reduce.max_bits(s->read, p) > gcb_bits_of(2.0f) ||
        s->base.env.kernels->reduce.max_bits(s->read + p, floats - p) > gcb_bits_of(LARGEST))
        return GCB_E_CORRUPT;
    rebuild(s, out, s->read, s->read + p);
    return 0;
}

/* Order-0 entropy of the next n rounded floats. */
static int entropy_of(const struct powersgd *s, struct gcb_rbuf *in, uint64_t n, double *bits)
{
    const unsigned width = (unsigned)s->factor_bits;

    return gcb_packed_entropy(bits, gcb_rbuf_take(in, gcb_packed_bytes(n, width)), n, width,
                              s->base.env.kernels);
}

static int powersgd_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    struct powersgd *s = state;
    const uint64_t bytes = gcb_rbuf_left(in);
    struct tiles_payload payload;
    double bits = 0.0, more = 0.0;
    int err = 0;

    parts->scale_bytes = sizeof(uint32_t);
    if (s->tile) {
        err = read_tiles_head(s, in, &payload);
        parts->scale_bytes = bytes - gcb_rbuf_left(in);
    }
    if (err)
        return err;
    parts->value_bytes = bytes - parts->scale_bytes;
    parts->kept = parts->positions = s->base.env.count;
    parts->entropy0_bits = 8.0 * (double)parts->value_bytes;
    if (!s->tile || s->factor_bits == 32)
        return 0;
    err = entropy_of(s, in, payload.sent.p, &bits);
    err = err ? err : entropy_of(s, in, payload.sent.q, &more);
    parts->entropy0_bits = bits + more;
    return err;
}

/* ---- checkpoints: step, worker, `begun` and `kept`; `first` too, except in an exchange ---- */

static bool keeps(const struct powersgd *s)
{
    return !s->dense && s->start == START_WARM;
}

static uint64_t kept_floats(const struct powersgd *s)
{
    return (s->base.env.workers ? 1 : 2) * q_floats(s);
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
    gcb_put(out, s->kept, q_floats(s) * sizeof(float));
    if (!s->base.env.workers)
        gcb_put(out, s->first, q_floats(s) * sizeof(float));
}

static int powersgd_read_kept(void *state, struct gcb_rbuf *in)
{
    struct powersgd *s = state;
    const uint64_t bytes = q_floats(s) * sizeof(float);
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
        return are_small(s, values, p_floats(s)) ? 0 : GCB_E_SEND_RAW;
    }
    return make_q(s, values, at->weight, x) ? 0 : GCB_E_SEND_RAW;
}

static void powersgd_absorb(void *state, unsigned round, const void *combined)
{
    struct powersgd *s = state;

    memcpy(s->p, combined, p_floats(s) * sizeof(float));
    orthonormalise_p(s);
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
        rebuild(s, out, s->p, combined);
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

/* Rounded factors, and those of different tiles, cannot be added up. */
static unsigned powersgd_collectives(const double *value)
{
    const bool adds = value[FACTOR_BITS] >= 32.0 && value[BUDGET] <= 0.0;

    return adds ? GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE) : 0;
}

static int powersgd_check(const double *value, struct gcb_diag *diag)
{
    return has_bits((uint64_t)value[FACTOR_BITS])
               ? 0
               : gcb_invalid(diag, "factor-bits must be 2 to 16, or 32");
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
              .help = "what has factors of its own: AxB, tiles of a matrix whose sides are the "
                      "largest divisors up to A and B; kernel, a convolution's kernels; none, the "
                      "matrix",
              .max = GCB_TILE_SIDE << 16 | GCB_TILE_SIDE, .absent = GCB_TILE_NONE,
              .flags = GCB_PARAM_WIRE | GCB_PARAM_ADDED},
    [FACTOR_BITS] = {GCB_PARAM("factor-bits", INT, struct powersgd, factor_bits),
                     .help = "bits of an element of P and Q: 2 to 16, or 32 for float32",
                     .def = 32, .min = 2, .max = 32, .absent = 32, .needs = "tile!=none",
                     .flags = GCB_PARAM_WIRE | GCB_PARAM_ADDED, .rate = GCB_RATE_UP},
    [BUDGET] = {GCB_PARAM("bits-per-element", REAL, struct powersgd, budget),
                .help = "most bits of a message; tiles where a vector takes away most error get "
                        "more vectors, up to `rank`; 0: all tiles get `rank`",
                .max = 32, .needs = "tile!=none"},
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
    .check = powersgd_check,
    .ops = &powersgd_ops,
    .reduce = &powersgd_reduce,
    .collective = GCB_COLLECTIVE_ALLREDUCE,
    .collectives_of = powersgd_collectives,
};
