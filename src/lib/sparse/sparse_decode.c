#include <string.h>

#include "src/lib/sparse/sparse.h"

/* The head of a payload: how many positions there are, and where the values stand. */
struct payload {
    const uint8_t *kept; /* a uint32 per segment */
    uint64_t total;
    const uint8_t *values;
};

static int open_payload(struct gcb_sparse *s, struct gcb_rbuf *in, struct payload *p)
{
    p->kept = gcb_rbuf_take(in, s->segments * sizeof(uint32_t));
    p->total = 0;
    for (uint64_t g = 0; p->kept && g < s->segments; g++) {
        const uint64_t kept = gcb_load_u32(p->kept + g * sizeof(uint32_t));

        if (kept > gcb_sparse_segment(s, g))
            return GCB_E_CORRUPT;
        p->total += kept;
    }
    if (s->transform_ops->get_side)
        s->transform_ops->get_side(&s->t, in);
    if (!p->kept || s->values_ops->get_scale(&s->v, in))
        return GCB_E_CORRUPT;
    p->values = gcb_rbuf_take(in, s->values_ops->bytes(&s->v, p->total * s->transform_ops->width));
    return p->values ? 0 : GCB_E_CORRUPT;
}

/* Zeros the canvas up to where the tile ends and puts its values in. */
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

/* Values are cut into tiles over all segments, positions within each: `values` counts floats given. */
static void get_values(const struct gcb_sparse *s, const struct payload *p, float *x, uint64_t at,
                       size_t n)
{
    const size_t skip = at % 8; /* start at a whole byte of any width */
    float wide[GCB_SPARSE_TILE + 8];

    if (skip == 0) {
        s->values_ops->get(&s->v, x, p->values + s->values_ops->bytes(&s->v, at), n);
        return;
    }
    s->values_ops->get(&s->v, wide, p->values + s->values_ops->bytes(&s->v, at - skip), n + skip);
    memcpy(x, wide + skip, n * sizeof(float));
}

static int decode_segment(struct gcb_sparse *s, const struct payload *p, struct gcb_rbuf *in,
                          uint64_t g, uint64_t before, float *canvas)
{
    const unsigned width = s->transform_ops->width;
    struct gcb_index_cursor c = {
        .n = gcb_sparse_segment(s, g),
        .kept = gcb_load_u32(p->kept + g * sizeof(uint32_t)),
    };
    uint64_t from = 0;
    uint32_t pos[GCB_TILE];
    float x[GCB_SPARSE_TILE];

    if (c.kept && s->index_ops->open(&c, in))
        return GCB_E_CORRUPT;
    for (uint64_t done = 0; done < c.kept;) {
        const size_t n = c.kept - done < GCB_TILE ? c.kept - done : GCB_TILE;

        if (s->index_ops->next(&c, pos, n))
            return GCB_E_CORRUPT;
        get_values(s, p, x, (before + done) * width, n * width);
        if (s->transform_ops->scale)
            s->transform_ops->scale(&s->t, x, pos, n, g * s->segment);
        scatter_tile(s, canvas, x, pos, n, from);
        from = (uint64_t)pos[n - 1] + 1;
        done += n;
    }
    memset(canvas + from * width, 0, (c.n - from) * width * sizeof(float));
    return 0;
}

int gcb_sparse_decode(void *state, struct gcb_rbuf *in, const struct gcb_mview *out)
{
    struct gcb_sparse *s = state;
    float *canvas = s->transform_ops->canvas(&s->t, out->data);
    struct payload p;
    uint64_t before = 0;

    if (open_payload(s, in, &p))
        return GCB_E_CORRUPT;
    for (uint64_t g = 0; g < s->segments; g++) {
        if (decode_segment(s, &p, in, g, before, canvas + g * s->segment * s->transform_ops->width))
            return GCB_E_CORRUPT;
        before += gcb_load_u32(p.kept + g * sizeof(uint32_t));
    }
    if (s->transform_ops->has_room && !s->transform_ops->has_room(&s->t))
        return GCB_E_NOMEM;
    if (s->transform_ops->inverse)
        s->transform_ops->inverse(&s->t, out->data);
    return 0;
}

/* Order-0 entropy of the kept flags: n H(k/n). */
static double flags_entropy(uint64_t kept, uint64_t n)
{
    const uint64_t histogram[2] = {kept, n - kept};

    return gcb_entropy0(histogram, 2);
}

int gcb_sparse_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    struct gcb_sparse *s = state;
    const size_t bytes = gcb_rbuf_left(in);
    struct payload p;
    uint64_t n;
    int err = open_payload(s, in, &p);

    if (err)
        return err;
    n = p.total * s->transform_ops->width;
    parts->scale_bytes = s->transform_ops->side_bytes + s->values_ops->scale_bytes;
    parts->value_bytes = s->values_ops->bytes(&s->v, n);
    parts->index_bytes = bytes - parts->scale_bytes - parts->value_bytes;
    parts->kept = p.total;
    parts->positions = s->t.positions;
    err = s->values_ops->entropy(&s->v, &parts->entropy0_bits, p.values, n);
    parts->entropy0_bits += flags_entropy(p.total, s->t.positions);
    return err;
}
