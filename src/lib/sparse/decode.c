#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/sparse/blocks.h"
#include "src/lib/sparse/list.h"
#include "src/lib/sparse/sparse.h"

/* Reading payloads of the sparse codec: to decode them, to add them to a sum, or to describe
 * them. */

int gcb_sparse_open_payload(struct gcb_sparse *s, uint64_t positions, struct gcb_rbuf *in,
                            struct gcb_sparse_payload *p)
{
    int err = 0;

    p->positions = positions;
    p->segments = gcb_sparse_segments(s, positions);
    p->kept = gcb_rbuf_take(in, p->segments * sizeof(uint32_t));
    if (!p->kept)
        return GCB_E_CORRUPT;
    p->total = 0;
    for (uint64_t g = 0; g < p->segments; g++) {
        const uint64_t kept = gcb_load_u32(p->kept + g * sizeof(uint32_t));

        if (kept > gcb_sparse_segment_length(s, positions, g))
            return GCB_E_CORRUPT;
        p->total += kept;
    }
    if (s->transform_ops->get_side)
        err = s->transform_ops->get_side(&s->t, in);
    if (err)
        return err;
    gcb_values_set_count(&s->v, p->total * s->transform_ops->width);
    if (s->values_ops->get_scale && s->values_ops->get_scale(&s->v, in))
        return GCB_E_CORRUPT;
    p->values = gcb_rbuf_take(
        in, gcb_values_bytes(s->values_ops, &s->v, p->total * s->transform_ops->width));
    return p->values ? 0 : GCB_E_CORRUPT;
}

int gcb_sparse_open_segment(const struct gcb_sparse *s, const struct gcb_sparse_payload *p,
                            uint64_t g, struct gcb_rbuf *in, struct gcb_index_cursor *c)
{
    *c = (struct gcb_index_cursor){
        .n = gcb_sparse_segment_length(s, p->positions, g),
        .kept = gcb_load_u32(p->kept + g * sizeof(uint32_t)),
        .tables = s->table_bytes >= gcb_sparse_table_bytes(s, s->index_ops) ? s->tables : NULL,
    };
    return c->kept && s->index_ops->open(c, in) ? GCB_E_CORRUPT : 0;
}

/* Reads n values into x; x[0] becomes value number `at` of the payload. A segment's first value may
 * begin within a byte. */
static void get_values(const struct gcb_sparse *s, const struct gcb_sparse_payload *p, float *x,
                       uint64_t at, size_t n)
{
    const struct gcb_value_coder *ops = s->values_ops;
    const size_t skip = at % 8; /* eight values of any width fill whole bytes */
    const uint8_t *in = p->values + gcb_values_bytes(ops, &s->v, at - skip);
    float wide[GCB_SPARSE_TILE + 8];

    if (skip == 0) {
        ops->get(&s->v, x, in, n);
        return;
    }
    ops->get(&s->v, wide, in, n + skip);
    memcpy(x, wide + skip, n * sizeof(float));
}

/* Reads the kept positions of a segment and their coefficients, tile by tile. */
struct reader {
    struct gcb_sparse *s;
    const struct gcb_sparse_payload *p;
    struct gcb_index_cursor c;
    uint64_t base;   /* first position of the segment */
    uint64_t before; /* number of positions kept in earlier segments */
    size_t n, used;  /* positions in the tile, and how many of them were scattered */
    uint32_t pos[GCB_TILE];
    float x[GCB_SPARSE_TILE];
};

/* Reads the next tile. Returns 0 or GCB_E_CORRUPT. */
static int next_tile(struct reader *r)
{
    struct gcb_sparse *s = r->s;
    const unsigned width = s->transform_ops->width;
    const uint64_t done = r->c.done;

    r->n = gcb_tile_length(r->c.kept, done);
    r->used = 0;
    if (s->index_ops->next(&r->c, r->pos, r->n))
        return GCB_E_CORRUPT;
    gcb_probe_mark(s->t.env.probe, GCB_STAGE_INDEX);
    get_values(s, r->p, r->x, (r->before + done) * width, r->n * width);
    if (s->transform_ops->scale)
        s->transform_ops->scale(&s->t, r->x, r->pos, r->n, r->base);
    gcb_probe_mark(s->t.env.probe, GCB_STAGE_QUANTISE);
    return 0;
}

/* Writes the tile's remaining coefficients at positions below `end` to coef, which begins at
 * position `first`. */
static void scatter(struct reader *r, float *coef, uint64_t first, uint64_t end)
{
    size_t j = r->used;
    const size_t n = j + gcb_positions_below(r->pos + j, sizeof(*r->pos), r->n - j, end);

    if (r->s->transform_ops->width == 1)
#pragma GCC unroll 4
        for (; j < n; j++)
            coef[r->pos[j] - first] = r->x[j];
    for (; j < n; j++)
        memcpy(coef + 2 * (r->pos[j] - first), r->x + 2 * j, 2 * sizeof(*coef));
    r->used = n;
}

/* Sets all coefficients at positions from `first` to `end` - 1 of the segment; those that are not
 * kept are 0. A gcb_blocks_read_fn. */
static int read_range(void *ctx, float *coef, uint64_t first, uint64_t end)
{
    struct reader *r = ctx;

    memset(coef, 0, (end - first) * r->s->transform_ops->width * sizeof(*coef));
    scatter(r, coef, first, end);
    while (r->used == r->n && r->c.done < r->c.kept) {
        if (next_tile(r))
            return GCB_E_CORRUPT;
        scatter(r, coef, first, end);
    }
    gcb_probe_mark(r->s->t.env.probe, GCB_STAGE_SELECT);
    return 0;
}

#define RANGE ((uint64_t)8192) /* positions whose coefficients fit in the cache */

/* Sets all coefficients of the segment in the canvas, which begins at the first segment. */
static int read_segment(struct reader *r, float *canvas)
{
    const unsigned width = r->s->transform_ops->width;

    for (uint64_t at = 0, end; at < r->c.n; at = end) {
        end = r->c.n - at < RANGE ? r->c.n : at + RANGE;
        if (read_range(r, canvas + (r->base + at) * width, at, end))
            return GCB_E_CORRUPT;
    }
    return 0;
}

static int decode(struct gcb_sparse *s, struct gcb_rbuf *in, float *out)
{
    const struct gcb_transform *transform = s->transform_ops;
    const bool by_chunks = s->t.room && s->segments == 1 && s->t.env.queue->threads == 1;
    float *canvas = transform->canvas ? transform->canvas(&s->t, out) : out;
    struct gcb_sparse_payload p;
    struct reader r; /* its arrays are large, and need no value */
    int err;

    r.s = s;
    r.p = &p;
    r.base = r.before = r.n = r.used = 0;
    err = gcb_sparse_open_payload(s, s->t.positions, in, &p);
    if (err)
        return err;
    for (uint64_t g = 0; g < s->segments; g++) {
        if (gcb_sparse_open_segment(s, &p, g, in, &r.c) ||
            (by_chunks ? gcb_blocks_decode(&s->t, transform, out, read_range, &r)
                       : read_segment(&r, canvas)))
            return GCB_E_CORRUPT;
        r.base += s->t.env.segment;
        r.before += r.c.kept;
        r.n = r.used = 0;
    }
    if (!transform->inverse || by_chunks)
        return 0;
    if (gcb_sparse_inverse(s, out))
        return GCB_E_NOMEM;
    gcb_probe_mark(s->t.env.probe, GCB_STAGE_TRANSFORM);
    return 0;
}

/* ---- adding ---- */

/* Lists the positions of all segments, each within its segment, in s->listed, and checks that the
 * payload ends after them. The caller adds nothing before this check. */
static int list_positions(const struct gcb_sparse *s, const struct gcb_sparse_payload *p,
                          struct gcb_rbuf *in)
{
    uint32_t *pos = s->listed;

    for (uint64_t g = 0; g < s->segments; g++) {
        struct gcb_index_cursor c;

        if (gcb_sparse_open_segment(s, p, g, in, &c))
            return GCB_E_CORRUPT;
        while (c.done < c.kept) {
            const size_t n = gcb_tile_length(c.kept, c.done);

            if (s->index_ops->next(&c, pos, n))
                return GCB_E_CORRUPT;
            pos += n;
        }
    }
    return in->failed || gcb_rbuf_left(in) ? GCB_E_CORRUPT : 0;
}

/* Adds the values of the `kept` positions of segment g. The first of them is kept position number
 * `first` of the payload. */
static void add_segment(const struct gcb_sparse *s, const struct gcb_sparse_payload *p, uint64_t g,
                        uint64_t first, uint64_t kept, const struct gcb_addition *to)
{
    const struct gcb_accumulate_fns *f = &s->t.env.kernels->accumulate;
    const unsigned width = s->transform_ops->width;
    const uint64_t base = g * s->t.env.segment;
    float x[GCB_SPARSE_TILE];

    for (uint64_t done = 0; done < kept; done += GCB_TILE) {
        const size_t n = kept - done < GCB_TILE ? kept - done : GCB_TILE;
        const uint32_t *pos = s->listed + first + done;

        get_values(s, p, x, (first + done) * width, n * width);
        if (s->transform_ops->scale)
            s->transform_ops->scale(&s->t, x, pos, n, base);
        (width == 2 ? f->scatter2 : f->scatter)(to->acc + base * width, pos, x, n, to->weight);
        for (size_t j = 0; to->mask && j < n; j++)
            gcb_addition_mark(to, base + pos[j], x[j]);
    }
}

static int add(struct gcb_sparse *s, struct gcb_rbuf *in, const struct gcb_addition *to)
{
    const uint64_t key = s->t.key;
    uint64_t first = 0;
    struct gcb_sparse_payload p;
    int err;

    if (!s->listed)
        s->listed = gcb_alloc_array(s->t.positions, sizeof(*s->listed));
    if (!s->listed)
        return GCB_E_NOMEM;
    s->t.joins = to->joins;
    err = gcb_sparse_open_payload(s, s->t.positions, in, &p);
    s->t.joins = false;
    if (!err)
        err = list_positions(s, &p, in);
    if (!err && to->joins && s->t.key != key)
        err = GCB_E_MISMATCH;
    if (err) {
        s->t.key = key;
        return err;
    }
    for (uint64_t g = 0; g < s->segments; g++) {
        const uint64_t kept = gcb_load_u32(p.kept + g * sizeof(uint32_t));

        add_segment(s, &p, g, first, kept, to);
        first += kept;
    }
    return 0;
}

/* ---- members of the codec's table ---- */

int gcb_sparse_read(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *to)
{
    return to ? add(state, in, to) : decode(state, in, out);
}

float *gcb_sparse_canvas(void *state, uint64_t *floats)
{
    struct gcb_sparse *s = state;

    *floats = s->t.positions * s->transform_ops->width;
    return s->transform_ops->canvas ? s->t.coef : NULL;
}

int gcb_sparse_inverse(void *state, float *out)
{
    struct gcb_sparse *s = state;
    const struct gcb_transform *transform = s->transform_ops;

    if (transform->has_room && !transform->has_room(&s->t))
        return GCB_E_NOMEM;
    transform->inverse(&s->t, out);
    return 0;
}

/* ---- descriptions of payloads, for results ---- */

/* Total order-0 entropy, in bits, of n flags of which `kept` are set. */
static double flags_entropy(uint64_t kept, uint64_t n)
{
    const uint64_t histogram[2] = {kept, n - kept};

    return gcb_entropy0(histogram, 2);
}

/* Total order-0 entropy of n values, in bits. Values of more than 16 bits count with all their
 * bits, because their histogram would be too large. Returns 0 or GCB_E_NOMEM. */
static int values_entropy(const struct gcb_sparse *s, double *bits, const uint8_t *values,
                          uint64_t n)
{
    const unsigned width = gcb_values_bits(s->values_ops, &s->v);

    if (width > 0 && width <= 16)
        return gcb_packed_entropy(bits, values, n, width, s->v.kernels);
    *bits = (double)width * (double)n;
    return 0;
}

int gcb_sparse_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    struct gcb_sparse *s = state;
    const size_t bytes = gcb_rbuf_left(in);
    struct gcb_sparse_payload p;
    uint64_t n;
    int err = gcb_sparse_open_payload(s, s->t.positions, in, &p);

    if (err)
        return err;
    n = p.total * s->transform_ops->width;
    parts->scale_bytes = gcb_sparse_side_bytes(s) + s->values_ops->scale_bytes;
    parts->value_bytes = gcb_values_bytes(s->values_ops, &s->v, n);
    parts->index_bytes = bytes - parts->scale_bytes - parts->value_bytes;
    parts->kept = p.total;
    parts->positions = s->t.positions;
    err = values_entropy(s, &parts->entropy0_bits, p.values, n);
    parts->entropy0_bits += flags_entropy(p.total, s->t.positions);
    return err;
}
