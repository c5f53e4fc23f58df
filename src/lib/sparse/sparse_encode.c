#include <string.h>

#include "src/lib/sparse/sparse.h"

/* ---- values: the kept coefficients, tile by tile ---- */

struct tiles {
    struct gcb_sparse *s;
    const float *coef;
    void (*take)(struct gcb_sparse *s, const float *x, size_t n, uint64_t at, void *ctx);
    void *ctx;
};

static void gather_tile(const struct gcb_sparse *s, float *tile, const float *coef,
                        const uint32_t *pos, size_t n, uint64_t base)
{
    const struct gcb_select_fns *f = &s->t.kernels->select;

    (s->transform_ops->width == 2 ? f->gather2
                                  : f->gather)(tile, coef + base * s->transform_ops->width, pos, n);
    if (s->transform_ops->scale)
        s->transform_ops->scale(&s->t, tile, pos, n, base);
}

/*
 * Values go out in tiles of GCB_TILE positions counted over all segments, so that every tile but the last
 * is full and ends at a byte. A tile may begin in one segment and end in another.
 */
static void each_tile(const struct tiles *t)
{
    const struct gcb_selection *sel = &t->s->selection;
    const unsigned width = t->s->transform_ops->width;
    uint64_t done = 0, g = 0, left = sel->segments ? sel->segment_kept[0] : 0;
    float tile[GCB_SPARSE_TILE];

    while (done < sel->kept) {
        const size_t want = sel->kept - done < GCB_TILE ? sel->kept - done : GCB_TILE;
        size_t have = 0;

        while (have < want) {
            size_t n;

            while (left == 0)
                left = sel->segment_kept[++g];
            n = left < want - have ? (size_t)left : want - have;
            gather_tile(t->s, tile + have * width, t->coef, sel->pos + done + have, n,
                        g * sel->segment);
            have += n;
            left -= n;
        }
        t->take(t->s, tile, want * width, done * width, t->ctx);
        done += want;
    }
}

static void measure_tile(struct gcb_sparse *s, const float *x, size_t n, uint64_t at, void *ctx)
{
    (void)at;
    (void)ctx;
    s->values_ops->measure(&s->v, x, n);
}

static void put_tile(struct gcb_sparse *s, const float *x, size_t n, uint64_t at, void *ctx)
{
    s->values_ops->put(&s->v, (uint8_t *)ctx + s->values_ops->bytes(&s->v, at), x, n);
}

/* What the last message left behind. */
static void forget_values(struct gcb_values_state *v)
{
    memset(&v->stats, 0, sizeof(v->stats));
    v->clamped = v->positive = v->count = 0;
    v->sum_up = v->sum_down = 0.0;
}

static int put_values(struct gcb_sparse *s, const float *coef, struct gcb_wbuf *out)
{
    const uint64_t n = s->selection.kept * s->transform_ops->width;
    uint8_t *body;

    forget_values(&s->v);
    if (s->values_ops->measure)
        each_tile(&(struct tiles){.s = s, .coef = coef, .take = measure_tile});
    if (s->values_ops->put_scale)
        s->values_ops->put_scale(&s->v, out);
    body = gcb_wbuf_take(out, s->values_ops->bytes(&s->v, n));
    if (!body)
        return GCB_E_NOSPACE;
    each_tile(&(struct tiles){.s = s, .coef = coef, .take = put_tile, .ctx = body});
    return 0;
}

static void put_positions(const struct gcb_sparse *s, struct gcb_wbuf *out)
{
    const uint32_t *pos = s->selection.pos;

    for (uint64_t g = 0; g < s->segments; g++) {
        const uint64_t kept = s->selection.segment_kept[g];

        if (kept)
            s->index_ops->encode(out, pos, kept, gcb_sparse_segment(s, g));
        pos += kept;
    }
}

int gcb_sparse_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                      struct gcb_wbuf *out)
{
    struct gcb_sparse *s = state;
    const struct gcb_probe *probe = s->t.env.probe;
    const float *coef, *order;
    int err;

    if (s->transform_ops->has_room && !s->transform_ops->has_room(&s->t))
        return GCB_E_NOMEM;
    coef = s->transform_ops->forward(&s->t, at, in->data);
    gcb_probe_mark(probe, GCB_STAGE_TRANSFORM);
    order = s->transform_ops->order(&s->t, coef);
    if (in->count && !order)
        return GCB_E_SEND_RAW; /* the transform overflowed */
    s->selector_ops->select(&s->selection, at, order, s->k);
    gcb_probe_mark(probe, GCB_STAGE_SELECT);
    for (uint64_t g = 0; g < s->segments; g++)
        gcb_put_u32(out, (uint32_t)s->selection.segment_kept[g]);
    if (s->transform_ops->put_side)
        s->transform_ops->put_side(&s->t, out);
    err = put_values(s, coef, out);
    if (err)
        return err;
    gcb_probe_mark(probe, GCB_STAGE_QUANTISE);
    put_positions(s, out);
    gcb_probe_mark(probe, GCB_STAGE_INDEX);
    return out->failed ? GCB_E_NOSPACE : 0;
}
