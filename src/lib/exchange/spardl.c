#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/exchange/pieces.h"

/*
 * SparDL's sparse all-reduce (Zhao et al., arXiv 2304.00737) with one team: Spar-Reduce-Scatter,
 * then an all-gather. The positions are cut into as many blocks of about equal length as there are
 * workers. After the scatters, worker w has the sum of block w. With n workers, and s = ceil(log2
 * n), there are s rounds of SCATTER and a round of GATHER:
 *
 *   SCATTER  with the distance d = 2^(s-1), ..., 2, 1: worker w sends only to worker w + d, which
 *            adds what it gets to its own sums. Worker w sends its sums of the blocks w + d, ...,
 *            w + min(2 d, n) - 1 (all numbers modulo n).
 *   GATHER   worker w sends block w to all workers.
 *
 * A block is made sparse again before it is sent: a worker that selected k elements keeps the k / n
 * (rounded up, at least one) largest sums of the block; among equal sums, the first. A worker sends
 * each block once.
 *
 * A worker may drop sums that contain other workers' elements, or change them by rounding. It
 * counts these errors as a part of its own tensor that has not arrived, so its memory keeps them
 * (the paper's global residual collection). So p.own may have elements that the worker did not
 * select. A worker with weight 0 drops nothing, because it could not send the rest later.
 */
struct spardl {
    struct gcb_pieces p;
    unsigned steps;         /* number of SCATTER rounds */
    struct gcb_list *block; /* this worker's sums of each block so far */
    struct gcb_list kept;   /* scratch: the kept sums of a block */
    struct gcb_list sent;   /* scratch: the kept sums of a block as receivers read them */
};

static void spardl_fini(void *state)
{
    struct spardl *s = state;

    for (unsigned b = 0; s->block && b < s->p.env.workers; b++)
        gcb_list_fini(&s->block[b]);
    gcb_free(s->block);
    gcb_list_fini(&s->kept);
    gcb_list_fini(&s->sent);
    gcb_pieces_fini(&s->p);
}

static int spardl_init(void *state, const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    struct spardl *s = state;
    const int err = gcb_pieces_init(&s->p, env, diag);

    if (err)
        return err;
    while ((uint64_t)1 << s->steps < env->workers)
        s->steps++;
    s->block = gcb_alloc_zero(env->workers, sizeof(*s->block));
    return s->block ? 0 : gcb_diag_nomem(diag, env->workers * sizeof(*s->block), "an exchange");
}

/* The first position of block b; blocks differ by at most one position in length. */
static uint64_t first_of(const struct spardl *s, uint64_t b)
{
    const uint64_t n = s->p.env.coder.env.count, workers = s->p.env.workers;

    return n / workers * b + (b < n % workers ? b : n % workers);
}

static int spardl_begin(void *state, const struct gcb_contribution *in, struct gcb_diag *diag)
{
    static const struct gcb_list none;
    struct spardl *s = state;
    int err = gcb_pieces_begin(&s->p, in, diag);

    for (unsigned b = 0; !err && b < s->p.env.workers; b++) {
        const struct gcb_list slice =
            gcb_list_slice(&s->p.offered, first_of(s, b), first_of(s, b + 1));

        if (gcb_list_add(&s->block[b], &none, &slice, gcb_pieces_weight(&s->p)))
            err = gcb_pieces_nomem(diag);
    }
    return err;
}

/* ---- sending ---- */

/* Appends to p.own the part of this worker's tensor that has arrived in a block. `sums` are the
 * block's sums; `kept` are the sums that were sent, as receivers read them. The error of a sum,
 * divided by the weight, counts as missing in this worker's element. */
static int find_own(struct spardl *s, const struct gcb_list *sums, const struct gcb_list *kept,
                    struct gcb_diag *diag)
{
    const struct gcb_list *offered = &s->p.offered;
    const float weight = gcb_pieces_weight(&s->p);
    uint64_t i = sums->n ? gcb_list_rank(offered, sums->pos[0]) : 0, j = 0;

    if (gcb_list_reserve(&s->p.own, sums->n))
        return gcb_pieces_nomem(diag);
    for (uint64_t r = 0; r < sums->n; r++) {
        const uint64_t pos = sums->pos[r];
        const bool mine = i < offered->n && offered->pos[i] == pos;
        const bool stays = j < kept->n && kept->pos[j] == pos;
        const float x = mine ? offered->x[i] : 0.0f, arrives = stays ? kept->x[j] : 0.0f;
        const float others = sums->x[r] - weight * x;
        const float own = stays && arrives == sums->x[r] ? x : (arrives - others) / weight;

        i += mine;
        j += stays;
        if (own != 0.0f)
            gcb_list_push(&s->p.own, pos, own);
    }
    return 0;
}

/* Appends block b to the message. Unless this worker's weight is 0, first makes the block sparse,
 * and then lists in p.own what arrives of this worker's tensor. */
static int put_block(struct spardl *s, unsigned b, struct gcb_diag *diag)
{
    static const struct gcb_list none;
    const uint64_t first = first_of(s, b), end = first_of(s, b + 1), workers = s->p.env.workers;
    const uint64_t share = (s->p.offered.n + workers - 1) / workers;
    const bool weighted = gcb_pieces_weight(&s->p) != 0.0f;
    int err;

    if (gcb_list_add(&s->kept, &none, &s->block[b], 1.0f))
        return gcb_pieces_nomem(diag);
    if (weighted)
        gcb_list_keep_largest(&s->kept, s->p.sparse->t.env.kernels, share ? share : 1);
    s->sent.n = 0;
    err = gcb_pieces_put(&s->p, first, end, &s->kept, weighted ? &s->sent : NULL, diag);
    return err || !weighted ? err : find_own(s, &s->block[b], &s->sent, diag);
}

/* Writes a message with the blocks worker + from to worker + to - 1 (modulo the number of
 * workers). */
static int put_blocks(struct spardl *s, unsigned from, unsigned to, struct gcb_diag *diag)
{
    const unsigned workers = s->p.env.workers, worker = s->p.env.worker;
    int err;

    for (unsigned j = from; j < to; j++)
        gcb_pieces_check_finite(&s->p, &s->block[(worker + j) % workers]);
    err = gcb_pieces_put_head(&s->p, 0, diag);
    for (unsigned j = from; !err && !s->p.base.spoilt && j < to; j++)
        err = put_block(s, (worker + j) % workers, diag);
    return err;
}

/* The number of blocks that are sent to the worker at this distance. */
static unsigned blocks_at(const struct spardl *s, unsigned distance)
{
    const unsigned left = s->p.env.workers - distance;

    return left < distance ? left : distance;
}

static int spardl_send(void *state, unsigned round, struct gcb_round *out, struct gcb_diag *diag)
{
    struct spardl *s = state;
    const unsigned workers = s->p.env.workers;
    int err;

    if (round > s->steps)
        return 0;
    gcb_pieces_clear(&s->p);
    if (round < s->steps) {
        const unsigned distance = 1u << (s->steps - 1 - round);

        err = put_blocks(s, distance, distance + blocks_at(s, distance), diag);
        memset(s->p.parts, 0, workers * sizeof(*s->p.parts));
        s->p.parts[(s->p.env.worker + distance) % workers] = s->p.out.len;
        out->kind = GCB_ROUND_SCATTER;
        out->parts = s->p.parts;
    } else {
        err = put_blocks(s, 0, 1, diag);
        out->kind = GCB_ROUND_GATHER;
    }
    out->data = s->p.out.data;
    out->bytes = s->p.out.len;
    return err ? err : 1;
}

/* ---- receiving ---- */

static int spardl_receive(void *state, unsigned round, uint32_t from, const void *data,
                          size_t length, struct gcb_diag *diag)
{
    struct spardl *s = state;
    const unsigned workers = s->p.env.workers, worker = s->p.env.worker;
    const unsigned distance = round < s->steps ? 1u << (s->steps - 1 - round) : 0; /* 0: GATHER */
    struct gcb_rbuf in;
    int more, err = 0;

    if (distance && from != (worker + workers - distance) % workers)
        return length ? gcb_pieces_end(NULL, diag) : 0;
    more = gcb_pieces_open(&s->p, &in, data, length, 0, diag);
    if (more <= 0)
        return more;
    for (unsigned j = 0; distance && !err && j < blocks_at(s, distance); j++) {
        const unsigned b = (worker + j) % workers;

        err = gcb_pieces_add(&s->p, first_of(s, b), first_of(s, b + 1), &in, 1.0f, &s->block[b],
                             diag);
    }
    if (!distance)
        err = gcb_pieces_get(&s->p, first_of(s, from), first_of(s, from + 1), &in, &s->p.result,
                             diag);
    return err ? err : gcb_pieces_end(&in, diag);
}

const struct gcb_collective_ops gcb_collective_spardl = {
    .state_size = sizeof(struct spardl),
    .init = spardl_init,
    .fini = spardl_fini,
    .begin = spardl_begin,
    .send = spardl_send,
    .receive = spardl_receive,
    .conclude = gcb_pieces_conclude,
    .settle = gcb_pieces_settle,
    .describe = gcb_pieces_describe,
    .add_selection = gcb_pieces_add_selection,
};
