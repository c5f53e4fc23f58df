#include <float.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/exchange/shares.h"

/*
 * All-reduces that encode again at every hop: a worker decodes a sum of other workers' tensors,
 * adds its own tensor, and encodes the new sum. The last sum is encoded once, and its bytes reach
 * all workers unchanged, so all workers have the same bits.
 *
 *   ring   The tensor is cut into one share per worker. n - 1 rounds of SHIFT: worker w sends a
 *          share to worker w + 1. Share w begins at worker w + 1 and ends at worker w. Then a round
 *          of GATHER: worker w sends share w to all.
 *   tree   ceil(log2 n) rounds of SHIFT: in round k, worker w sends the whole tensor to worker
 *          w - 2^k if w is an odd multiple of 2^k. Then a round of GATHER: worker 0 sends the sum
 *          to all, and the other workers send nothing.
 *
 * In both, each worker encodes each share once. Encoded sums are weighted sums divided by the sum
 * of the weights' magnitudes, so that they are not larger than the tensors.
 *
 * A worker counts what its encodings lose, divided by its weight, as not sent. So its memory keeps
 * the loss.
 */
struct hops {
    struct gcb_collective_base base; /* `encoder` is NULL: a coder describes only its last share */
    struct gcb_collective_env env;
    struct gcb_shares shares; /* ring: one for each worker; tree: one */
    bool tree;
    unsigned hops;        /* rounds of SHIFT */
    float scale;          /* the weighted sum is the encoded sum times `scale` */
    float *sum;           /* the weighted tensor plus the sums that arrived, share by share */
    float *result;        /* the decoded last sums, share by share; NULL: no update is wanted */
    float *scratch;       /* a decoded share */
    struct gcb_wbuf made; /* this worker's messages */
    struct message {
        size_t at, length; /* bytes in `made`; length 0: the share is empty or not encoded yet */
        bool added;        /* the encoded sum includes tensors of other workers */
    } * messages;          /* one for each share */
    struct gcb_contribution in;
    bool raw; /* this worker has seen an infinity or NaN, and sends the sums raw */
};

/* ---- the route ---- */

/* The share that this worker encodes in a round, if encodes_in is true. */
static uint32_t share_of(const struct hops *s, unsigned round)
{
    return s->tree ? 0 : (s->env.worker + s->hops - round) % s->env.workers;
}

/* True if this worker encodes a sum in a round. */
static bool encodes_in(const struct hops *s, unsigned round)
{
    const uint32_t w = s->env.worker;

    if (!s->tree || round == s->hops)
        return !s->tree || w == 0;
    return w % (2u << round) == 1u << round;
}

/* Returns the worker to which this worker sends in a round of SHIFT, or this worker if it sends
 * nothing. */
static uint32_t receiver_of(const struct hops *s, unsigned round)
{
    if (!s->tree)
        return (s->env.worker + 1) % s->env.workers;
    return encodes_in(s, round) ? s->env.worker - (1u << round) : s->env.worker;
}

/* Returns the worker from which this worker receives in a round of SHIFT, or this worker if it
 * receives nothing. */
static uint32_t sender_of(const struct hops *s, unsigned round)
{
    const uint32_t w = s->env.worker, n = s->env.workers;

    if (!s->tree)
        return (w + n - 1) % n;
    return w % (2u << round) == 0 && w + (1u << round) < n ? w + (1u << round) : w;
}

/* ---- opening ---- */

static void hops_fini(void *state)
{
    struct hops *s = state;

    gcb_shares_fini(&s->shares);
    gcb_free(s->sum);
    gcb_free(s->result);
    gcb_free(s->scratch);
    gcb_free(s->made.data);
    gcb_free(s->messages);
}

static int init(struct hops *s, const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    const uint64_t count = env->coder.env.count;
    int err;

    s->env = *env;
    err = gcb_shares_init(&s->shares, &s->env, s->tree ? 1 : env->workers, 1, diag);
    if (err)
        return err;
    s->scale = gcb_weights_magnitude(env);
    s->base.conserves = true;
    for (uint32_t w = 0; w < env->workers; w++) /* a worker with weight 0 feeds no error back */
        s->base.conserves &= env->weights[w] != 0.0f || count == 0;
    for (uint32_t share = 0; share < s->shares.count; share++)
        if (gcb_share_length(&s->shares, share))
            s->made.cap += gcb_share_coders(&s->shares, share)->room;
    s->made.data = gcb_exchange_allocate(s->made.cap, 1, &err, diag);
    s->messages = gcb_exchange_allocate(s->shares.count, sizeof(*s->messages), &err, diag);
    s->sum = gcb_exchange_allocate(count, sizeof(float), &err, diag);
    s->scratch = gcb_exchange_allocate(gcb_share_length(&s->shares, 0), sizeof(float), &err, diag);
    if (!env->no_update)
        s->result = gcb_exchange_allocate(count, sizeof(float), &err, diag);
    return err;
}

static int ring_init(void *state, const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    struct hops *s = state;

    s->hops = env->workers - 1;
    return init(s, env, diag);
}

static int tree_init(void *state, const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    struct hops *s = state;

    s->tree = true;
    while ((uint64_t)1 << s->hops < env->workers)
        s->hops++;
    return init(s, env, diag);
}

/* ---- rounds ---- */

static int hops_begin(void *state, const struct gcb_contribution *in, struct gcb_diag *diag)
{
    struct hops *s = state;

    s->in = *in;
    s->raw = in->raw;
    s->made.len = 0;
    s->made.failed = false;
    memset(s->messages, 0, s->shares.count * sizeof(*s->messages));
    gcb_weigh(s->sum, in->x, s->env.weights[s->env.worker] / s->scale, s->env.coder.env.count,
              s->env.coder.env.queue);
    return 0;
}

static int hops_send(void *state, unsigned round, struct gcb_round *out, struct gcb_diag *diag)
{
    struct hops *s = state;
    const uint32_t share = share_of(s, round);
    /* the worker's number differs between all messages of a step, so that each draws random numbers
     * of its own */
    const struct gcb_step at = {.step = s->in.at.step,
                                .worker = s->env.workers * share + s->env.worker};
    int err;

    if (round > s->hops)
        return 0;
    out->kind = round < s->hops ? GCB_ROUND_SHIFT : GCB_ROUND_GATHER;
    if (round < s->hops) {
        out->to = receiver_of(s, round);
        out->from = sender_of(s, round);
    }
    if (!encodes_in(s, round) || gcb_share_length(&s->shares, share) == 0)
        return 1;
    s->messages[share].at = s->made.len;
    err = gcb_share_encode(&s->shares, share, &at, s->sum + gcb_share_begin(&s->shares, share),
                           s->raw, &s->made, diag);
    s->messages[share].length = s->made.len - s->messages[share].at;
    out->data = s->made.data + s->messages[share].at;
    out->bytes = s->messages[share].length;
    return err ? err : 1;
}

/* Adds a message, which is a sum of other workers' tensors, to this worker's sum. The sum of two
 * finite elements overflows only because of rounding. Then it becomes the largest float with its
 * sign. */
static int take_sum(struct hops *s, uint32_t share, const void *data, size_t length,
                    struct gcb_diag *diag)
{
    const struct gcb_codec_env *env = &s->env.coder.env;
    const uint64_t n = gcb_share_length(&s->shares, share);
    float *sum = s->sum + gcb_share_begin(&s->shares, share);
    const struct gcb_addition to = {.acc = sum, .weight = 1.0f};
    const int err = gcb_share_decode(&s->shares, share, data, length, s->scratch, diag);

    if (err)
        return err;
    gcb_add_raw(&to, s->scratch, n, GCB_F32, env->kernels, env->queue);
    s->messages[share].added = true;
    if (s->raw || gcb_stays_finite(&s->env, sum, 1.0f, n))
        return 0;
    for (uint64_t i = 0; i < n; i++) {
        s->raw |= !isfinite(s->scratch[i]);
        if (isfinite(s->scratch[i]) && !isfinite(sum[i]))
            sum[i] = copysignf(FLT_MAX, sum[i]);
    }
    return 0;
}

static int take_result(struct hops *s, uint32_t share, const void *data, size_t length,
                       struct gcb_diag *diag)
{
    const uint64_t n = gcb_share_length(&s->shares, share);
    float *x = s->result ? s->result + gcb_share_begin(&s->shares, share) : s->scratch;
    const int err = gcb_share_decode(&s->shares, share, data, length, x, diag);

    s->base.spoilt |= !err && !gcb_stays_finite(&s->env, x, s->scale, n);
    return err;
}

static int hops_receive(void *state, unsigned round, uint32_t from, const void *data, size_t length,
                        struct gcb_diag *diag)
{
    struct hops *s = state;
    const bool last = round == s->hops;
    const uint32_t share = s->tree ? 0 : last ? from : share_of(s, round + 1);
    const bool nothing = last ? s->tree && from : from == s->env.worker;

    if (!nothing && gcb_share_length(&s->shares, share))
        return (last ? take_result : take_sum)(s, share, data, length, diag);
    return length
               ? gcb_diag_set(diag, GCB_E_CORRUPT, "%zu bytes arrived instead of nothing", length)
               : 0;
}

/* ---- the end of a step ---- */

/* Decodes this worker's message of a share to x. Without a message, x stays as it is. */
static int read_made(struct hops *s, uint32_t share, float *x, struct gcb_diag *diag)
{
    const struct message *m = &s->messages[share];

    return m->length ? gcb_share_decode(&s->shares, share, s->made.data + m->at, m->length, x, diag)
                     : 0;
}

/* Writes the part of this worker's tensor that arrived: all except what its encodings lost. A
 * division by a tiny or zero weight may overflow; then the loss is dropped. */
static int find_own(struct hops *s, float *own, struct gcb_diag *diag)
{
    const float weight = s->env.weights[s->env.worker];
    int err = 0;

    for (uint32_t share = 0; !err && share < s->shares.count; share++)
        err = read_made(s, share, own + gcb_share_begin(&s->shares, share), diag);
    for (uint64_t i = 0; !err && i < s->env.coder.env.count; i++) {
        const float lost = (s->sum[i] - own[i]) * s->scale / weight;

        own[i] = isfinite(lost) ? s->in.x[i] - lost : s->in.x[i];
    }
    return err;
}

static int hops_conclude(void *state, float *update, float *own, struct gcb_diag *diag)
{
    struct hops *s = state;
    const int err = own ? find_own(s, own, diag) : 0;

    if (!err && update)
        gcb_weigh(update, s->result, s->scale, s->env.coder.env.count, s->env.coder.env.queue);
    return err;
}

static int hops_describe(void *state, struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct hops *s = state;
    int err = 0;

    memset(parts, 0, sizeof(*parts));
    for (uint32_t share = 0; !err && share < s->shares.count; share++) {
        const struct message *m = &s->messages[share];

        if (m->length)
            err =
                gcb_share_describe(&s->shares, share, s->made.data + m->at, m->length, parts, diag);
    }
    return err;
}

static void hops_second_error(void *state, double *lost, double *sum)
{
    struct hops *s = state;
    const uint32_t mine = s->tree ? 0 : s->env.worker;
    const bool ends =
        !s->tree || s->env.worker == 0; /* this worker encodes the last sum of `mine` */

    for (uint32_t share = 0; share < s->shares.count; share++) {
        const float *exact = s->sum + gcb_share_begin(&s->shares, share);

        if (read_made(s, share, s->scratch, NULL)) /* cannot fail: this worker made the message */
            return;
        for (uint64_t i = 0; i < gcb_share_length(&s->shares, share); i++) {
            const double error = (double)exact[i] - (double)s->scratch[i];

            if (s->messages[share].added)
                *lost += error * error * (double)s->scale * (double)s->scale;
            if (ends && share == mine)
                *sum += (double)exact[i] * (double)exact[i] * (double)s->scale * (double)s->scale;
        }
    }
}

#define HOPS(make) \
    { \
        .state_size = sizeof(struct hops), .init = make, .fini = hops_fini, .begin = hops_begin, \
        .send = hops_send, .receive = hops_receive, .conclude = hops_conclude, \
        .describe = hops_describe, .second_error = hops_second_error, \
    }

const struct gcb_collective_ops gcb_collective_ring = HOPS(ring_init);
const struct gcb_collective_ops gcb_collective_tree = HOPS(tree_init);
