#include "src/lib/sparse/list.h"

#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/sparse/select.h"

void gcb_list_fini(struct gcb_list *l)
{
    gcb_free(l->pos);
    gcb_free(l->x);
    *l = (struct gcb_list){0};
}

int gcb_list_reserve(struct gcb_list *l, uint64_t n)
{
    const uint64_t room = l->n + n > 2 * l->room ? l->n + n : 2 * l->room;
    struct gcb_list wider = {.n = l->n, .room = room};

    if (n <= l->room - l->n)
        return 0;
    wider.pos = gcb_alloc_array(room, sizeof(*wider.pos));
    wider.x = gcb_alloc_array(room, sizeof(*wider.x));
    if (!wider.pos || !wider.x) {
        gcb_list_fini(&wider);
        return GCB_E_NOMEM;
    }
    if (l->n) {
        memcpy(wider.pos, l->pos, l->n * sizeof(*l->pos));
        memcpy(wider.x, l->x, l->n * sizeof(*l->x));
    }
    gcb_list_fini(l);
    *l = wider;
    return 0;
}

static uint64_t position(const void *pos, size_t bytes, uint64_t i)
{
    return bytes == sizeof(uint32_t) ? ((const uint32_t *)pos)[i] : ((const uint64_t *)pos)[i];
}

uint64_t gcb_positions_below(const void *pos, size_t bytes, uint64_t n, uint64_t end)
{
    uint64_t low = 0, high = n;

    if (n && position(pos, bytes, n - 1) < end)
        return n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (position(pos, bytes, middle) < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t gcb_list_rank(const struct gcb_list *l, uint64_t pos)
{
    return gcb_positions_below(l->pos, sizeof(*l->pos), l->n, pos);
}

struct gcb_list gcb_list_slice(const struct gcb_list *l, uint64_t first, uint64_t end)
{
    const uint64_t from = gcb_list_rank(l, first);

    if (l->n == 0)
        return (struct gcb_list){0};
    return (struct gcb_list){
        .pos = l->pos + from, .x = l->x + from, .n = gcb_list_rank(l, end) - from};
}

int gcb_list_add(struct gcb_list *out, const struct gcb_list *a, const struct gcb_list *b,
                 float weight)
{
    uint64_t i = 0, j = 0;

    out->n = 0;
    if (gcb_list_reserve(out, a->n + b->n))
        return GCB_E_NOMEM;
    while (i < a->n && j < b->n) {
        const uint64_t p = a->pos[i], q = b->pos[j];
        const float product = weight * b->x[j];

        if (p == q)
            gcb_list_push(out, p, a->x[i] + product);
        else
            gcb_list_push(out, p < q ? p : q, p < q ? a->x[i] : product);
        i += p <= q;
        j += q <= p;
    }
    for (; i < a->n; i++)
        gcb_list_push(out, a->pos[i], a->x[i]);
    for (; j < b->n; j++)
        gcb_list_push(out, b->pos[j], weight * b->x[j]);
    return 0;
}

void gcb_list_filter(struct gcb_list *l, uint32_t magnitude)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < l->n; i++) {
        l->pos[n] = l->pos[i];
        l->x[n] = l->x[i];
        n += gcb_magnitude(l->x[i]) >= magnitude;
    }
    l->n = n;
}

void gcb_list_keep_largest(struct gcb_list *l, const struct gcb_kernels *kernels, uint64_t k)
{
    uint64_t above, ties, n = 0;
    uint32_t kth;

    if (l->n <= k)
        return;
    kth = gcb_select_kth(kernels, l->x, l->n, k, &above);
    ties = k - above;
    for (uint64_t i = 0; i < l->n; i++) {
        const uint32_t magnitude = gcb_magnitude(l->x[i]);
        const bool tie = magnitude == kth && ties > 0;

        l->pos[n] = l->pos[i];
        l->x[n] = l->x[i];
        n += magnitude > kth || tie;
        ties -= tie;
    }
    l->n = n;
}

/* ---- lists of an encoder of the sparse codec without a transform, and their pieces ---- */

int gcb_sparse_select(struct gcb_sparse *s, const struct gcb_step *at, const float *x,
                      struct gcb_list *out)
{
    const uint32_t *pos;

    gcb_sparse_select_from(s, at, x);
    s->v.clamped = s->base.clamped = 0;
    out->n = 0;
    if (gcb_list_reserve(out, s->selection.kept))
        return GCB_E_NOMEM;
    pos = s->selection.pos;
    for (uint64_t g = 0; g < s->segments; g++) {
        const uint64_t kept = s->selection.segment_kept[g], base = g * s->selection.segment;

        if (kept == 0)
            continue;
        memcpy(out->x + out->n, s->selection.value + out->n, kept * sizeof(*out->x));
        for (uint64_t i = 0; i < kept; i++)
            out->pos[out->n + i] = base + pos[i];
        out->n += kept;
        pos += kept;
    }
    return 0;
}

void gcb_sparse_put_piece(struct gcb_sparse *s, uint64_t first, uint64_t length,
                          const struct gcb_list *l, struct gcb_wbuf *out, struct gcb_parts *parts)
{
    const uint64_t segments = gcb_sparse_segments(s, length), segment = s->t.env.segment;
    const uint64_t value_bytes = gcb_values_bytes(s->values_ops, &s->v, l->n);
    const size_t start = out->len;
    uint32_t *pos = s->selection.pos; /* scratch: gcb_sparse_select has copied the positions */

    for (uint64_t g = 0; g < segments; g++) {
        const uint64_t base = first + g * segment;

        gcb_put_u32(out, (uint32_t)gcb_list_slice(l, base, base + segment).n);
    }
    gcb_sparse_put_values(s, l->x, l->n, out);
    for (uint64_t g = 0; g < segments; g++) {
        const uint64_t base = first + g * segment;
        const struct gcb_list part = gcb_list_slice(l, base, base + segment);

        for (uint64_t i = 0; i < part.n; i++)
            pos[i] = (uint32_t)(part.pos[i] - base);
        if (part.n)
            s->index_ops->encode(out, pos, part.n, gcb_sparse_segment_length(s, length, g));
    }
    parts->scale_bytes += s->values_ops->scale_bytes;
    parts->value_bytes += value_bytes;
    parts->index_bytes += out->len - start - s->values_ops->scale_bytes - value_bytes;
}

int gcb_sparse_get_piece(struct gcb_sparse *s, uint64_t first, uint64_t length, struct gcb_rbuf *in,
                         struct gcb_list *out)
{
    const struct gcb_value_coder *ops = s->values_ops;
    struct gcb_sparse_payload p;
    uint32_t pos[GCB_TILE];
    uint64_t *to;

    if (gcb_sparse_open_payload(s, length, in, &p))
        return GCB_E_CORRUPT;
    if (gcb_list_reserve(out, p.total))
        return GCB_E_NOMEM;
    for (uint64_t i = 0; i < p.total; i += GCB_TILE)
        ops->get(&s->v, out->x + out->n + i, p.values + gcb_values_bytes(ops, &s->v, i),
                 gcb_tile_length(p.total, i));
    to = out->pos + out->n;
    for (uint64_t g = 0; g < p.segments; g++) {
        const uint64_t base = first + g * s->t.env.segment;
        struct gcb_index_cursor c;

        if (gcb_sparse_open_segment(s, &p, g, in, &c))
            return GCB_E_CORRUPT;
        while (c.done < c.kept) {
            const size_t n = gcb_tile_length(c.kept, c.done);

            if (s->index_ops->next(&c, pos, n))
                return GCB_E_CORRUPT;
            for (size_t i = 0; i < n; i++)
                *to++ = base + pos[i];
        }
    }
    out->n += p.total;
    return 0;
}
