#include <math.h>
#include <string.h>

#include "kernels/fft/steps.h"
#include "kernels/philox/philox_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/parts.h"
#include "src/lib/sparse/transform.h"

/*
 * Orthonormal transforms of tiles (src/lib/codec/parts.h). The columns of a tile are multiplied by
 * an orthogonal matrix, then its rows; with transform=mean, the whole tile is reflected.
 *
 * The coefficients of a part are sorted by their place in the tile: first the coefficients at row
 * 0, column 0 of all tiles, then those at row 0, column 1. The large coefficients are at few
 * places, so positions take fewer bits than in the order of tiles.
 *
 * Side bytes: their number L (uint32), then L bytes: with transform=random a key (uint64), then the
 * parts.
 */

struct gcb_tiling {
    struct gcb_part *part;
    size_t parts;
    uint8_t *wire; /* the side bytes after L */
    size_t wire_bytes;
    float *basis[GCB_TILE_SIDE + 1]; /* basis[n]: n x n; NULL: not needed */
};

/* Floats that a worker transforms at a time. The largest tile fits. */
#define GROUP ((size_t)2 * GCB_TILE_SIDE * GCB_TILE_SIDE)

/* ---- orthogonal matrices: row k makes coefficient k ---- */

/* The discrete cosine transform (DCT-II). */
static void fill_dct(double *m, unsigned n)
{
    float unit[2];

    for (unsigned k = 0; k < n; k++)
        for (unsigned j = 0; j < n; j++) {
            gcb_fft_unit(unit, (uint64_t)(2 * j + 1) * k, 4 * n);
            m[k * n + j] = (double)unit[0] * sqrt((k ? 2.0 : 1.0) / n);
        }
}

/* The real Fourier basis: a constant, then a cosine and a sine of each frequency. */
static void fill_fourier(double *m, unsigned n)
{
    float unit[2];

    for (unsigned k = 0; k < n; k++)
        for (unsigned j = 0; j < n; j++) {
            const unsigned frequency = (k + 1) / 2;
            const bool alone = k == 0 || 2 * frequency == n; /* the sine is 0 */

            gcb_fft_unit(unit, (uint64_t)j * frequency, n);
            m[k * n + j] = (double)unit[k % 2 == 0 && k] * sqrt((alone ? 1.0 : 2.0) / n);
        }
}

/* Walsh-Hadamard transforms of pieces, whose length is the largest power of two that divides n. */
static void fill_hadamard(double *m, unsigned n)
{
    const unsigned piece = n & -n;

    for (unsigned k = 0; k < n; k++)
        for (unsigned j = 0; j < n; j++) {
            const double sign = __builtin_parity(k % piece & j % piece) ? -1.0 : 1.0;

            m[k * n + j] = k / piece == j / piece ? sign / sqrt(piece) : 0.0;
        }
}

/* Haar wavelets of any length: the mean, then differences between the halves of ever shorter
 * spans. The first half is the longer one if a length is odd. */
static void fill_haar(double *m, unsigned n)
{
    unsigned first[2 * GCB_TILE_SIDE] = {0}, length[2 * GCB_TILE_SIDE] = {n}, spans = 1, row = 1;

    for (unsigned j = 0; j < n; j++)
        m[j] = 1.0 / sqrt(n);
    for (unsigned s = 0; s < spans; s++) {
        const unsigned right = length[s] / 2, left = length[s] - right;

        if (right == 0)
            continue;
        for (unsigned j = 0; j < length[s]; j++)
            m[row * n + first[s] + j] = j < left ? sqrt((double)right / left / length[s])
                                                 : -sqrt((double)left / right / length[s]);
        row++;
        first[spans] = first[s];
        length[spans++] = left;
        first[spans] = first[s] + left;
        length[spans++] = right;
    }
}

/* Subtracts from row k its projections onto the rows before it, which must be orthonormal. Returns
 * the length of what is left. */
static double orthogonalise(double *m, unsigned n, unsigned k)
{
    double square = 0.0;

    for (unsigned i = 0; i < k; i++) {
        double common = 0.0;

        for (unsigned j = 0; j < n; j++)
            common += m[k * n + j] * m[i * n + j];
        for (unsigned j = 0; j < n; j++)
            m[k * n + j] -= common * m[i * n + j];
    }
    for (unsigned j = 0; j < n; j++)
        square += m[k * n + j] * m[k * n + j];
    return sqrt(square);
}

/* A random orthogonal matrix; m is all zeros at first. The rows are nearly Gaussian vectors, so
 * that no direction is preferred: each number is a sum of 12 uniform numbers. Each row is made
 * orthogonal to those before it, twice, because of rounding. */
static void fill_random(double *m, unsigned n, uint64_t key)
{
    for (unsigned k = 0; k < n; k++)
        for (unsigned pass = 0; pass < 2; pass++) {
            double length;

            for (unsigned j = 0; pass == 0 && j < n; j++)
                for (unsigned i = 0; i < 12; i++)
                    m[k * n + j] += gcb_philox_byte(key, (k * n + j) * 16 + i, n) - 127.5;
            length = orthogonalise(m, n, k);
            for (unsigned j = 0; j < n; j++)
                m[k * n + j] /= length;
        }
}

/* Returns the n x n floats of a transform, which the caller frees, or NULL if there is no
 * memory. */
static float *make_basis(enum gcb_transform_id id, unsigned n, uint64_t key)
{
    double *m = gcb_alloc_zero((size_t)n * n, sizeof(*m));
    float *basis = gcb_alloc_array((size_t)n * n, sizeof(*basis));

    if (m && basis) {
        if (id == GCB_TRANSFORM_DCT)
            fill_dct(m, n);
        else if (id == GCB_TRANSFORM_FFT)
            fill_fourier(m, n);
        else if (id == GCB_TRANSFORM_HADAMARD)
            fill_hadamard(m, n);
        else if (id == GCB_TRANSFORM_HAAR)
            fill_haar(m, n);
        else
            fill_random(m, n, key);
        for (size_t i = 0; i < (size_t)n * n; i++)
            basis[i] = (float)m[i];
    } else {
        gcb_free(basis);
        basis = NULL;
    }
    gcb_free(m);
    return basis;
}

/* ---- tilings ---- */

static void destroy_tiling(struct gcb_tiling *g)
{
    if (!g)
        return;
    for (size_t n = 0; n <= GCB_TILE_SIDE; n++)
        gcb_free(g->basis[n]);
    gcb_free(g->part);
    gcb_free(g->wire);
    gcb_free(g);
}

/* Makes the basis for sides of n, unless there is one or none is needed. Returns false if there is
 * no memory. */
static bool add_basis(struct gcb_tiling *g, enum gcb_transform_id id, unsigned n, uint64_t key)
{
    if (n > 1 && !g->basis[n] && id != GCB_TRANSFORM_MEAN)
        g->basis[n] = make_basis(id, n, key);
    return n == 1 || g->basis[n] || id == GCB_TRANSFORM_MEAN;
}

/* Reads the parts from g->wire, and makes the bases for their tiles. Returns 0, GCB_E_CORRUPT or
 * GCB_E_NOMEM. */
static int read_parts(struct gcb_tiling *g, const struct gcb_transform_state *t)
{
    struct gcb_rbuf in = {.data = g->wire, .len = g->wire_bytes};
    const uint64_t key = t->id == GCB_TRANSFORM_RANDOM ? gcb_get_u64(&in) : 0;
    int err = gcb_parts_read(&g->part, &g->parts, &in, t->tile, t->env.count);

    for (size_t i = 0; !err && i < g->parts; i++)
        if (!add_basis(g, t->id, g->part[i].height, key) ||
            !add_basis(g, t->id, g->part[i].width, key))
            err = GCB_E_NOMEM;
    return err;
}

/* Makes the tiling of these side bytes. Returns 0, GCB_E_CORRUPT or GCB_E_NOMEM. */
static int make_tiling(struct gcb_tiling **out, const struct gcb_transform_state *t,
                       const uint8_t *wire, size_t bytes)
{
    struct gcb_tiling *g = gcb_alloc_zero(1, sizeof(*g));
    int err = GCB_E_NOMEM;

    if (g) {
        g->wire_bytes = bytes;
        g->wire = gcb_alloc_array(bytes + 1, 1);
    }
    if (g && g->wire) {
        memcpy(g->wire, wire, bytes);
        err = read_parts(g, t);
    }
    if (err)
        destroy_tiling(g);
    else
        *out = g;
    return err;
}

static int init_encoder(struct gcb_transform_state *t, const struct gcb_codec_env *env)
{
    struct gcb_wbuf out = {.cap = 8 + gcb_parts_bound(env)};
    int err;

    out.data = gcb_alloc_array(out.cap, 1);
    if (!out.data)
        return GCB_E_NOMEM;
    if (t->id == GCB_TRANSFORM_RANDOM)
        gcb_put_u64(&out, gcb_hadamard_key(env, 0));
    gcb_parts_write(&out, env, t->tile);
    err = make_tiling(&t->tiling, t, out.data, out.len);
    gcb_free(out.data);
    return err;
}

bool gcb_tiles_next(const struct gcb_transform_state *t, struct gcb_tiles_part *part)
{
    const struct gcb_part *p = &t->tiling->part[part->number];

    if (part->number == t->tiling->parts)
        return false;
    *part = (struct gcb_tiles_part){
        .number = part->number + 1,
        .first = part->first + part->tiles * part->area,
        .tiles = p->tiles,
        .area = p->height * p->width,
    };
    return true;
}

/* ---- memory and side bytes of a transform of tiles ---- */

static int tiles_init(struct gcb_transform_state *t, const struct gcb_codec_env *env,
                      struct gcb_diag *diag)
{
    int err;

    if (t->tile == GCB_TILE_NONE)
        return gcb_invalid(diag, "transform=%s needs tile=kernel or tile=AxB",
                           gcb_transform_names[t->id]);
    t->workers = (unsigned)env->queue->threads;
    t->coef = gcb_alloc_array(env->count + 1, sizeof(float));
    t->scratch = gcb_alloc_array(2 * t->workers * GROUP, sizeof(float));
    err = t->coef && t->scratch ? 0 : GCB_E_NOMEM;
    if (!err && !env->decoding)
        err = init_encoder(t, env);
    if (err == GCB_E_CORRUPT)
        return gcb_invalid(diag, "the tensors' shapes do not add up to the message's elements");
    return err ? gcb_diag_nomem(diag, (env->count + 2 * t->workers * GROUP) * sizeof(float),
                                "a transform of tiles")
               : 0;
}

static void tiles_fini(struct gcb_transform_state *t)
{
    destroy_tiling(t->tiling);
    gcb_free(t->scratch);
    gcb_free(t->coef);
}

static uint64_t tiles_side_bytes(const struct gcb_transform_state *t)
{
    return sizeof(uint32_t) + (t->tiling ? t->tiling->wire_bytes : 0);
}

static void tiles_put_side(const struct gcb_transform_state *t, struct gcb_wbuf *out)
{
    gcb_put_u32(out, (uint32_t)t->tiling->wire_bytes);
    gcb_put(out, t->tiling->wire, t->tiling->wire_bytes);
}

static int tiles_get_side(struct gcb_transform_state *t, struct gcb_rbuf *in)
{
    const uint32_t bytes = gcb_get_u32(in);
    const uint8_t *wire = gcb_rbuf_take(in, bytes);
    struct gcb_tiling *g;
    int err;

    if (!wire)
        return GCB_E_CORRUPT;
    if (t->tiling && t->tiling->wire_bytes == bytes && memcmp(t->tiling->wire, wire, bytes) == 0)
        return 0;
    if (t->joins)
        return GCB_E_MISMATCH;
    err = make_tiling(&g, t, wire, bytes);
    if (err)
        return err;
    destroy_tiling(t->tiling);
    t->tiling = g;
    return 0;
}

/* ---- transforming ---- */

/* to[k] = sum of basis[k][i] * from[i], or of basis[i][k] * from[i] for the inverse. Elements are
 * vectors of `run` floats. */
static void multiply(float *restrict to, const float *restrict from, const float *basis, unsigned n,
                     size_t run, bool inverse)
{
    for (unsigned k = 0; k < n; k++)
        for (unsigned i = 0; i < n; i++) {
            const float factor = basis[inverse ? i * n + k : k * n + i];
            const float *x = from + i * run;
            float *y = to + k * run;

            for (size_t r = 0; i == 0 && r < run; r++)
                y[r] = 0.0f;
            for (size_t r = 0; r < run; r++)
                y[r] += factor * x[r];
        }
}

/* transform=mean: reflects the n elements x[0], x[apart], ... so that the first becomes their mean
 * times sqrt(n). All others change by the same summand. The reflection is its own inverse. */
static void reflect(float *x, unsigned n, size_t apart)
{
    const double root = sqrt(n);
    double sum = 0.0;
    float shift;

    for (unsigned i = 0; i < n; i++)
        sum += (double)x[i * apart];
    if (n == 1)
        return;
    shift = (float)((sum / root - (double)x[0]) / (root - 1.0));
    x[0] = (float)(sum / root);
    for (unsigned i = 1; i < n; i++)
        x[i * apart] -= shift;
}

/* Transforms `count` tiles. Element (i, j) of tile k is x[(i * width + j) * count + k]. Uses x
 * and `room` as scratch. Returns the array that has the result: x or room. */
static float *transform_group(const struct gcb_transform_state *t, const struct gcb_part *p,
                              float *x, float *room, size_t count, bool inverse)
{
    const unsigned area = p->height * p->width;
    const float *const *basis = (const float *const *)t->tiling->basis;
    float *from = x, *to = room;

    if (t->id == GCB_TRANSFORM_MEAN) {
        for (size_t k = 0; k < count; k++)
            reflect(x + k, area, count);
        return x;
    }
    if (p->height > 1) {
        multiply(to, from, basis[p->height], p->height, p->width * count, inverse);
        to = from;
        from = room;
    }
    if (p->width == 1)
        return from;
    for (unsigned i = 0; i < p->height; i++)
        multiply(to + i * p->width * count, from + i * p->width * count, basis[p->width], p->width,
                 count, inverse);
    return to;
}

struct tiles_job {
    const struct gcb_transform_state *t;
    const float *x; /* forward: the elements; else NULL */
    float *out;     /* inverse: the elements; else NULL */
};

/* Transforms `count` tiles from number `first` on. The part begins at element `at`. `scratch` has
 * 2 * GROUP floats. */
static void transform_tiles(const struct tiles_job *job, const struct gcb_part *p, uint64_t at,
                            uint64_t first, size_t count, float *scratch)
{
    const unsigned area = p->height * p->width;
    float *coef = job->t->coef + at + first, *group;

    for (unsigned e = 0; job->out && e < area; e++)
        memcpy(scratch + e * count, coef + e * p->tiles, count * sizeof(*coef));
    for (size_t k = 0; job->x && k < count; k++) {
        const float *x = job->x + at + gcb_part_tile_at(p, first + k);

        for (unsigned e = 0; e < area; e++)
            scratch[e * count + k] = x[e / p->width * p->cols + e % p->width];
    }
    group = transform_group(job->t, p, scratch, scratch + GROUP, count, job->out);
    for (unsigned e = 0; job->x && e < area; e++)
        memcpy(coef + e * p->tiles, group + e * count, count * sizeof(*coef));
    for (size_t k = 0; job->out && k < count; k++) {
        float *x = job->out + at + gcb_part_tile_at(p, first + k);

        for (unsigned e = 0; e < area; e++)
            x[e / p->width * p->cols + e % p->width] = group[e * count + k];
    }
}

/* Transforms every t->workers-th group of tiles, from number `worker` on. */
static void transform_share(void *ctx, uint64_t worker)
{
    const struct tiles_job *job = ctx;
    const struct gcb_transform_state *t = job->t;
    float *scratch = t->scratch + 2 * GROUP * worker;
    uint64_t at = 0, group = 0;

    for (size_t i = 0; i < t->tiling->parts; i++) {
        const struct gcb_part *p = &t->tiling->part[i];
        const size_t most = GROUP / (p->height * p->width);

        for (uint64_t first = 0; first < p->tiles; first += most)
            if (group++ % t->workers == worker)
                transform_tiles(job, p, at, first,
                                p->tiles - first < most ? (size_t)(p->tiles - first) : most,
                                scratch);
        at += p->matrices * p->rows * p->cols;
    }
}

static const float *tiles_forward(struct gcb_transform_state *t, const float *x)
{
    struct tiles_job job = {.t = t, .x = x};

    gcb_parallel(t->env.queue, t->workers, transform_share, &job);
    return t->coef;
}

static void tiles_inverse(struct gcb_transform_state *t, float *out)
{
    struct tiles_job job = {.t = t, .out = out};

    gcb_parallel(t->env.queue, t->workers, transform_share, &job);
}

const struct gcb_transform gcb_transform_tiles = {
    .width = 1,
    .init = tiles_init,
    .fini = tiles_fini,
    .side_bytes_of = tiles_side_bytes,
    .put_side = tiles_put_side,
    .get_side = tiles_get_side,
    .forward = tiles_forward,
    .order = gcb_transform_order,
    .canvas = gcb_transform_canvas,
    .inverse = tiles_inverse,
};
