#include "src/lib/lowrank/tiles.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "kernels/philox/philox_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

#define LANES 16
typedef float lanes[LANES]; /* an element of each tile of a group */

#define TINY 0x1p-100f                           /* smaller scales become 0 */
#define SCALE_MOST (gcb_bits_of(0x1p100f) >> 16) /* upper half of the largest scale in a message */
#define MORE 0x8000  /* bit of a scale: another vector of the tile follows */
#define TILE_LEAST 2 /* bytes of a tile without vectors */

/* Up to LANES tiles of a part. A lane without a tile works on the first tile. */
struct group {
    const struct gcb_part *part;
    unsigned count, rank;  /* number of tiles; most vectors of a tile of this part */
    uint64_t tile, vector; /* numbers of the first tile and of its first vector */
    uint64_t x[LANES];     /* first element of each lane's tile in the tensor */
    uint64_t q;            /* where Q of the first tile begins in `first` and `kept` */
};

static unsigned rank_of(const struct gcb_tiles *t, const struct gcb_part *p)
{
    const unsigned side = p->height < p->width ? p->height : p->width;

    return t->rank < side ? (unsigned)t->rank : side;
}

static uint64_t vector_bytes(const struct gcb_tiles *t, const struct gcb_part *p)
{
    return 2 + gcb_packed_bytes(p->height + p->width, t->bits);
}

int gcb_tiles_make(struct gcb_tiles *t, const uint8_t *wire, size_t bytes, uint64_t room)
{
    struct gcb_rbuf in = {.data = wire, .len = bytes};
    uint64_t tile = 0;
    int err;

    if (t->scratch && t->wire_bytes == bytes && memcmp(t->wire, wire, bytes) == 0)
        return 0;
    gcb_tiles_drop(t);
    *t = (struct gcb_tiles){.env = t->env, .tile = t->tile, .rank = t->rank, .bits = t->bits};
    err = gcb_parts_read(&t->part, &t->parts, &in, t->tile, t->env->count);
    if (err)
        return err;
    for (const struct gcb_part *p = t->part; p < t->part + t->parts; p++) {
        const size_t floats = (size_t)(p->height * p->width + p->height + p->width) * LANES;

        t->scratch_floats = floats > t->scratch_floats ? floats : t->scratch_floats;
        t->tiles += p->tiles;
        t->vectors += p->tiles * rank_of(t, p);
        t->q_floats += p->tiles * rank_of(t, p) * p->width;
    }
    if (t->tiles > room / TILE_LEAST)
        return GCB_E_CORRUPT;
    t->at = gcb_alloc_array(t->tiles + 1, sizeof(*t->at));
    t->ranks = gcb_alloc_array(t->tiles + 1, 1);
    t->wire = gcb_alloc_array(bytes + 1, 1);
    t->scratch =
        gcb_alloc_array((size_t)t->env->queue->threads * t->scratch_floats + 1, sizeof(float));
    if (!t->at || !t->ranks || !t->wire || !t->scratch)
        return GCB_E_NOMEM;
    memcpy(t->wire, wire, bytes);
    t->wire_bytes = bytes;
    for (const struct gcb_part *p = t->part; p < t->part + t->parts; p++)
        for (uint64_t k = 0; k < p->tiles; k++) {
            t->at[tile++] = t->bytes;
            t->bytes += rank_of(t, p) * vector_bytes(t, p);
        }
    return 0;
}

void gcb_tiles_drop(struct gcb_tiles *t)
{
    gcb_free(t->wire);
    gcb_free(t->part);
    gcb_free(t->at);
    gcb_free(t->ranks);
    gcb_free(t->scratch);
}

/* ---- groups ---- */

/* Loads the tiles from x, or if x is NULL, stores them to `out`. */
static void move_tiles(lanes *m, const struct group *g, const float *x, float *out)
{
    const struct gcb_part *p = g->part;

    for (unsigned i = 0; i < p->height; i++)
        for (unsigned j = 0; j < p->width; j++, m++) {
            for (unsigned k = 0; x && k < LANES; k++)
                (*m)[k] = x[g->x[k] + i * p->cols + j];
            for (unsigned k = 0; !x && k < g->count; k++)
                out[g->x[k] + i * p->cols + j] = (*m)[k];
        }
}

static void multiply_by_q(lanes *restrict p, lanes *restrict m, lanes *restrict q,
                          const struct gcb_part *part)
{
    for (unsigned i = 0; i < part->height; i++, m += part->width) {
        lanes sum = {0.0f};

        for (unsigned j = 0; j < part->width; j++)
            for (unsigned k = 0; k < LANES; k++)
                sum[k] += m[j][k] * q[j][k];
        memcpy(p[i], sum, sizeof(sum));
    }
}

static void multiply_by_p(lanes *restrict q, lanes *restrict m, lanes *restrict p,
                          const struct gcb_part *part)
{
    memset(q, 0, part->width * sizeof(*q));
    for (unsigned i = 0; i < part->height; i++, m += part->width)
        for (unsigned j = 0; j < part->width; j++)
            for (unsigned k = 0; k < LANES; k++)
                q[j][k] += m[j][k] * p[i][k];
}

/* In each lane, adds sign * scale * p q^T to m. */
static void add_product(lanes *restrict m, lanes *restrict p, lanes *restrict q, const float *scale,
                        float sign, const struct gcb_part *part)
{
    for (unsigned i = 0; i < part->height; i++, m += part->width) {
        lanes factor;

        for (unsigned k = 0; k < LANES; k++)
            factor[k] = sign * scale[k] * p[i][k];
        for (unsigned j = 0; j < part->width; j++)
            for (unsigned k = 0; k < LANES; k++)
                m[j][k] += factor[k] * q[j][k];
    }
}

/* In each lane, divides n elements by a scale, so that the largest magnitude is at most `top`. The
 * scale has 8 significant bits. If it would be below TINY, it and the elements become 0. If
 * `rounds`, rounds to the nearest integers, ties to even. */
static void rescale(lanes *x, unsigned n, float top, bool rounds, float *scale)
{
    const float magic = rounds ? 0x1.8p23f : 0.0f;
    lanes most = {0.0f}, factor;

    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < LANES; k++)
            most[k] = fabsf(x[i][k]) > most[k] ? fabsf(x[i][k]) : most[k];
    for (unsigned k = 0; k < LANES; k++) {
        scale[k] = gcb_float_of((gcb_bits_of(most[k] / top) + 0xffff) & 0xffff0000);
        scale[k] = scale[k] < TINY ? 0.0f : scale[k];
        factor[k] = scale[k] > 0.0f ? 1.0f / scale[k] : 0.0f;
    }
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < LANES; k++)
            x[i][k] = x[i][k] * factor[k] + magic - magic;
}

/* What threads share. Encoding sets f and x, decoding sets record and out; the others are NULL. */
struct job {
    const struct gcb_tiles *t;
    void (*work)(const struct job *job, const struct group *g, lanes *m, lanes *p, lanes *q);
    const struct gcb_tile_factors *f;
    const float *x;
    const uint8_t *record;
    float *out;
};

/* Works on every `threads`-th group. */
static void work_share(void *ctx, uint64_t thread)
{
    const struct job *job = ctx;
    const struct gcb_tiles *t = job->t;
    lanes *m = (lanes *)(t->scratch + thread * t->scratch_floats);
    struct group g = {.tile = 0};
    uint64_t turn = 0, at = 0;

    for (g.part = t->part; g.part < t->part + t->parts; g.part++) {
        lanes *p = m + (size_t)g.part->height * g.part->width;

        g.rank = rank_of(t, g.part);
        for (uint64_t first = 0; first < g.part->tiles; first += g.count) {
            g.count = g.part->tiles - first < LANES ? (unsigned)(g.part->tiles - first) : LANES;
            for (unsigned k = 0; k < LANES; k++)
                g.x[k] = at + gcb_part_tile_at(g.part, first + (k < g.count ? k : 0));
            if (turn++ % (unsigned)t->env->queue->threads == thread)
                job->work(job, &g, m, p, p + g.part->height);
            g.tile += g.count;
            g.vector += g.count * g.rank;
            g.q += (uint64_t)g.count * g.rank * g.part->width;
        }
        at += g.part->matrices * g.part->rows * g.part->cols;
    }
}

static void run_job(struct job job)
{
    gcb_parallel(job.t->env->queue, (uint64_t)job.t->env->queue->threads, work_share, &job);
}

/* ---- encoding ---- */

/* Loads the Q with which vector v begins. If `first` has zeros for it, draws random bytes, centred
 * on 0. */
static void load_first(const struct job *job, const struct group *g, lanes *q, unsigned v)
{
    const struct gcb_codec_env *env = job->t->env;
    const uint64_t stream = gcb_draw_stream(env, &job->f->at, GCB_DRAW_VECTORS + v);
    const unsigned w = g->part->width;

    for (unsigned k = 0; k < LANES; k++) {
        const unsigned lane = k < g->count ? k : 0;
        const float *from = job->f->first + g->q + (lane * g->rank + v) * w;
        const bool none = env->kernels->reduce.max_bits(from, w) == 0;

        for (unsigned j = 0; j < w; j++)
            q[j][k] = none ? gcb_philox_byte(env->seed, j, stream) - 127.5f : from[j];
    }
}

/* Stores vector v of the tile in lane k: its scale, its integers and its gain. */
static void store_vector(const struct job *job, const struct group *g, lanes *p, unsigned v,
                         unsigned k, float scale)
{
    const struct gcb_tiles *t = job->t;
    const unsigned h = g->part->height, w = g->part->width;
    const uint64_t bytes = vector_bytes(t, g->part);
    uint8_t *record = job->f->record + t->at[g->tile + k] + v * bytes;
    int squares[2] = {0, 0};
    uint16_t code[2 * GCB_TILE_SIDE];

    for (unsigned i = 0; i < h + w; i++) { /* Q follows P */
        const int x = (int)p[i][k];

        code[i] = (uint16_t)(x + (1 << (t->bits - 1)) - 1);
        squares[i < h] += x * x;
    }
    record[0] = (uint8_t)(gcb_bits_of(scale) >> 16);
    record[1] = (uint8_t)(gcb_bits_of(scale) >> 24);
    t->env->kernels->bitpack.pack(record + 2, code, h + w, t->bits);
    job->f->gain[g->vector + k * g->rank + v] =
        (float)((double)scale * sqrt((double)squares[0] * (double)squares[1] / (double)bytes));
}

static void factor_group(const struct job *job, const struct group *g, lanes *m, lanes *p, lanes *q)
{
    const unsigned h = g->part->height, w = g->part->width;
    const float top = (float)((1 << (job->t->bits - 1)) - 1);
    lanes scale;

    move_tiles(m, g, job->x, NULL);
    for (unsigned v = 0; v < g->rank; v++) {
        lanes length = {0.0f};

        load_first(job, g, q, v);
        for (unsigned i = 0; i < GCB_TILE_STEPS; i++) {
            rescale(q, w, top, false, scale);
            multiply_by_q(p, m, q, g->part);
            rescale(p, h, top, i + 1 == GCB_TILE_STEPS, scale);
            multiply_by_p(q, m, p, g->part);
        }
        for (unsigned i = 0; i < h; i++)
            for (unsigned k = 0; k < LANES; k++)
                length[k] += p[i][k] * p[i][k];
        for (unsigned j = 0; j < w; j++)
            for (unsigned k = 0; k < LANES; k++) {
                q[j][k] = length[k] > 0.0f ? q[j][k] / length[k] : 0.0f;
                if (k < g->count)
                    job->f->kept[g->q + (k * g->rank + v) * w + j] = q[j][k];
            }
        rescale(q, w, top, true, scale);
        for (unsigned k = 0; k < g->count; k++)
            store_vector(job, g, p, v, k, scale[k]);
        add_product(m, p, q, scale, -1.0f, g->part);
    }
}

void gcb_tiles_factor(const struct gcb_tiles *t, const struct gcb_tile_factors *f, const float *x)
{
    run_job((struct job){.t = t, .work = factor_group, .f = f, .x = x});
}

/* Sets the number of vectors of each tile as gcb_tiles_put describes, for the limit `least`.
 * Returns their bytes in a message. */
static uint64_t take_vectors(const struct gcb_tiles *t, const float *gain, float least)
{
    uint64_t bytes = 0, tile = 0;

    for (const struct gcb_part *p = t->part; p < t->part + t->parts; p++)
        for (uint64_t k = 0; k < p->tiles; k++, tile++, gain += rank_of(t, p)) {
            const bool thin = p->height == 1 || p->width == 1;
            uint8_t v = 0;

            while (v < rank_of(t, p) && gain[v] > (thin ? 0.0f : least))
                v++;
            t->ranks[tile] = v;
            bytes += v ? v * vector_bytes(t, p) : TILE_LEAST;
        }
    return bytes;
}

void gcb_tiles_put(const struct gcb_tiles *t, const struct gcb_tile_factors *f, uint64_t budget,
                   struct gcb_wbuf *out)
{
    const bool all = take_vectors(t, f->gain, 0.0f) <= budget;
    /* as the bits of floats: low <= limit <= high */
    uint32_t low = 0, high = all ? 0 : gcb_bits_of(FLT_MAX);
    uint64_t tile = 0;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (take_vectors(t, f->gain, gcb_float_of(middle)) <= budget)
            high = middle;
        else
            low = middle + 1;
    }
    (void)take_vectors(t, f->gain, gcb_float_of(high));
    for (const struct gcb_part *p = t->part; p < t->part + t->parts; p++)
        for (uint64_t k = 0; k < p->tiles; k++, tile++) {
            const uint64_t bytes = vector_bytes(t, p), n = t->ranks[tile];
            uint8_t *record = f->record + t->at[tile];

            for (unsigned v = 1; v < n; v++)
                record[(v - 1) * bytes + 1] |= MORE >> 8;
            if (n == 0)
                memset(record, 0, TILE_LEAST);
            gcb_put(out, record, n ? n * bytes : TILE_LEAST);
        }
}

/* ---- decoding ---- */

bool gcb_tiles_find(struct gcb_tiles *t, struct gcb_rbuf *in)
{
    const size_t begin = in->pos;
    uint64_t tile = 0;

    for (const struct gcb_part *p = t->part; p < t->part + t->parts; p++)
        for (uint64_t k = 0; k < p->tiles; k++, tile++) {
            unsigned more = MORE, v = 0;

            t->at[tile] = in->pos - begin;
            for (; more && v < rank_of(t, p); v++) {
                const unsigned low = gcb_get_u8(in), scale = low | (unsigned)gcb_get_u8(in) << 8;

                more = scale & MORE;
                if (v == 0 && scale == 0)
                    break;
                (void)gcb_rbuf_take(in, vector_bytes(t, p) - 2);
                if (in->failed || scale == more || (scale & ~MORE) > SCALE_MOST)
                    return false;
            }
            t->ranks[tile] = (uint8_t)v;
            if (more)
                return false;
        }
    return !in->failed && gcb_rbuf_left(in) == 0;
}

static void rebuild_group(const struct job *job, const struct group *g, lanes *m, lanes *p,
                          lanes *q)
{
    const unsigned h = g->part->height, w = g->part->width;
    const int top = (1 << (job->t->bits - 1)) - 1;

    memset(m, 0, h * w * sizeof(*m));
    for (unsigned v = 0; v < g->rank; v++) {
        lanes scale = {0.0f};

        memset(p, 0, (h + w) * sizeof(*p)); /* q follows p */
        for (unsigned k = 0; k < g->count; k++) {
            const uint8_t *from =
                job->record + job->t->at[g->tile + k] + v * vector_bytes(job->t, g->part);
            uint16_t code[2 * GCB_TILE_SIDE];

            if (v >= job->t->ranks[g->tile + k])
                continue;
            scale[k] = gcb_float_of((uint32_t)(from[0] | (from[1] & ~(MORE >> 8)) << 8) << 16);
            job->t->env->kernels->bitpack.unpack(code, from + 2, h + w, job->t->bits);
            for (unsigned i = 0; i < h + w; i++)
                p[i][k] = (float)(code[i] - top);
        }
        add_product(m, p, q, scale, 1.0f, g->part);
    }
    move_tiles(m, g, NULL, job->out);
}

void gcb_tiles_rebuild(const struct gcb_tiles *t, const uint8_t *record, float *out)
{
    run_job((struct job){.t = t, .work = rebuild_group, .record = record, .out = out});
}
