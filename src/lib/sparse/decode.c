#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/sparse/sparse.h"

/* Payloads of the sparse codec are read here: decoded, added to a sum, or described. */

int gcb_sparse_open_payload(struct gcb_sparse *s, uint64_t positions, struct gcb_rbuf *in,
                            struct gcb_sparse_payload *p)
{
    p->positions = positions;
    p->segments = gcb_sparse_segments(s, positions);
    p->kept = gcb_rbuf_take(in, p->segments * sizeof(uint32_t));
    p->total = 0;
    for (uint64_t g = 0; p->kept && g < p->segments; g++) {
        const uint64_t kept = gcb_load_u32(p->kept + g * sizeof(uint32_t));

        if (kept > gcb_sparse_segment_length(s, positions, g))
            return GCB_E_CORRUPT;
        p->total += kept;
    }
    if (s->transform_ops->get_side)
        s->transform_ops->get_side(&s->t, in);
    if (!p->kept || (s->values_ops->get_scale && s->values_ops->get_scale(&s->v, in)))
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
    };
    return c->kept && s->index_ops->open(c, in) ? GCB_E_CORRUPT : 0;
}

/* Sets the canvas to zero from position `from` to the last position of the tile, except for the
 * tile's values. */
static void scatter_tile(const struct gcb_sparse *s, float *canvas, const float *x,
                         const uint32_t *pos, size_t n, uint64_t from)
{
    const unsigned width = s->transform_ops->width;
    const uint64_t to = (uint64_t)pos[n - 1] + 1;

    memset(canvas + from * width, 0, (to - from) * width * sizeof(float));
    if (width == 1) {
        for (size_t j = 0; j < n; j++)
            canvas[pos[j]] = x[j];
        return;
    }
    for (size_t j = 0; j < n; j++)
        memcpy(canvas + 2 * (size_t)pos[j], x + 2 * j, 2 * sizeof(float));
}

/* Reads n values; x[0] is number `at` of all values. A segment may start within a tile of values,
 * between two bytes. */
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

/* `before`: number of positions kept in the segments before segment g. */
static int decode_segment(struct gcb_sparse *s, const struct gcb_sparse_payload *p,
                          struct gcb_rbuf *in, uint64_t g, uint64_t before, float *canvas)
{
    const struct gcb_probe *probe = s->t.env.probe;
    const unsigned width = s->transform_ops->width;
    struct gcb_index_cursor c;
    uint64_t from = 0;
    uint32_t pos[GCB_TILE];
    float x[GCB_SPARSE_TILE];

    if (gcb_sparse_open_segment(s, p, g, in, &c))
        return GCB_E_CORRUPT;
    for (uint64_t done = 0; done < c.kept;) {
        const size_t n = gcb_tile_length(c.kept, done);

        if (s->index_ops->next(&c, pos, n))
            return GCB_E_CORRUPT;
        gcb_probe_mark(probe, GCB_STAGE_INDEX);
        get_values(s, p, x, (before + done) * width, n * width);
        if (s->transform_ops->scale)
            s->transform_ops->scale(&s->t, x, pos, n, g * s->t.env.segment);
        gcb_probe_mark(probe, GCB_STAGE_QUANTISE);
        scatter_tile(s, canvas, x, pos, n, from);
        gcb_probe_mark(probe, GCB_STAGE_SELECT);
        from = (uint64_t)pos[n - 1] + 1;
        done += n;
    }
    memset(canvas + from * width, 0, (c.n - from) * width * sizeof(float));
    gcb_probe_mark(probe, GCB_STAGE_SELECT);
    return 0;
}

static int decode(struct gcb_sparse *s, struct gcb_rbuf *in, float *out)
{
    const struct gcb_transform *transform = s->transform_ops;
    float *canvas = transform->canvas ? transform->canvas(&s->t, out) : out;
    struct gcb_sparse_payload p;
    uint64_t before = 0;

    if (gcb_sparse_open_payload(s, s->t.positions, in, &p))
        return GCB_E_CORRUPT;
    for (uint64_t g = 0; g < s->segments; g++) {
        if (decode_segment(s, &p, in, g, before, canvas + g * s->t.env.segment * transform->width))
            return GCB_E_CORRUPT;
        before += gcb_load_u32(p.kept + g * sizeof(uint32_t));
    }
    if (!transform->inverse)
        return 0;
    if (gcb_sparse_inverse(s, out))
        return GCB_E_NOMEM;
    gcb_probe_mark(s->t.env.probe, GCB_STAGE_TRANSFORM);
    return 0;
}

/* ---- adding ---- */

/* Lists the positions of all segments, and checks that the payload ends after them. Nothing may be
 * added before this check. */
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

/* Adds the `kept` values from number `first` on to the accumulator of segment g. */
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
    err = gcb_sparse_open_payload(s, s->t.positions, in, &p) || list_positions(s, &p, in)
              ? GCB_E_CORRUPT
              : 0;
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

/* Order-0 entropy of n flags, `kept` of them set. */
static double flags_entropy(uint64_t kept, uint64_t n)
{
    const uint64_t histogram[2] = {kept, n - kept};

    return gcb_entropy0(histogram, 2);
}

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
    parts->scale_bytes = s->transform_ops->side_bytes + s->values_ops->scale_bytes;
    parts->value_bytes = gcb_values_bytes(s->values_ops, &s->v, n);
    parts->index_bytes = bytes - parts->scale_bytes - parts->value_bytes;
    parts->kept = p.total;
    parts->positions = s->t.positions;
    err = values_entropy(s, &parts->entropy0_bits, p.values, n);
    parts->entropy0_bits += flags_entropy(p.total, s->t.positions);
    return err;
}
