#include "src/lib/lowrank/tiles.h"

#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/lowrank/matrix.h"

#define LANES 16
typedef float lanes[LANES]; /* an element of each tile of a group */

#define TINY 0x1p-100f /* a vector without a larger element becomes 0 */

/* Up to LANES tiles of a part, and what the groups before it have. */
struct group {
    const struct gcb_part *part; /* NULL: the first group is next */
    uint64_t first, at;          /* the first tile, in the part; where the part begins */
    unsigned count, most;        /* number of tiles; vectors of the tile that has most */
    struct {
        uint64_t x; /* where the tile is in the message */
        uint64_t vector, p, q;
        unsigned rank;
    } tile[LANES];
    struct gcb_tile_totals end;
};

static unsigned rank_of(const struct gcb_tiles *t, const struct gcb_part *p)
{
    const unsigned side = p->height < p->width ? p->height : p->width;

    return t->rank < side ? (unsigned)t->rank : side;
}

/* Goes on to the next group. Returns false after the last. */
static bool next_group(struct group *g, const struct gcb_tiles *t, const uint8_t *ranks)
{
    if (!g->part) {
        g->part = t->part;
    } else if (g->part->tiles - g->first > LANES) {
        g->first += LANES;
    } else {
        g->at += g->part->matrices * g->part->rows * g->part->cols;
        g->first = 0;
        g->part++;
    }
    if (g->part == t->part + t->parts)
        return false;
    g->count = g->part->tiles - g->first < LANES ? (unsigned)(g->part->tiles - g->first) : LANES;
    g->most = 0;
    for (unsigned k = 0; k < LANES; k++) {
        const uint64_t own = k < g->count ? k : 0; /* a lane without a tile works on the first */
        const unsigned rank = ranks && k < g->count ? ranks[g->end.tiles] : rank_of(t, g->part);

        g->tile[k].x = g->at + gcb_part_tile_at(g->part, g->first + own);
        g->tile[k].rank = k < g->count ? rank : 0;
        g->tile[k].vector = g->end.vectors;
        g->tile[k].p = g->end.p;
        g->tile[k].q = g->end.q;
        g->end.tiles += k < g->count;
        g->end.vectors += g->tile[k].rank;
        g->end.p += (uint64_t)g->tile[k].rank * g->part->height;
        g->end.q += (uint64_t)g->tile[k].rank * g->part->width;
        g->most = g->tile[k].rank > g->most ? g->tile[k].rank : g->most;
    }
    return true;
}

bool gcb_tiles_count(const struct gcb_tiles *t, const uint8_t *ranks, struct gcb_tile_totals *out)
{
    struct group g = {.part = NULL};

    while (next_group(&g, t, ranks))
        if (g.most > rank_of(t, g.part))
            return false;
    *out = g.end;
    return true;
}

int gcb_tiles_make(struct gcb_tiles *t, struct gcb_rbuf *in, uint64_t tile, uint64_t count)
{
    const int err = gcb_parts_read(&t->part, &t->parts, in, tile, count);

    if (err)
        return err;
    for (size_t i = 0; i < t->parts; i++) {
        const unsigned h = t->part[i].height, w = t->part[i].width;
        const size_t floats = (size_t)(h * w + h + w) * LANES;

        t->scratch_floats = floats > t->scratch_floats ? floats : t->scratch_floats;
    }
    (void)gcb_tiles_count(t, NULL, &t->all);
    t->scratch = gcb_alloc_array((size_t)t->queue->threads * t->scratch_floats + 1, sizeof(float));
    return t->scratch ? 0 : GCB_E_NOMEM;
}

void gcb_tiles_drop(struct gcb_tiles *t)
{
    gcb_free(t->part);
    gcb_free(t->scratch);
}

/* ---- groups: loads, stores and products ---- */

static void load_tiles(lanes *m, const struct group *g, const float *x)
{
    const struct gcb_part *p = g->part;

    for (unsigned i = 0; i < p->height; i++)
        for (unsigned j = 0; j < p->width; j++, m++)
            for (unsigned k = 0; k < LANES; k++)
                (*m)[k] = x[g->tile[k].x + i * p->cols + j];
}

static void store_tiles(float *x, const struct group *g, lanes *m)
{
    const struct gcb_part *p = g->part;

    for (unsigned i = 0; i < p->height; i++)
        for (unsigned j = 0; j < p->width; j++, m++)
            for (unsigned k = 0; k < g->count; k++)
                x[g->tile[k].x + i * p->cols + j] = (*m)[k];
}

/* Where vector v of lane k begins. */
static uint64_t place(const struct group *g, unsigned k, unsigned v, bool is_p)
{
    return is_p ? g->tile[k].p + (uint64_t)v * g->part->height
                : g->tile[k].q + (uint64_t)v * g->part->width;
}

static unsigned side_of(const struct group *g, bool is_p)
{
    return is_p ? g->part->height : g->part->width;
}

/* Loads vector v of each tile of P or Q; 0 if the tile has no vector v. */
static void load_vector(lanes *to, const struct group *g, const float *from, unsigned v, bool is_p)
{
    const unsigned n = side_of(g, is_p);

    for (unsigned k = 0; k < LANES; k++)
        for (unsigned i = 0; i < n; i++)
            to[i][k] = v < g->tile[k].rank ? from[place(g, k, v, is_p) + i] : 0.0f;
}

static void store_vector(float *to, const struct group *g, lanes *from, unsigned v, bool is_p)
{
    const unsigned n = side_of(g, is_p);

    for (unsigned k = 0; k < LANES && v < g->most; k++)
        for (unsigned i = 0; i < n && v < g->tile[k].rank; i++)
            to[place(g, k, v, is_p) + i] = from[i][k];
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

/* m += (scale p) q. */
static void add_product(lanes *restrict m, lanes *restrict p, lanes *restrict q, const float *scale,
                        const struct gcb_part *part)
{
    for (unsigned i = 0; i < part->height; i++, m += part->width) {
        lanes factor;

        for (unsigned k = 0; k < LANES; k++)
            factor[k] = scale[k] * p[i][k];
        for (unsigned j = 0; j < part->width; j++)
            for (unsigned k = 0; k < LANES; k++)
                m[j][k] += factor[k] * q[j][k];
    }
}

static void multiply(lanes *x, unsigned n, const float *factor)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < LANES; k++)
            x[i][k] *= factor[k];
}

static void find_largest(float *most, lanes *x, unsigned n)
{
    memset(most, 0, sizeof(lanes));
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < LANES; k++)
            most[k] = fabsf(x[i][k]) > most[k] ? fabsf(x[i][k]) : most[k];
}

/* Divides by the largest magnitude. */
static void normalise(lanes *x, unsigned n)
{
    lanes factor;

    find_largest(factor, x, n);
    for (unsigned k = 0; k < LANES; k++)
        factor[k] = factor[k] >= TINY ? 1.0f / factor[k] : 0.0f;
    multiply(x, n, factor);
}

/* Rounds to integers below 2^22: to nearest, ties to even. */
static void round_all(lanes *x, unsigned n, const float *factor)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < LANES; k++)
            x[i][k] = x[i][k] * factor[k] + 0x1.8p23f - 0x1.8p23f;
}

static void add_squares(float *sum, lanes *x, unsigned n)
{
    memset(sum, 0, sizeof(lanes));
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < LANES; k++)
            sum[k] += x[i][k] * x[i][k];
}

/* ---- work on all groups ---- */

struct job {
    const struct gcb_tiles *t;
    void (*work)(const struct job *job, const struct group *g, lanes *m, lanes *p, lanes *q);
    const float *x, *p, *q; /* elements and factors that are read */
    float *out;
    float weight;
    bool is_p;
    const uint8_t *ranks, *scale;
    const struct gcb_tile_factors *f;
};

/* Works on every `threads`-th group. */
static void work_share(void *ctx, uint64_t thread)
{
    const struct job *job = ctx;
    const struct gcb_tiles *t = job->t;
    lanes *m = (lanes *)(t->scratch + thread * t->scratch_floats);
    struct group g = {.part = NULL};

    for (uint64_t turn = 0; next_group(&g, t, job->ranks); turn++)
        if (turn % (unsigned)t->queue->threads == thread) {
            lanes *p = m + (size_t)g.part->height * g.part->width;

            job->work(job, &g, m, p, p + g.part->height);
        }
}

static void work(struct job job)
{
    gcb_parallel(job.t->queue, (uint64_t)job.t->queue->threads, work_share, &job);
}

static void to_factor(const struct job *job, const struct group *g, lanes *m, lanes *p, lanes *q)
{
    lanes weight;

    for (unsigned k = 0; k < LANES; k++)
        weight[k] = job->weight;
    load_tiles(m, g, job->x);
    for (unsigned v = 0; v < g->most; v++) {
        load_vector(job->is_p ? q : p, g, job->is_p ? job->q : job->p, v, !job->is_p);
        if (job->is_p)
            multiply_by_q(p, m, q, g->part);
        else
            multiply_by_p(q, m, p, g->part);
        multiply(job->is_p ? p : q, side_of(g, job->is_p), weight);
        store_vector(job->out, g, job->is_p ? p : q, v, job->is_p);
    }
}

void gcb_tiles_to_p(const struct gcb_tiles *t, float *p, float weight, const float *x,
                    const float *q)
{
    work((struct job){.t = t, .work = to_factor, .x = x, .q = q, .out = p, .weight = weight,
                      .is_p = true});
}

void gcb_tiles_to_q(const struct gcb_tiles *t, float *q, float weight, const float *x,
                    const float *p)
{
    work((struct job){.t = t, .work = to_factor, .x = x, .p = p, .out = q, .weight = weight});
}

static float scale_at(const uint8_t *scale, uint64_t vector)
{
    return gcb_float_of((uint32_t)(scale[2 * vector] | scale[2 * vector + 1] << 8) << 16);
}

static void rebuild_group(const struct job *job, const struct group *g, lanes *m, lanes *p,
                          lanes *q)
{
    memset(m, 0, g->part->height * g->part->width * sizeof(*m));
    for (unsigned v = 0; v < g->most; v++) {
        lanes scale;

        load_vector(p, g, job->p, v, true);
        load_vector(q, g, job->q, v, false);
        for (unsigned k = 0; k < LANES; k++)
            scale[k] = job->scale && v < g->tile[k].rank
                           ? scale_at(job->scale, g->tile[k].vector + v)
                           : 1.0f;
        add_product(m, p, q, scale, g->part);
    }
    store_tiles(job->out, g, m);
}

void gcb_tiles_rebuild(const struct gcb_tiles *t, float *out, const float *p, const float *q,
                       const uint8_t *ranks, const uint8_t *scale)
{
    work((struct job){.t = t, .work = rebuild_group, .p = p, .q = q, .out = out, .ranks = ranks,
                      .scale = scale});
}

/* Uses the place of the tiles as scratch. job->x has vectors that replace those that are 0. */
static void orthonormalise_group(const struct job *job, const struct group *g, lanes *m, lanes *p,
                                 lanes *q)
{
    const unsigned n = side_of(g, job->is_p);

    (void)p;
    (void)q;
    for (unsigned k = 0; k < g->count; k++) {
        float *a = job->out + place(g, k, 0, job->is_p);

        for (unsigned v = 0; job->x && v < g->most; v++) {
            float most = 0.0f;

            for (unsigned i = 0; i < n; i++)
                most = fabsf(a[v * n + i]) > most ? fabsf(a[v * n + i]) : most;
            if (most <= 0.0f)
                memcpy(a + v * n, job->x + (size_t)v * GCB_TILE_SIDE, n * sizeof(*a));
        }
        gcb_orthonormalise(a, g->most, n, (double *)m);
    }
}

void gcb_tiles_orthonormalise_p(const struct gcb_tiles *t, float *p)
{
    work((struct job){.t = t, .work = orthonormalise_group, .out = p, .is_p = true});
}

void gcb_tiles_orthonormalise_q(const struct gcb_tiles *t, float *q, const float *drawn)
{
    work((struct job){.t = t, .work = orthonormalise_group, .out = q, .x = drawn});
}

/* ---- factors of a message ---- */

uint64_t gcb_tile_vector_bits(const struct gcb_tile_factors *f, const struct gcb_part *p)
{
    return (uint64_t)(p->height + p->width) * f->bits + (f->bits < 32 ? 16 : 0);
}

/* Makes P and Q final: rounds P, finds the Q that is best for it, and rounds it. Sets *scale. */
static void round_factors(const struct job *job, const struct group *g, lanes *m, lanes *p,
                          lanes *q, unsigned v, float *scale)
{
    const unsigned h = g->part->height, w = g->part->width, bits = job->f->bits;
    const float top = bits < 32 ? (float)((1 << (bits - 1)) - 1) : 1.0f;
    lanes factor, most;

    add_squares(factor, p, h);
    for (unsigned k = 0; k < LANES; k++)
        factor[k] = bits < 32 ? top : factor[k] > 0.0f ? 1.0f / sqrtf(factor[k]) : 0.0f;
    if (bits < 32)
        round_all(p, h, factor);
    else
        multiply(p, h, factor);
    multiply_by_p(q, m, p, g->part);
    add_squares(factor, p, h);
    for (unsigned k = 0; k < LANES; k++)
        factor[k] = bits == 32 ? 1.0f : factor[k] > 0.0f ? 1.0f / factor[k] : 0.0f;
    multiply(q, w, factor);
    store_vector(job->f->exact, g, q, v, false);
    find_largest(most, q, w);
    for (unsigned k = 0; k < LANES; k++) {
        const uint32_t up = (gcb_bits_of(most[k] / top) + 0xffff) & 0xffff0000;

        scale[k] = bits == 32 ? 1.0f : gcb_float_of(up) >= TINY ? gcb_float_of(up) : 0.0f;
        factor[k] = scale[k] > 0.0f ? 1.0f / scale[k] : 0.0f;
    }
    if (bits < 32)
        round_all(q, w, factor);
}

/* The squared error that a vector takes away. */
static double energy_of(const struct job *job, const struct group *g, lanes *p, lanes *q,
                        unsigned v, unsigned k, float scale)
{
    const float *exact = job->f->exact + place(g, k, v, false);
    double length = 0.0, sum = 0.0;

    for (unsigned i = 0; i < g->part->height; i++)
        length += (double)p[i][k] * (double)p[i][k];
    for (unsigned j = 0; j < g->part->width; j++) {
        const double rounded = (double)q[j][k] * (double)scale;

        sum += rounded * (2.0 * (double)exact[j] - rounded);
    }
    return length * sum;
}

/* Stores the scales and gains of vector v. */
static void store_scales(const struct job *job, const struct group *g, lanes *p, lanes *q,
                         unsigned v, const float *scale)
{
    for (unsigned k = 0; k < g->count; k++) {
        const uint64_t at = g->tile[k].vector + v;
        double energy;
        float *gain;

        if (job->f->bits < 32) {
            job->f->scale[2 * at] = (uint8_t)(gcb_bits_of(scale[k]) >> 16);
            job->f->scale[2 * at + 1] = (uint8_t)(gcb_bits_of(scale[k]) >> 24);
        }
        if (!job->f->gain)
            continue;
        gain = job->f->gain + at;
        energy = energy_of(job, g, p, q, v, k, scale[k]) /
                 (double)gcb_tile_vector_bits(job->f, g->part);
        *gain = energy > 0.0 ? (float)sqrt(energy) : 0.0f;
        *gain = v && gain[-1] < *gain ? gain[-1] : *gain;
    }
}

static void factor_group(const struct job *job, const struct group *g, lanes *m, lanes *p, lanes *q)
{
    load_tiles(m, g, job->x);
    for (unsigned v = 0; v < g->most; v++) {
        lanes scale;

        load_vector(q, g, job->q, v, false);
        for (unsigned i = 0; i < GCB_TILE_STEPS; i++) {
            if (i)
                multiply_by_p(q, m, p, g->part);
            normalise(q, g->part->width);
            multiply_by_q(p, m, q, g->part);
            normalise(p, g->part->height);
        }
        round_factors(job, g, m, p, q, v, scale);
        store_vector(job->f->p, g, p, v, true);
        store_vector(job->f->q, g, q, v, false);
        store_scales(job, g, p, q, v, scale);
        for (unsigned k = 0; k < LANES; k++)
            scale[k] = -scale[k];
        add_product(m, p, q, scale, g->part);
    }
}

void gcb_tiles_factor(const struct gcb_tiles *t, const struct gcb_tile_factors *f, const float *x,
                      const float *first)
{
    work((struct job){.t = t, .work = factor_group, .x = x, .q = first, .f = f});
}

/* ---- ranks under a budget ---- */

/* Gives each tile the vectors whose gain is above `least`, and then, tile by tile, the vectors whose
 * gain is `least` if they fit into `left` bits. Returns the bits of all these vectors. */
static uint64_t take_vectors(const struct gcb_tiles *t, const struct gcb_tile_factors *f,
                             uint8_t *ranks, float least, uint64_t left)
{
    struct group g = {.part = NULL};
    uint64_t bits = 0;

    while (next_group(&g, t, NULL))
        for (unsigned k = 0; k < g.count; k++) {
            const uint64_t cost = gcb_tile_vector_bits(f, g.part);
            const float *gain = f->gain + g.tile[k].vector;
            unsigned v = 0;

            while (v < g.most && gain[v] > least)
                v++;
            for (; v < g.most && gain[v] >= least && gain[v] > 0.0f && cost <= left; v++)
                left -= cost;
            bits += v * cost;
            ranks[g.end.tiles - g.count + k] = (uint8_t)v;
        }
    return bits;
}

/* Moves the vectors that remain to the front. */
static void compact(const struct gcb_tiles *t, const struct gcb_tile_factors *f,
                    const uint8_t *ranks)
{
    struct group from = {.part = NULL}, to = {.part = NULL};

    while (next_group(&from, t, NULL) && next_group(&to, t, ranks))
        for (unsigned k = 0; k < to.count; k++) {
            const uint64_t n = to.tile[k].rank;

            memmove(f->p + to.tile[k].p, f->p + from.tile[k].p,
                    n * to.part->height * sizeof(*f->p));
            memmove(f->q + to.tile[k].q, f->q + from.tile[k].q,
                    n * to.part->width * sizeof(*f->q));
            if (f->bits < 32)
                memmove(f->scale + 2 * to.tile[k].vector, f->scale + 2 * from.tile[k].vector,
                        2 * n);
        }
}

void gcb_tiles_choose(const struct gcb_tiles *t, const struct gcb_tile_factors *f, uint8_t *ranks,
                      uint64_t budget)
{
    uint32_t low = 0, high = GCB_INF_BITS; /* the least gain, as a float's bits */

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (take_vectors(t, f, ranks, gcb_float_of(middle), 0) <= budget)
            high = middle;
        else
            low = middle + 1;
    }
    budget -= take_vectors(t, f, ranks, gcb_float_of(high), 0);
    (void)take_vectors(t, f, ranks, gcb_float_of(high), budget);
    compact(t, f, ranks);
}

/* ---- rounded factors in a payload ---- */

uint64_t gcb_tile_floats_bytes(uint64_t n, unsigned bits)
{
    return bits < 32 ? gcb_packed_bytes(n, bits) : n * sizeof(float);
}

void gcb_tile_floats_put(struct gcb_wbuf *out, const float *x, uint64_t n, unsigned bits,
                         const struct gcb_kernels *kernels)
{
    uint8_t *to = gcb_wbuf_take(out, gcb_tile_floats_bytes(n, bits));
    uint16_t code[GCB_TILE];

    if (to && bits == 32)
        memcpy(to, x, n * sizeof(*x));
    for (uint64_t i = 0; to && bits < 32 && i < n; i += GCB_TILE) {
        const size_t m = gcb_tile_length(n, i);

        for (size_t k = 0; k < m; k++)
            code[k] = (uint16_t)((int)x[i + k] + (1 << (bits - 1)) - 1);
        kernels->bitpack.pack(to + gcb_packed_bytes(i, bits), code, m, bits);
    }
}

bool gcb_tile_floats_get(float *x, struct gcb_rbuf *in, uint64_t n, unsigned bits,
                         const struct gcb_kernels *kernels)
{
    const uint8_t *from = gcb_rbuf_take(in, gcb_tile_floats_bytes(n, bits));
    const int top = (1 << (bits < 32 ? bits - 1 : 0)) - 1;
    uint16_t code[GCB_TILE], most = 0;

    if (from && bits == 32)
        memcpy(x, from, n * sizeof(*x));
    for (uint64_t i = 0; from && bits < 32 && i < n; i += GCB_TILE) {
        const size_t m = gcb_tile_length(n, i);

        kernels->bitpack.unpack(code, from + gcb_packed_bytes(i, bits), m, bits);
        for (size_t k = 0; k < m; k++) {
            most = code[k] > most ? code[k] : most;
            x[i + k] = (float)(code[k] - top);
        }
    }
    return from && most <= 2 * top;
}
