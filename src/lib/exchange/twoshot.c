#include <float.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/exchange/shares.h"
#include "src/lib/sum/sum.h"

/*
 * Two-shot all-reduce for dense methods. The tensor is cut into one share per worker. Each worker
 * encodes all shares and sends share w to its owner, worker w. The owner adds up the messages of
 * its share (struct gcb_sum), encodes the mean and sends it to all workers. With n workers, each
 * sends 2 (n - 1) / n of a whole message, so less than two; in an all-gather each receives n - 1
 * messages.
 *
 *   round 0, scatter   part w: the message of share w of x; nothing for an empty share
 *   round 1, gather    the message of the mean of the worker's own share; nothing if it is empty
 *
 * The mean is the weighted sum divided by the sum of the weights' magnitudes, so that it is not
 * larger than the tensors. All workers decode the means and multiply them by the same number.
 *
 * The sum may overflow although the mean does not. So the owner of a share keeps the messages that
 * it adds up. If the sum has an infinity, the owner adds them again with smaller weights.
 *
 * The second encoding has an error too. With second-error=feedback, the owner of the share counts
 * the error as not sent, so the owner's memory keeps it. LoCo (arXiv 2407.04480) and DoubleSqueeze
 * (arXiv 1905.05957) also feed errors back where they occur.
 *
 * collective=hierarchical adds up on two levels, as ZeRO++ does (qgZ, arXiv 2306.10209): first the
 * `inner` workers of a node, then the workers at the same place in all nodes. The shares of the
 * workers at one place are a part of the tensor. So few bytes travel between nodes. All rounds are
 * scatters, whose parts for other workers are empty. With inner=1, or if all workers are one node,
 * there is one level, as with collective=twoshot.
 *
 *   round 0   within the node: the message of each part of x
 *   round 1   between nodes: the messages of all shares of the node's mean of the worker's part
 *   round 2   between nodes: the message of the mean of the worker's own share
 *   round 3   within the node: all messages that arrived in round 2, each after its length
 */
struct twoshot {
    struct gcb_collective_base base; /* `encoder` is NULL: a coder describes only its last share */
    struct gcb_collective_env env;
    struct gcb_shares shares; /* one for each worker */
    struct gcb_shares parts;  /* with two levels: one for each place in a node */
    bool feedback;            /* second-error=feedback */
    unsigned levels;          /* 1, or 2 */
    float *means;             /* the decoded means, share by share; NULL: no update is wanted */
    float *scratch;           /* a decoded share, for settle_own and take_mean */
    struct gcb_wbuf second;   /* message of the mean of this worker's share */
    size_t *round_bytes;      /* of a scatter: bytes for each worker */
    struct gcb_wbuf copies;   /* with two levels: what rounds 2 and 3 send, once for each member */
    struct gcb_wbuf gathered; /* with two levels: what round 2 has brought, as round 3 sends it */
    struct gcb_contribution in;
    uint32_t settled; /* number of shares that twoshot_settle has added */

    /* The workers that add up their tensors, or their means of the level before. */
    struct level {
        struct gcb_shares *shares; /* what the members send: a share for each member */
        uint32_t members, me;      /* number of members; this worker's number among them */
        uint32_t first, stride;    /* member k is worker first + k * stride */
        uint32_t share;            /* member k adds up share number `share` + k */
        uint32_t draws;            /* argument of `encode` for the message to member 0 */
        float *weights;            /* of all members */
        float scale;               /* the sum is the mean times `scale` */
        float largest;             /* the largest magnitude of a weight; 1 if all weights are 0 */
        uint64_t begin, mine;      /* this worker's share: its first element, and its length */
        struct gcb_sum *sum;       /* sum of this worker's share */
        float *mean;               /* mean of this worker's share; the accumulator of `sum` */
        /* the mean as workers decode it; on the last level a part of `means` if that is not NULL */
        float *decoded;
        struct gcb_wbuf sent;    /* messages of this worker, one for each member */
        size_t *sent_bytes;      /* length of each message in `sent` */
        struct gcb_wbuf arrived; /* the message of this worker's share from each member */
        size_t *arrived_bytes;   /* length of each message in `arrived` */
    } level[2];
};

static struct level *last_level(struct twoshot *s)
{
    return &s->level[s->levels - 1];
}

/* ---- opening ---- */

static void twoshot_fini(void *state)
{
    struct twoshot *s = state;

    for (unsigned i = 0; i < 2; i++) {
        struct level *l = &s->level[i];

        gcb_sum_close(l->sum);
        gcb_free(l->weights);
        gcb_free(l->mean);
        if (!s->means || i + 1 < s->levels)
            gcb_free(l->decoded);
        gcb_free(l->sent.data);
        gcb_free(l->sent_bytes);
        gcb_free(l->arrived.data);
        gcb_free(l->arrived_bytes);
    }
    gcb_shares_fini(&s->shares);
    gcb_shares_fini(&s->parts);
    gcb_free(s->means);
    gcb_free(s->scratch);
    gcb_free(s->second.data);
    gcb_free(s->round_bytes);
    gcb_free(s->copies.data);
    gcb_free(s->gathered.data);
}

static int make_level(struct twoshot *s, struct level *l, struct gcb_diag *diag)
{
    const uint32_t mine = l->share + l->me;
    struct gcb_coder_config config;
    int err = 0;

    l->begin = gcb_share_begin(l->shares, mine);
    l->mine = gcb_share_length(l->shares, mine);
    config = gcb_share_config(l->shares, l->mine);
    for (uint32_t k = 0; k < l->members; k++)
        if (gcb_share_length(l->shares, l->share + k))
            l->sent.cap += gcb_share_coders(l->shares, l->share + k)->room;
    l->arrived.cap = l->mine ? gcb_share_coders(l->shares, mine)->room * l->members : 0;
    l->sent_bytes = gcb_exchange_allocate(l->members, sizeof(*l->sent_bytes), &err, diag);
    l->arrived_bytes = gcb_exchange_allocate(l->members, sizeof(*l->arrived_bytes), &err, diag);
    l->arrived.data = gcb_exchange_allocate(l->arrived.cap, 1, &err, diag);
    l->sent.data = gcb_exchange_allocate(l->sent.cap, 1, &err, diag);
    l->mean = gcb_exchange_allocate(l->mine, sizeof(float), &err, diag);
    if (s->means && l == last_level(s))
        l->decoded = s->means + l->begin;
    else
        l->decoded = gcb_exchange_allocate(l->mine, sizeof(float), &err, diag);
    return err ? err : gcb_sum_create(&l->sum, &s->env.method, l->mean, &config, diag);
}

static int make_arrays(struct twoshot *s, struct gcb_diag *diag)
{
    const uint64_t mine = gcb_share_length(&s->shares, last_level(s)->share + last_level(s)->me);
    uint64_t scratch = s->feedback ? mine : 0;
    int err = 0;

    if (mine)
        s->second.cap =
            gcb_share_coders(&s->shares, last_level(s)->share + last_level(s)->me)->room;
    s->second.data = gcb_exchange_allocate(s->second.cap, 1, &err, diag);
    s->round_bytes = gcb_exchange_allocate(s->env.workers, sizeof(*s->round_bytes), &err, diag);
    if (s->levels == 2) {
        for (uint32_t k = 0; k < s->level[1].members; k++) {
            const uint32_t share = s->level[1].share + k;

            s->gathered.cap += sizeof(uint64_t);
            if (gcb_share_length(&s->shares, share))
                s->gathered.cap += gcb_share_coders(&s->shares, share)->room;
        }
        s->gathered.data = gcb_exchange_allocate(s->gathered.cap, 1, &err, diag);
        s->copies.cap = s->gathered.cap * s->level[0].members;
        if (s->copies.cap < s->second.cap * s->level[1].members)
            s->copies.cap = s->second.cap * s->level[1].members;
        s->copies.data = gcb_exchange_allocate(s->copies.cap, 1, &err, diag);
    }
    if (s->env.no_update) /* take_mean decodes other workers' shares there */
        scratch = gcb_share_length(&s->shares, 0);
    s->scratch = gcb_exchange_allocate(scratch, sizeof(float), &err, diag);
    if (!s->env.no_update)
        s->means = gcb_exchange_allocate(s->env.coder.env.count, sizeof(float), &err, diag);
    for (unsigned i = 0; !err && i < s->levels; i++)
        err = make_level(s, &s->level[i], diag);
    return err;
}

/* The largest magnitude of a weight, or 1 if all weights are 0. Messages are added with their
 * weights divided by it. So equal weights become 1, opposite values cancel exactly, and a vote can
 * be tied. */
static float largest_weight(const struct level *l)
{
    float largest = 0.0f;

    for (uint32_t k = 0; k < l->members; k++)
        largest = fmaxf(largest, fabsf(l->weights[k]));
    return largest > 0.0f ? largest : 1.0f;
}

/* The sum of the magnitudes of the weights of a node's workers. */
static float node_weight(const struct gcb_collective_env *env, uint32_t inner, uint32_t node)
{
    double sum = 0.0;

    for (uint32_t k = 0; k < inner; k++)
        sum += fabs((double)env->weights[node * inner + k]);
    return (float)sum;
}

/* Sets the levels' members and weights. `inner`: the workers of a node, if there are two levels. */
static int make_levels(struct twoshot *s, uint32_t inner, struct gcb_diag *diag)
{
    const uint32_t workers = s->env.workers, worker = s->env.worker;
    struct level *l = s->level;
    int err = 0;

    l[0] = (struct level){&s->shares, .members = workers, .me = worker, .stride = 1};
    if (s->levels == 2) {
        const uint32_t node = worker / inner, place = worker % inner, nodes = workers / inner;

        l[0] = (struct level){&s->parts, .members = inner, .me = place, .first = node * inner,
                              .stride = 1};
        l[1] =
            (struct level){&s->shares,      .members = nodes,       .me = node,    .first = place,
                           .stride = inner, .share = place * nodes, .draws = inner};
    }
    for (unsigned i = 0; i < s->levels; i++)
        l[i].weights = gcb_exchange_allocate(l[i].members, sizeof(float), &err, diag);
    for (unsigned i = 0; !err && i < s->levels; i++) {
        for (uint32_t k = 0; k < l[i].members; k++)
            l[i].weights[k] =
                i ? node_weight(&s->env, inner, k) : s->env.weights[l[i].first + k * l[i].stride];
        l[i].largest = largest_weight(&l[i]);
        l[i].scale = i + 1 == s->levels ? gcb_weights_magnitude(&s->env)
                                        : node_weight(&s->env, inner, worker / inner);
        if (!(l[i].scale > 0.0f))
            l[i].scale = 1.0f;
    }
    return err;
}

static int twoshot_init(void *state, const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    struct gcb_exchange_params params;
    const uint32_t inner = gcb_method_node(&env->method, env->workers);
    int err;

    gcb_method_exchange(&params, &env->method);
    s->env = *env;
    s->levels = inner > 1 && inner < env->workers ? 2 : 1;
    if (env->workers % inner)
        return gcb_invalid(diag,
                           "collective=hierarchical needs whole nodes of inner=%u workers, not %u "
                           "workers; choose an inner that divides %u",
                           inner, env->workers, env->workers);
    err = gcb_shares_init(&s->shares, &s->env, env->workers, 1, diag);
    if (!err && s->levels == 2)
        err = gcb_shares_init(&s->parts, &s->env, env->workers, env->workers / inner, diag);
    if (!err)
        err = make_levels(s, inner, diag);
    if (err)
        return err;
    s->feedback = params.second_error == GCB_SECOND_ERROR_FEEDBACK;
    /* a worker with weight 0 cannot feed back the error of its second encoding */
    s->base.conserves = s->feedback;
    for (uint32_t w = 0; w < env->workers; w++)
        s->base.conserves &= env->weights[w] != 0.0f ||
                             gcb_share_length(s->level[0].shares, w % s->level[0].members) == 0;
    return make_arrays(s, diag);
}

/* ---- rounds ---- */

/* Encodes a message of a share. Each message of a step is encoded as if by a worker of its own, so
 * that it draws random numbers of its own. The workers' numbers are below workers^2 + workers.
 * `draws`: l->draws plus the number of the member that gets the message, or plus l->members if all
 * members get it. */
static int encode(struct twoshot *s, struct level *l, uint32_t share, uint32_t draws,
                  const float *x, bool raw, struct gcb_wbuf *out, struct gcb_diag *diag)
{
    const struct gcb_step at = {.step = s->in.at.step,
                                .worker = s->env.workers * draws + s->env.worker};

    return gcb_share_encode(l->shares, share, &at, x, raw, out, diag);
}

/* Encodes what this worker sends on a level. x has all elements of the members' shares. */
static int encode_parts(struct twoshot *s, struct level *l, const float *x, bool raw,
                        struct gcb_diag *diag)
{
    const uint64_t begin = gcb_share_begin(l->shares, l->share);
    int err = 0;

    for (uint32_t k = 0; !err && k < l->members; k++) {
        const uint32_t share = l->share + k;
        const size_t start = l->sent.len;

        if (gcb_share_length(l->shares, share))
            err = encode(s, l, share, l->draws + k, x + gcb_share_begin(l->shares, share) - begin,
                         raw, &l->sent, diag);
        l->sent_bytes[k] = l->sent.len - start;
    }
    return err;
}

static void clear(struct gcb_wbuf *b)
{
    b->len = 0;
    b->failed = false;
}

static int twoshot_begin(void *state, const struct gcb_contribution *in, struct gcb_diag *diag)
{
    struct twoshot *s = state;

    s->in = *in;
    s->settled = 0;
    clear(&s->second);
    clear(&s->gathered);
    for (unsigned i = 0; i < s->levels; i++) {
        clear(&s->level[i].sent);
        clear(&s->level[i].arrived);
        gcb_sum_clear(s->level[i].sum);
    }
    return encode_parts(s, s->level, in->x, in->raw, diag);
}

/* Multiplies the weights when messages are added again. It is at most half of 1 / workers, so no
 * sum overflows. */
#define AGAIN 0x1p-17f
_Static_assert(GCB_SHARE_WORKERS <= 1 << 16, "AGAIN is at most half of 1 / workers");

/* Makes the mean of this worker's share again, from the messages that arrived, without overflow.
 * Elements of the mean that were finite stay as they are. */
static int mend_mean(struct level *l, struct gcb_diag *diag)
{
    const float divisor = l->scale / l->largest * AGAIN;
    const uint8_t *message = l->arrived.data;
    float *before = l->decoded; /* scratch until the mean is decoded */
    int err = 0;

    memcpy(before, l->mean, l->mine * sizeof(*before));
    for (uint32_t k = 0; !err && k < l->members; message += l->arrived_bytes[k++])
        err = gcb_sum_add_checked(l->sum, message, l->arrived_bytes[k],
                                  l->weights[k] / l->largest * AGAIN, diag);
    if (!err)
        err = gcb_sum_finish(l->sum, NULL, diag);
    for (uint64_t i = 0; !err && i < l->mine; i++) {
        const float mean = l->mean[i] / divisor;

        /* a finite sum of finite elements has a finite mean, but rounding may overflow */
        if (isfinite(before[i]))
            l->mean[i] = before[i];
        else if (isfinite(l->mean[i]))
            l->mean[i] = isinf(mean) ? copysignf(FLT_MAX, mean) : mean;
    }
    return err;
}

/* Makes the mean of this worker's share from the sum. Sets *raw if the mean has an infinity or NaN:
 * then it is sent raw. */
static int make_mean(struct twoshot *s, struct level *l, bool *raw, struct gcb_diag *diag)
{
    int err = gcb_sum_finish(l->sum, NULL, diag);

    if (err)
        return err;
    gcb_unweigh(l->mean, l->mean, l->scale / l->largest, l->mine, s->env.coder.env.queue);
    *raw = !gcb_stays_finite(&s->env, l->mean, 1.0f, l->mine);
    if (*raw && !l->arrived.failed) {
        err = mend_mean(l, diag);
        *raw = err || !gcb_stays_finite(&s->env, l->mean, 1.0f, l->mine);
    }
    return err;
}

/* Fills `out` with what each member of a level gets: lengths[k] bytes for member k, one after the
 * other in `data`. If `lengths` is NULL, each member gets a copy of all of `data`. */
static void scatter(struct twoshot *s, const struct level *l, const struct gcb_wbuf *data,
                    const size_t *lengths, struct gcb_round *out)
{
    memset(s->round_bytes, 0, s->env.workers * sizeof(*s->round_bytes));
    for (uint32_t k = 0; k < l->members; k++)
        s->round_bytes[l->first + k * l->stride] = lengths ? lengths[k] : data->len;
    clear(&s->copies);
    for (uint32_t k = 0; !lengths && k < l->members; k++)
        gcb_put(&s->copies, data->data, data->len);
    data = lengths ? data : &s->copies;
    out->kind = GCB_ROUND_SCATTER;
    out->data = data->data;
    out->bytes = data->len;
    out->parts = s->round_bytes;
}

static int twoshot_send(void *state, unsigned round, struct gcb_round *out, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    struct level *last = last_level(s), *l = &s->level[round < s->levels ? round : 0];
    bool raw = false;
    int err = 0;

    if (round == 2 * s->levels)
        return 0;
    if (round > 0 && round <= s->levels && s->level[round - 1].mine)
        err = make_mean(s, &s->level[round - 1], &raw, diag);
    if (err)
        return err;
    if (round < s->levels) {
        if (round > 0 && s->level[round - 1].mine)
            err = encode_parts(s, l, s->level[round - 1].mean, raw, diag);
        else if (round > 0)
            memset(l->sent_bytes, 0, l->members * sizeof(*l->sent_bytes));
        scatter(s, l, &l->sent, l->sent_bytes, out);
        return err ? err : 1;
    }
    if (round == s->levels && last->mine)
        err = encode(s, last, last->share + last->me, last->draws + last->members, last->mean, raw,
                     &s->second, diag);
    if (s->levels == 2) {
        scatter(s, round == 2 ? last : l, round == 2 ? &s->second : &s->gathered, NULL, out);
        return err ? err : 1;
    }
    out->kind = GCB_ROUND_GATHER;
    out->data = s->second.data;
    out->bytes = s->second.len;
    return err ? err : 1;
}

/* Adds the message of member k to the sum of this worker's share, and keeps a copy for mend_mean. A
 * hostile message may be too long for a copy; then l->arrived.failed is set. */
static int take_part(struct level *l, uint32_t k, const void *data, size_t length,
                     struct gcb_diag *diag)
{
    const int err = gcb_sum_add(l->sum, data, length, l->weights[k] / l->largest, diag);

    l->arrived_bytes[k] = length;
    if (!err)
        gcb_put(&l->arrived, data, length);
    return err;
}

static int expect_nothing(size_t length, struct gcb_diag *diag)
{
    return length
               ? gcb_diag_set(diag, GCB_E_CORRUPT, "%zu bytes arrived instead of nothing", length)
               : 0;
}

/* The array for the decoded mean of a share. */
static float *place_of_mean(struct twoshot *s, uint32_t share)
{
    const struct level *last = last_level(s);

    if (s->means)
        return s->means + gcb_share_begin(&s->shares, share);
    return share == last->share + last->me ? last->decoded : s->scratch;
}

/* Decodes the mean of a share. twoshot_conclude multiplies it by the scale. */
static int take_mean(struct twoshot *s, uint32_t share, const void *data, size_t length,
                     struct gcb_diag *diag)
{
    const uint64_t n = gcb_share_length(&s->shares, share);
    float *x = place_of_mean(s, share);
    int err;

    if (n == 0)
        return expect_nothing(length, diag);
    err = gcb_share_decode(&s->shares, share, data, length, x, diag);
    s->base.spoilt |= !err && !gcb_stays_finite(&s->env, x, last_level(s)->scale, n);
    return err;
}

/* Round 3 of two levels: takes the means of all shares that a member of the node has gathered. */
static int take_means(struct twoshot *s, uint32_t place, const void *data, size_t length,
                      struct gcb_diag *diag)
{
    const uint32_t nodes = s->level[1].members;
    struct gcb_rbuf in = {.data = data, .len = length};
    int err = 0;

    for (uint32_t k = 0; !err && k < nodes; k++) {
        const uint64_t bytes = gcb_get_u64(&in);
        const uint8_t *message = gcb_rbuf_take(&in, bytes);

        if (in.failed)
            break;
        err = take_mean(s, place * nodes + k, message, bytes, diag);
    }
    if (!err && (in.failed || in.pos != length))
        err = gcb_diag_set(diag, GCB_E_CORRUPT, "the length of a node's gathered means is wrong");
    return err;
}

static int twoshot_receive(void *state, unsigned round, uint32_t from, const void *data,
                           size_t length, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    /* the rounds go through the levels, and then back */
    struct level *l = &s->level[round < s->levels ? round : 2 * s->levels - 1 - round];
    const uint32_t k = (from - l->first) / l->stride;
    int err;

    if (from < l->first || (from - l->first) % l->stride || k >= l->members)
        return expect_nothing(length, diag);
    if (round < s->levels)
        return l->mine ? take_part(l, k, data, length, diag) : expect_nothing(length, diag);
    if (round == 3)
        return k == l->me ? 0 : take_means(s, k, data, length, diag);
    err = take_mean(s, l->share + k, data, length, diag);
    if (err || s->levels == 1)
        return err;
    gcb_put_u64(&s->gathered, length);
    gcb_put(&s->gathered, data, length);
    return s->gathered.failed
               ? gcb_diag_set(diag, GCB_E_CORRUPT, "a message of %zu bytes is too long", length)
               : 0;
}

/* ---- the end of a step ---- */

/* Subtracts the error of encoding a level's mean from this worker's part of the share, so that its
 * memory keeps the error. A division by a tiny or zero weight may overflow; then the error is
 * dropped. */
static void take_back(const struct twoshot *s, const struct level *l, float *own)
{
    const float weight = s->env.weights[s->env.worker];

    for (uint64_t i = 0; i < l->mine; i++) {
        const float lost = (l->mean[i] * l->scale - l->decoded[i] * l->scale) / weight;

        own[i] -= isfinite(lost) ? lost : 0.0f;
    }
}

/* Decodes to x what this worker sent on a level. x has all elements of the members' shares. */
static int read_sent(struct level *l, float *x, struct gcb_diag *diag)
{
    const uint64_t begin = gcb_share_begin(l->shares, l->share);
    const uint8_t *part = l->sent.data;
    int err = 0;

    for (uint32_t k = 0; !err && k < l->members; part += l->sent_bytes[k++])
        if (l->sent_bytes[k])
            err = gcb_share_decode(l->shares, l->share + k, part, l->sent_bytes[k],
                                   x + gcb_share_begin(l->shares, l->share + k) - begin, diag);
    return err;
}

static int twoshot_conclude(void *state, float *update, float *own, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    int err = own ? read_sent(s->level, own, diag) : 0;

    for (unsigned i = 0; own && !err && s->feedback && !s->base.spoilt && i < s->levels; i++) {
        struct level *l = &s->level[i];

        if (i + 1 < s->levels)
            err = read_sent(l + 1, l->decoded, diag);
        if (!err)
            take_back(s, l, own + l->begin);
    }
    if (!err && update)
        gcb_weigh(update, s->means, last_level(s)->scale, s->env.coder.env.count,
                  s->env.coder.env.queue);
    return err;
}

/* Adds this worker's part of its own share, minus the error of the second encoding. An element
 * whose addition would overflow counts as not arrived. */
static int settle_own(struct twoshot *s, const uint8_t *part, const struct gcb_addition *to,
                      struct gcb_diag *diag)
{
    const struct gcb_codec_env *env = &s->env.coder.env;
    struct level *l = s->level;
    const int err =
        gcb_share_decode(l->shares, l->me, part, l->sent_bytes[l->me], s->scratch, diag);

    if (err)
        return err;
    if (!s->base.spoilt)
        take_back(s, l, s->scratch);
    for (uint64_t i = 0; i < l->mine; i++)
        if (!isfinite(to->acc[i] + to->weight * s->scratch[i]))
            s->scratch[i] = 0.0f;
    gcb_add_raw(to, s->scratch, l->mine, GCB_F32, env->kernels, env->queue);
    return 0;
}

/* After a failure the caller may try again. s->settled tells with which share to go on. */
static int twoshot_settle(void *state, const struct gcb_addition *to, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    const struct level *l = s->level;
    const uint8_t *part = l->sent.data;
    int err = 0;

    for (uint32_t w = 0; !err && w < s->env.workers; part += l->sent_bytes[w++]) {
        const uint64_t first = gcb_share_begin(&s->shares, w);
        struct gcb_addition share = *to;

        if (w < s->settled || l->sent_bytes[w] == 0)
            continue;
        share.acc += first;
        share.mask = to->mask ? to->mask + first : NULL;
        err = w == s->env.worker && s->feedback
                  ? settle_own(s, part, &share, diag)
                  : gcb_coder_add(gcb_share_coders(&s->shares, w)->decoder, part, l->sent_bytes[w],
                                  &share, diag);
        s->settled = err ? w : w + 1;
    }
    return err;
}

/* ---- sizes and errors of messages ---- */

static int twoshot_describe(void *state, struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    const struct level *last = last_level(s);
    int err = 0;

    memset(parts, 0, sizeof(*parts));
    for (unsigned i = 0; i < s->levels; i++) {
        struct level *l = &s->level[i];
        const uint8_t *message = l->sent.data;

        for (uint32_t k = 0; !err && k < l->members; message += l->sent_bytes[k++])
            if (l->sent_bytes[k])
                err = gcb_share_describe(l->shares, l->share + k, message, l->sent_bytes[k], parts,
                                         diag);
    }
    if (err || last->mine == 0)
        return err;
    return gcb_share_describe(&s->shares, last->share + last->me, s->second.data, s->second.len,
                              parts, diag);
}

static void twoshot_second_error(void *state, double *lost, double *sum)
{
    struct twoshot *s = state;

    for (unsigned n = 0; n < s->levels; n++) {
        struct level *l = &s->level[n];
        const bool last = n + 1 == s->levels;

        if (!last && read_sent(l + 1, l->decoded, NULL)) /* cannot fail: own messages */
            return;
        for (uint64_t i = 0; i < l->mine; i++) {
            const double exact = (double)l->mean[i] * (double)l->scale;
            const double lost_here = exact - (double)(l->decoded[i] * l->scale);

            *lost += lost_here * lost_here;
            *sum += last ? exact * exact : 0.0;
        }
    }
}

const struct gcb_collective_ops gcb_collective_twoshot = {
    .rounds = 2,
    .state_size = sizeof(struct twoshot),
    .init = twoshot_init,
    .fini = twoshot_fini,
    .begin = twoshot_begin,
    .send = twoshot_send,
    .receive = twoshot_receive,
    .conclude = twoshot_conclude,
    .settle = twoshot_settle,
    .describe = twoshot_describe,
    .second_error = twoshot_second_error,
};

/* `rounds` is 0, because the number of workers determines the number of rounds. There is no
 * `settle`, because the worker's errors on two levels lie in more than one share. */
const struct gcb_collective_ops gcb_collective_hierarchical = {
    .state_size = sizeof(struct twoshot),
    .init = twoshot_init,
    .fini = twoshot_fini,
    .begin = twoshot_begin,
    .send = twoshot_send,
    .receive = twoshot_receive,
    .conclude = twoshot_conclude,
    .describe = twoshot_describe,
    .second_error = twoshot_second_error,
};
