#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/exchange/pieces.h"
#include "src/lib/sparse/select.h"

/*
 * Ok-Topk, a sparse all-reduce (Li and Hoefler, PPoPP 2022). The positions are divided into as many
 * regions as there are workers, with about the same number of selected elements in each. Each
 * worker owns a region. A step has these rounds:
 *
 *   DIVIDE (all-reduce)
 *            Only with two workers or more: in the first step, and in the first of each
 *            DIVIDE_EVERY steps. Each worker computes the boundaries that would divide its own
 *            selection evenly. The means of all workers' boundaries are used until the next DIVIDE.
 *   SCATTER  Each worker sends each owner the elements that it selected in the owner's region. The
 *            owner adds them up, in the order of the workers.
 *   GATHER   Each owner sends all workers the sums whose magnitude reaches a threshold. In the
 *            first step, and in the first of each ESTIMATE_EVERY steps, it sends all sums. Then all
 *            workers compute a new threshold, and drop the sums below it. The new threshold is the
 *            k-th largest magnitude, where k is the mean number of elements that a worker with a
 *            weight selected.
 *
 * In steps without a new threshold: if more than 4/3 k sums reach the threshold, the k-th largest
 * magnitude becomes the threshold of the next step. The published code multiplies the threshold by
 * 1.008 instead, which is too slow while a memory fills. If fewer than 2/3 k sums reach the
 * threshold, it is divided by 1.008, as in the published code.
 *
 * The paper balances the lengths of what the owners send before GATHER. This code does not, like
 * the published code, because the parts of a gather may have any length.
 *
 * An element that a worker selected has arrived if its position is in the result. If values are
 * rounded, the owner's rounding errors count as part of the owner's tensor.
 *
 * New boundaries and thresholds are kept only after the last message of a step. If a worker fails
 * before it sends to GATHER, no worker gets that far. So all workers change them in the same steps.
 */
#define DIVIDE_EVERY 64
#define ESTIMATE_EVERY 32
#define DRIFT 1.008f /* divides a threshold that too few sums reach */

struct oktopk {
    struct gcb_pieces p;
    /* workers + 1 positions: owner w has the region from boundaries[w] to boundaries[w + 1] - 1 */
    uint64_t *boundaries;
    uint64_t *proposed;      /* new boundaries, in a step that divides */
    float *means;            /* workers - 1 own boundaries, then their sums over all workers */
    bool divided, estimated; /* whether boundaries, or a threshold, have been computed */
    uint64_t divided_at, estimated_at; /* the last steps that computed them */
    uint32_t threshold;                /* a magnitude, as a bit pattern */

    /* the current step */
    uint64_t step;
    bool divides, estimates;
    struct gcb_list sent; /* what the owners add of this worker's tensor, after rounding */
    struct gcb_list sum;  /* sums of this worker's region; after GATHER, their rounding errors */
    uint64_t selected;    /* number of elements that all workers with a weight selected */
};

static void oktopk_fini(void *state)
{
    struct oktopk *s = state;

    gcb_pieces_fini(&s->p);
    gcb_free(s->boundaries);
    gcb_free(s->proposed);
    gcb_free(s->means);
    gcb_list_fini(&s->sent);
    gcb_list_fini(&s->sum);
}

static int oktopk_init(void *state, const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    struct oktopk *s = state;
    const int err = gcb_pieces_init(&s->p, env, diag);

    if (err)
        return err;
    s->boundaries = gcb_alloc_zero((uint64_t)env->workers + 1, sizeof(*s->boundaries));
    s->proposed = gcb_alloc_zero((uint64_t)env->workers + 1, sizeof(*s->proposed));
    s->means = gcb_alloc_zero(env->workers, sizeof(*s->means));
    if (!s->boundaries || !s->proposed || !s->means)
        return gcb_diag_nomem(diag, env->workers * sizeof(*s->boundaries), "an exchange");
    s->boundaries[env->workers] = s->proposed[env->workers] = env->coder.env.count;
    return 0;
}

static int oktopk_begin(void *state, const struct gcb_contribution *in, struct gcb_diag *diag)
{
    struct oktopk *s = state;

    s->step = in->at.step;
    s->divides = s->p.env.workers > 1 &&
                 (!s->divided || s->step / DIVIDE_EVERY != s->divided_at / DIVIDE_EVERY);
    s->estimates = !s->estimated || s->step / ESTIMATE_EVERY != s->estimated_at / ESTIMATE_EVERY;
    s->sent.n = s->sum.n = 0;
    s->selected = 0;
    return gcb_pieces_begin(&s->p, in, diag);
}

/* ---- checkpoints ---- */

static uint64_t oktopk_kept_bytes(const void *state)
{
    const struct oktopk *s = state;

    return 3 * sizeof(uint64_t) + (s->p.env.workers - 1) * sizeof(*s->boundaries);
}

static void oktopk_write(const void *state, struct gcb_wbuf *out)
{
    const struct oktopk *s = state;

    gcb_put_u64(out, s->divided_at);
    gcb_put_u64(out, s->estimated_at);
    gcb_put_u32(out, s->threshold);
    gcb_put_u32(out, s->divided + 2u * s->estimated);
    for (unsigned w = 1; w < s->p.env.workers; w++)
        gcb_put_u64(out, s->boundaries[w]);
}

/* The state is new, so it needs no change if `in` is NULL, which means that nothing was saved. */
static int oktopk_read(void *state, struct gcb_rbuf *in)
{
    struct oktopk *s = state;
    uint32_t known;

    if (!in)
        return 0;
    s->divided_at = gcb_get_u64(in);
    s->estimated_at = gcb_get_u64(in);
    s->threshold = gcb_get_u32(in);
    known = gcb_get_u32(in);
    s->divided = known & 1;
    s->estimated = known & 2;
    for (unsigned w = 1; w < s->p.env.workers; w++) {
        s->boundaries[w] = gcb_get_u64(in);
        if (s->boundaries[w] < s->boundaries[w - 1] || s->boundaries[w] > s->p.env.coder.env.count)
            return GCB_E_MISMATCH;
    }
    return in->failed || known > 3 || s->threshold >= GCB_INF_BITS ? GCB_E_MISMATCH : 0;
}

static const struct gcb_kept_ops oktopk_kept_ops = {
    .bytes = oktopk_kept_bytes,
    .write = oktopk_write,
    .read = oktopk_read,
};

/* ---- regions ---- */

/* Sends boundaries between which this worker offers equal numbers of elements. If the worker offers
 * no elements, the boundaries divide the positions evenly. */
static void propose_boundaries(struct oktopk *s, struct gcb_round *out)
{
    const uint64_t workers = s->p.env.workers, n = s->p.offered.n;

    for (uint64_t w = 1; w < workers; w++) /* element number n * w / workers, without overflow */
        s->means[w - 1] = n ? (float)s->p.offered.pos[n / workers * w + n % workers * w / workers]
                            : (float)s->p.env.coder.env.count / (float)workers * (float)w;
    out->kind = GCB_ROUND_REDUCE;
    out->reduction = GCB_SUM_F32;
    out->data = s->means;
    out->bytes = (workers - 1) * sizeof(*s->means);
    s->p.sizes.header_bytes += out->bytes;
}

/* Sets the proposed boundaries to the means of all workers' boundaries; `data` has their sums. */
static int take_boundaries(struct oktopk *s, const void *data, size_t length, struct gcb_diag *diag)
{
    const unsigned workers = s->p.env.workers;
    const uint64_t count = s->p.env.coder.env.count;

    if (length != (workers - 1) * sizeof(*s->means))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%zu bytes arrived, but a round has %zu", length,
                            (workers - 1) * sizeof(*s->means));
    memcpy(s->means, data, length);
    for (unsigned w = 1; w < workers; w++) {
        const float mean = s->means[w - 1] / (float)workers;
        const uint64_t before = s->proposed[w - 1];

        if (mean >= (float)before)
            s->proposed[w] = mean < (float)count ? (uint64_t)mean : count;
        else /* hostile values: out of order, or a NaN */
            s->proposed[w] = before;
    }
    return 0;
}

/* The boundaries that this step uses. */
static const uint64_t *regions(const struct oktopk *s)
{
    return s->divides ? s->proposed : s->boundaries;
}

/* ---- rounds ---- */

static unsigned flags(const struct oktopk *s)
{
    return s->estimates ? GCB_PIECES_ESTIMATES : 0;
}

static int scatter(struct oktopk *s, struct gcb_round *out, struct gcb_diag *diag)
{
    struct gcb_pieces *p = &s->p;
    const uint64_t *region = regions(s);
    int err = 0;

    for (unsigned w = 0; !err && w < p->env.workers; w++) {
        const size_t start = p->out.len;

        err = gcb_pieces_put_head(p, flags(s), diag);
        if (!err && !p->base.spoilt)
            err = gcb_pieces_put(p, region[w], region[w + 1], &p->offered, &s->sent, diag);
        p->parts[w] = p->out.len - start;
    }
    out->kind = GCB_ROUND_SCATTER;
    out->parts = p->parts;
    return err;
}

static int add_piece(struct oktopk *s, uint32_t from, struct gcb_rbuf *in, struct gcb_diag *diag)
{
    const uint64_t *region = regions(s) + s->p.env.worker;

    return gcb_pieces_add(&s->p, region[0], region[1], in, s->p.env.weights[from], &s->sum, diag);
}

static int gather(struct oktopk *s, struct gcb_round *out, struct gcb_diag *diag)
{
    const uint64_t *region = regions(s) + s->p.env.worker;
    int err;

    gcb_pieces_check_finite(&s->p, &s->sum);
    if (!s->estimates)
        gcb_list_filter(&s->sum, s->threshold);
    out->kind = GCB_ROUND_GATHER;
    err = gcb_pieces_put_head(&s->p, flags(s), diag);
    if (err || s->p.base.spoilt)
        return err;
    err = gcb_pieces_put_count(&s->p, s->p.offered.n, diag);
    return err ? err : gcb_pieces_put(&s->p, region[0], region[1], &s->sum, NULL, diag);
}

/* Appends an owner's sums to the result. For its own sums, this worker computes the rounding
 * errors. */
static int take_sums(struct oktopk *s, uint32_t from, struct gcb_rbuf *in, struct gcb_diag *diag)
{
    struct gcb_list *result = &s->p.result, *sum = &s->sum;
    const uint64_t *region = regions(s) + from, before = result->n;
    const uint64_t selected = gcb_get_u64(in);
    int err;

    if (selected > s->p.env.coder.env.count)
        return gcb_pieces_end(NULL, diag);
    s->selected += selected;
    err = gcb_pieces_get(&s->p, region[0], region[1], in, result, diag);
    if (err || from != s->p.env.worker)
        return err;
    if (result->n - before != sum->n) /* not what this worker sent */
        return gcb_pieces_end(NULL, diag);
    for (uint64_t i = 0; i < sum->n; i++)
        sum->x[i] = result->x[before + i] - sum->x[i];
    return 0;
}

/* ---- the end of a step ---- */

/* Computes the next threshold, and in a step that estimates, drops the sums below it. The comment
 * at the top of this file explains the cases. */
static void settle_threshold(struct oktopk *s)
{
    struct gcb_list *result = &s->p.result;
    uint64_t workers = 0; /* number of workers with a weight */
    uint64_t k;           /* mean number of elements that they selected, at least 1 */
    uint64_t above;       /* a result of gcb_select_kth that is not used */

    for (unsigned w = 0; w < s->p.env.workers; w++)
        workers += s->p.env.weights[w] != 0.0f;
    k = workers ? (s->selected + workers / 2) / workers : 0;
    k = k ? k : 1;
    if (s->estimates) {
        s->estimated = result->n > 0; /* without sums, the next step estimates again */
        s->estimated_at = s->step;
    }
    if (result->n && (s->estimates || 3 * result->n > 4 * k))
        s->threshold = gcb_select_kth(s->p.sparse->t.env.kernels, result->x, result->n,
                                      k < result->n ? k : result->n, &above);
    else if (3 * result->n < 2 * k)
        s->threshold = gcb_bits_of(gcb_float_of(s->threshold) / DRIFT);
    if (s->estimates)
        gcb_list_filter(result, s->threshold);
}

/* Lists the part of this worker's tensor that arrived: what it sent at positions of the result, and
 * the rounding errors of its own sums divided by its weight. */
static int find_own(struct oktopk *s, struct gcb_diag *diag)
{
    const struct gcb_list *result = &s->p.result, *sent = &s->sent, *rounding = &s->sum;
    const float weight = gcb_pieces_weight(&s->p);
    uint64_t i = 0, j = 0;

    if (gcb_list_reserve(&s->p.own, result->n))
        return gcb_pieces_nomem(diag);
    for (uint64_t r = 0; r < result->n; r++) {
        const uint64_t pos = result->pos[r];
        float x = 0.0f;

        while (i < sent->n && sent->pos[i] < pos)
            i++;
        while (j < rounding->n && rounding->pos[j] < pos)
            j++;
        if (i < sent->n && sent->pos[i] == pos)
            x = sent->x[i];
        if (j < rounding->n && rounding->pos[j] == pos && rounding->x[j] != 0.0f && weight != 0.0f)
            x += rounding->x[j] / weight;
        if (x != 0.0f)
            gcb_list_push(&s->p.own, pos, x);
    }
    return 0;
}

static int end_step(struct oktopk *s, struct gcb_diag *diag)
{
    if (s->p.base.spoilt)
        return 0;
    settle_threshold(s);
    if (s->divides) {
        uint64_t *const proposed = s->proposed;

        s->proposed = s->boundaries;
        s->boundaries = proposed;
        s->divided = true;
        s->divided_at = s->step;
    }
    return find_own(s, diag);
}

/* ---- sending and receiving ---- */

/* The rounds in order; a step that does not divide leaves out the first. */
enum { DIVIDE, SCATTER, GATHER, ROUNDS };

/* Returns which of these rounds is number `round` of this step. */
static unsigned kind_of(const struct oktopk *s, unsigned round)
{
    return round + (s->divides ? DIVIDE : SCATTER);
}

static int oktopk_send(void *state, unsigned round, struct gcb_round *out, struct gcb_diag *diag)
{
    struct oktopk *s = state;
    const unsigned kind = kind_of(s, round);
    int err = 0;

    if (kind >= ROUNDS)
        return 0;
    if (kind == DIVIDE) {
        propose_boundaries(s, out);
        return 1;
    }
    gcb_pieces_clear(&s->p);
    err = (kind == SCATTER ? scatter : gather)(s, out, diag);
    out->data = s->p.out.data;
    out->bytes = s->p.out.len;
    return err ? err : 1;
}

static int oktopk_receive(void *state, unsigned round, uint32_t from, const void *data,
                          size_t length, struct gcb_diag *diag)
{
    struct oktopk *s = state;
    const unsigned kind = kind_of(s, round);
    struct gcb_rbuf in;
    int more, err = 0;

    if (kind == DIVIDE)
        return take_boundaries(s, data, length, diag);
    more = gcb_pieces_open(&s->p, &in, data, length, flags(s), diag);
    if (more < 0)
        return more;
    if (more)
        err = (kind == SCATTER ? add_piece : take_sums)(s, from, &in, diag);
    if (more && !err)
        err = gcb_pieces_end(&in, diag);
    if (err)
        return err;
    return kind == GATHER && from + 1 == s->p.env.workers ? end_step(s, diag) : 0;
}

const struct gcb_collective_ops gcb_collective_oktopk = {
    .rounds = 2, /* a step that divides has one more */
    .state_size = sizeof(struct oktopk),
    .init = oktopk_init,
    .fini = oktopk_fini,
    .begin = oktopk_begin,
    .send = oktopk_send,
    .receive = oktopk_receive,
    .conclude = gcb_pieces_conclude,
    .settle = gcb_pieces_settle,
    .describe = gcb_pieces_describe,
    .kept_ops = &oktopk_kept_ops,
    .add_selection = gcb_pieces_add_selection,
};
