#include "src/lib/exchange/pieces.h"

#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

int gcb_pieces_init(struct gcb_pieces *p, const struct gcb_collective_env *env,
                    struct gcb_diag *diag)
{
    bool weighted = true;
    int err;

    p->env = *env;
    err = gcb_coder_create(&p->base.encoder, &env->method, &env->coder, diag);
    if (err)
        return err;
    p->sparse = (struct gcb_sparse *)gcb_coder_codec_state(p->base.encoder);
    /* A worker counts its rounding errors as a part of its own tensor, divided by its weight. With
     * weight 0 it cannot, so rounded values are not conserved. */
    for (unsigned w = 0; w < env->workers; w++)
        weighted &= env->weights[w] != 0.0f;
    p->base.conserves = weighted || p->sparse->values == GCB_VALUES_FP32;
    p->parts = gcb_alloc_array(env->workers, sizeof(*p->parts));
    return p->parts ? 0 : gcb_diag_nomem(diag, env->workers * sizeof(*p->parts), "an exchange");
}

void gcb_pieces_fini(struct gcb_pieces *p)
{
    gcb_free(p->out.data);
    gcb_free(p->parts);
    gcb_list_fini(&p->selected);
    gcb_list_fini(&p->result);
    gcb_list_fini(&p->arrived);
    gcb_list_fini(&p->next);
    gcb_list_fini(&p->own);
}

int gcb_pieces_begin(struct gcb_pieces *p, const struct gcb_contribution *in, struct gcb_diag *diag)
{
    p->base.spoilt = in->raw;
    p->selected.n = p->result.n = p->own.n = 0;
    memset(&p->sizes, 0, sizeof(p->sizes));
    if (!in->raw && gcb_sparse_select(p->sparse, &in->at, in->x, &p->selected))
        return gcb_pieces_nomem(diag);
    p->offered = gcb_pieces_weight(p) != 0.0f ? p->selected : (struct gcb_list){0};
    return 0;
}

/* ---- messages ---- */

void gcb_pieces_clear(struct gcb_pieces *p)
{
    p->out.len = 0;
    p->out.failed = false;
}

/* Makes room for `bytes` more bytes in p->out. */
static int reserve(struct gcb_pieces *p, uint64_t bytes, struct gcb_diag *diag)
{
    struct gcb_wbuf wider = {.len = p->out.len, .cap = 2 * p->out.cap};

    if (bytes <= p->out.cap - p->out.len)
        return 0;
    if (wider.cap < p->out.len + bytes)
        wider.cap = p->out.len + bytes;
    wider.data = gcb_alloc(wider.cap);
    if (!wider.data)
        return gcb_diag_nomem(diag, wider.cap, "what a worker sends");
    if (p->out.len)
        memcpy(wider.data, p->out.data, p->out.len);
    gcb_free(p->out.data);
    p->out = wider;
    return 0;
}

int gcb_pieces_put_head(struct gcb_pieces *p, unsigned flags, struct gcb_diag *diag)
{
    const struct gcb_sparse *s = p->sparse;
    const int err = reserve(p, GCB_PIECES_HEAD, diag);

    if (err)
        return err;
    gcb_put_u8(&p->out, (uint8_t)(flags | (p->base.spoilt ? GCB_PIECES_SPOILT : 0)));
    gcb_put_u8(&p->out, (uint8_t)s->values);
    gcb_put_u8(&p->out, (uint8_t)s->index);
    gcb_put_u8(&p->out, (uint8_t)gcb_values_bits(s->values_ops, &s->v));
    p->sizes.header_bytes += GCB_PIECES_HEAD;
    return 0;
}

int gcb_pieces_put_count(struct gcb_pieces *p, uint64_t count, struct gcb_diag *diag)
{
    const int err = reserve(p, sizeof(count), diag);

    if (err)
        return err;
    gcb_put_u64(&p->out, count);
    p->sizes.header_bytes += sizeof(count);
    return 0;
}

int gcb_pieces_put(struct gcb_pieces *p, uint64_t first, uint64_t end, const struct gcb_list *l,
                   struct gcb_list *sent, struct gcb_diag *diag)
{
    const struct gcb_list slice = gcb_list_slice(l, first, end);
    const size_t start = p->out.len;
    const int err = reserve(p, gcb_sparse_bound(p->sparse, end - first, slice.n), diag);
    struct gcb_rbuf in;

    if (err)
        return err;
    gcb_sparse_put_piece(p->sparse, first, end - first, &slice, &p->out, &p->sizes.payload);
    if (p->out.failed)
        return gcb_diag_set(diag, GCB_E_INTERNAL, "a piece exceeds its bound");
    in = (struct gcb_rbuf){.data = p->out.data, .len = p->out.len, .pos = start};
    return sent ? gcb_pieces_get(p, first, end, &in, sent, diag) : 0;
}

int gcb_pieces_open(struct gcb_pieces *p, struct gcb_rbuf *in, const void *data, size_t length,
                    unsigned flags, struct gcb_diag *diag)
{
    const struct gcb_sparse *s = p->sparse;
    unsigned got, values, index, bits;

    *in = (struct gcb_rbuf){.data = data, .len = length};
    got = gcb_get_u8(in);
    values = gcb_get_u8(in);
    index = gcb_get_u8(in);
    bits = gcb_get_u8(in);
    if (in->failed)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "damaged message: it is too short");
    if (values != (unsigned)s->values || index != (unsigned)s->index ||
        bits != gcb_values_bits(s->values_ops, &s->v) ||
        (got & ~(unsigned)GCB_PIECES_SPOILT) != flags)
        return gcb_diag_set(diag, GCB_E_MISMATCH,
                            "the message of another worker has other flags, values or index");
    if (!(got & GCB_PIECES_SPOILT))
        return 1;
    p->base.spoilt = true;
    return gcb_pieces_end(in, diag);
}

void gcb_pieces_check_finite(struct gcb_pieces *p, const struct gcb_list *l)
{
    p->base.spoilt |= p->sparse->t.env.kernels->reduce.max_bits(l->x, l->n) >= GCB_INF_BITS;
}

int gcb_pieces_get(struct gcb_pieces *p, uint64_t first, uint64_t end, struct gcb_rbuf *in,
                   struct gcb_list *out, struct gcb_diag *diag)
{
    const uint64_t before = out->n;
    const int err = gcb_sparse_get_piece(p->sparse, first, end - first, in, out);

    if (err == GCB_E_NOMEM)
        return gcb_pieces_nomem(diag);
    if (err)
        return gcb_pieces_end(NULL, diag);
    if (out->n > before)
        gcb_pieces_check_finite(p, &(struct gcb_list){.x = out->x + before, .n = out->n - before});
    return 0;
}

int gcb_pieces_add(struct gcb_pieces *p, uint64_t first, uint64_t end, struct gcb_rbuf *in,
                   float weight, struct gcb_list *sum, struct gcb_diag *diag)
{
    const struct gcb_list before = *sum;
    int err;

    p->arrived.n = 0;
    err = gcb_pieces_get(p, first, end, in, &p->arrived, diag);
    if (err)
        return err;
    if (gcb_list_add(&p->next, &before, &p->arrived, weight))
        return gcb_pieces_nomem(diag);
    *sum = p->next;
    p->next = before;
    return 0;
}

int gcb_pieces_end(const struct gcb_rbuf *in, struct gcb_diag *diag)
{
    if (in && !in->failed && gcb_rbuf_left(in) == 0)
        return 0;
    return gcb_diag_set(diag, GCB_E_CORRUPT, "damaged message: its pieces do not decode");
}

/* ---- the end of a step ---- */

/* Writes the elements of a list to a tensor of n elements, and 0 elsewhere. */
static void write_list(float *x, uint64_t n, const struct gcb_list *l)
{
    gcb_set_zero(x, n);
    for (uint64_t i = 0; i < l->n; i++)
        x[l->pos[i]] = l->x[i];
}

/* Returns the part of this worker's tensor that arrived. p owns the list's arrays. */
static struct gcb_list own_list(const struct gcb_pieces *p)
{
    if (p->base.spoilt)
        return (struct gcb_list){0};
    return gcb_pieces_weight(p) != 0.0f ? p->own : p->selected;
}

int gcb_pieces_conclude(void *state, float *update, float *own, struct gcb_diag *diag)
{
    const struct gcb_pieces *p = state;
    const struct gcb_list arrived = own_list(p);
    const uint64_t n = p->env.coder.env.count;

    if (update && !p->base.spoilt)
        write_list(update, n, &p->result);
    for (uint64_t i = 0; update && p->base.spoilt && i < n; i++)
        update[i] = NAN;
    if (own)
        write_list(own, n, &arrived);
    return 0;
}

int gcb_pieces_settle(void *state, const struct gcb_addition *to, struct gcb_diag *diag)
{
    const struct gcb_list own = own_list(state);

    for (uint64_t i = 0; i < own.n; i++) {
        const float rest = to->acc[own.pos[i]] + to->weight * own.x[i];

        if (!isfinite(rest)) /* own was divided by a tiny weight */
            continue;
        to->acc[own.pos[i]] = rest;
        if (to->mask)
            gcb_addition_mark(to, own.pos[i], own.x[i]);
    }
    return 0;
}

int gcb_pieces_describe(void *state, struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    const struct gcb_pieces *p = state;
    struct gcb_parts *payload = &parts->payload;

    *parts = p->sizes;
    parts->wire_bytes =
        parts->header_bytes + payload->scale_bytes + payload->value_bytes + payload->index_bytes;
    payload->kept = p->offered.n;
    payload->positions = p->env.coder.env.count;
    payload->entropy0_bits = NAN;
    return 0;
}

void gcb_pieces_add_selection(const void *state, float *sum)
{
    const struct gcb_pieces *p = state;

    for (uint64_t i = 0; i < p->selected.n; i++)
        sum[p->selected.pos[i]] += gcb_pieces_weight(p) * p->selected.x[i];
}
