#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/exchange/shares.h"
#include "src/lib/sum/sum.h"

/*
 * Two-shot all-reduce for dense methods. The tensor is cut into one share per worker. Each worker
 * encodes all shares and sends share w to its owner, worker w. The owner adds up the messages of
 * its share (struct gcb_sum), encodes the mean and sends it to all workers. A worker sends 2 (n -
 * 1) / n of a message, whatever the number n of workers is; in an all-gather it receives n - 1
 * messages.
 *
 *   round 0, scatter   part w: the message of share w of x; nothing for an empty share
 *   round 1, gather    the message of the mean of the worker's own share; nothing if it is empty
 *
 * The mean is the weighted sum divided by the sum of the weights' magnitudes, so that it is not
 * larger than the tensors. All workers decode the means and multiply them by the same number.
 *
 * The sum may overflow although the mean does not. So the owner of a share keeps the messages of
 * round 0. If the sum has an infinity, the owner adds them again with smaller weights.
 *
 * The second encoding has an error too. With second-error=feedback, the owner of the share counts
 * the error as not sent, so the owner's memory keeps it. LoCo (arXiv 2407.04480) and DoubleSqueeze
 * (arXiv 1905.05957) also feed errors back where they occur.
 */
struct twoshot {
    struct gcb_collective_base base; /* no `encoder`: each knows only its last share */
    struct gcb_collective_env env;
    struct gcb_shares shares; /* one for each worker */
    bool feedback;            /* second-error=feedback */
    float scale;              /* the sum is the mean times `scale` */
    float largest;            /* the largest magnitude of a weight */
    uint64_t first, mine;     /* this worker's share: its first element, and its length */
    struct gcb_sum *sum;      /* sum of this worker's share */
    float *mean;              /* mean of this worker's share; the accumulator of `sum` */
    float *means;             /* all decoded means; NULL if the caller wants no update */
    float *scratch;           /* a share, or NULL if no function needs it */
    float *decoded;           /* the decoded mean of this worker's share; in `means`, or owned */
    struct gcb_wbuf parts, second; /* messages of this worker in round 0; message in round 1 */
    size_t *part_bytes;            /* length of each message in `parts` */
    struct gcb_wbuf arrived;       /* messages of all workers of this worker's share */
    size_t *arrived_bytes;         /* length of each message in `arrived` */
    struct gcb_contribution in;
    uint32_t settled; /* number of shares that twoshot_settle has added */
};

/* The step and worker with which a message is encoded. They differ between the workers^2 + workers
 * messages of a step, so that each message draws random numbers of its own. */
static struct gcb_step drawn_as(const struct twoshot *s, unsigned round, uint32_t share)
{
    const uint32_t n = s->env.workers;

    return (struct gcb_step){
        .step = s->in.at.step,
        .worker = round ? n * n + share : n * share + s->env.worker,
    };
}

/* ---- opening ---- */

static void twoshot_fini(void *state)
{
    struct twoshot *s = state;

    gcb_shares_fini(&s->shares);
    gcb_sum_close(s->sum);
    gcb_free(s->mean);
    if (!s->means)
        gcb_free(s->decoded);
    gcb_free(s->means);
    gcb_free(s->scratch);
    gcb_free(s->parts.data);
    gcb_free(s->second.data);
    gcb_free(s->part_bytes);
    gcb_free(s->arrived.data);
    gcb_free(s->arrived_bytes);
}

static int make_arrays(struct twoshot *s, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = gcb_share_config(&s->shares, s->mine);
    uint64_t scratch = s->feedback ? s->mine : 0;
    int err = 0;

    for (uint32_t w = 0; w < s->env.workers; w++)
        if (gcb_share_length(&s->shares, w))
            s->parts.cap += gcb_share_coders(&s->shares, w)->room;
    s->second.cap = s->mine ? gcb_share_coders(&s->shares, s->env.worker)->room : 0;
    s->arrived.cap = s->second.cap * s->env.workers;
    s->part_bytes = gcb_exchange_allocate(s->env.workers, sizeof(*s->part_bytes), &err, diag);
    s->arrived_bytes = gcb_exchange_allocate(s->env.workers, sizeof(*s->arrived_bytes), &err, diag);
    s->arrived.data = gcb_exchange_allocate(s->arrived.cap, 1, &err, diag);
    s->parts.data = gcb_exchange_allocate(s->parts.cap, 1, &err, diag);
    s->second.data = gcb_exchange_allocate(s->second.cap, 1, &err, diag);
    s->mean = gcb_exchange_allocate(s->mine, sizeof(float), &err, diag);
    if (s->env.no_update) /* take_mean decodes any share there */
        scratch = gcb_share_length(&s->shares, 0);
    s->scratch = gcb_exchange_allocate(scratch, sizeof(float), &err, diag);
    if (!s->env.no_update)
        s->means = gcb_exchange_allocate(s->env.coder.env.count, sizeof(float), &err, diag);
    s->decoded =
        s->means ? s->means + s->first : gcb_exchange_allocate(s->mine, sizeof(float), &err, diag);
    return err ? err : gcb_sum_create(&s->sum, &s->env.method, s->mean, &config, diag);
}

/* The largest magnitude of a weight, or 1 if all weights are 0. Messages are added with their
 * weights divided by it. So equal weights become 1, opposite values cancel exactly, and a vote can
 * be tied. */
static float largest_weight(const struct gcb_collective_env *env)
{
    float largest = 0.0f;

    for (unsigned w = 0; w < env->workers; w++)
        largest = fmaxf(largest, fabsf(env->weights[w]));
    return largest > 0.0f ? largest : 1.0f;
}

static int twoshot_init(void *state, const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    struct gcb_exchange_params params;
    int err;

    gcb_method_exchange(&params, &env->method);
    s->env = *env;
    err = gcb_shares_init(&s->shares, &s->env, env->workers, diag);
    if (err)
        return err;
    s->feedback = params.second_error == GCB_SECOND_ERROR_FEEDBACK;
    s->scale = gcb_weights_magnitude(env);
    s->largest = largest_weight(env);
    s->first = gcb_share_begin(&s->shares, env->worker);
    s->mine = gcb_share_length(&s->shares, env->worker);
    /* a worker with weight 0 cannot feed back the error of its second encoding */
    s->base.conserves = s->feedback;
    for (uint32_t w = 0; w < env->workers; w++)
        s->base.conserves &= env->weights[w] != 0.0f || gcb_share_length(&s->shares, w) == 0;
    return make_arrays(s, diag);
}

/* ---- rounds ---- */

static int encode(struct twoshot *s, unsigned round, uint32_t share, const float *x, bool raw,
                  struct gcb_wbuf *out, struct gcb_diag *diag)
{
    const struct gcb_step at = drawn_as(s, round, share);

    return gcb_share_encode(&s->shares, share, &at, x, raw, out, diag);
}

static int twoshot_begin(void *state, const struct gcb_contribution *in, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    int err = 0;

    s->in = *in;
    s->base.spoilt = false;
    s->settled = 0;
    s->parts.len = s->second.len = s->arrived.len = 0;
    s->parts.failed = s->second.failed = s->arrived.failed = false;
    for (uint32_t w = 0; !err && w < s->env.workers; w++) {
        const size_t start = s->parts.len;

        if (gcb_share_length(&s->shares, w))
            err = encode(s, 0, w, in->x + gcb_share_begin(&s->shares, w), in->raw, &s->parts, diag);
        s->part_bytes[w] = s->parts.len - start;
    }
    gcb_sum_clear(s->sum);
    return err;
}

/* Multiplies the weights when messages are added again. It is at most half of 1 / workers, so no
 * sum overflows. */
#define AGAIN 0x1p-17f
_Static_assert(GCB_SHARE_WORKERS <= 1 << 16, "AGAIN is at most half of 1 / workers");

/* Makes the mean of this worker's share again, from the messages that arrived, without overflow.
 * Elements of the mean that were finite stay as they are. */
static int mend_mean(struct twoshot *s, struct gcb_diag *diag)
{
    const float divisor = s->scale / s->largest * AGAIN;
    const uint8_t *message = s->arrived.data;
    float *before = s->decoded; /* scratch until round 1 */
    int err = 0;

    memcpy(before, s->mean, s->mine * sizeof(*before));
    for (uint32_t w = 0; !err && w < s->env.workers; message += s->arrived_bytes[w++])
        err = gcb_sum_add_checked(s->sum, message, s->arrived_bytes[w],
                                  s->env.weights[w] / s->largest * AGAIN, diag);
    if (!err)
        err = gcb_sum_finish(s->sum, NULL, diag);
    for (uint64_t i = 0; !err && i < s->mine; i++) {
        const float mean = s->mean[i] / divisor;

        /* a finite sum of finite elements has a finite mean, but rounding may overflow */
        if (isfinite(before[i]))
            s->mean[i] = before[i];
        else if (isfinite(s->mean[i]))
            s->mean[i] = isinf(mean) ? copysignf(FLT_MAX, mean) : mean;
    }
    return err;
}

/* Makes the mean of this worker's share from the sum, and encodes it. A mean with an infinity or
 * NaN is sent raw. */
static int encode_mean(struct twoshot *s, struct gcb_diag *diag)
{
    int err = gcb_sum_finish(s->sum, NULL, diag);
    bool finite;

    if (err)
        return err;
    gcb_unweigh(s->mean, s->mean, s->scale / s->largest, s->mine, s->env.coder.env.queue);
    finite = gcb_stays_finite(&s->env, s->mean, 1.0f, s->mine);
    if (!finite && !s->arrived.failed) {
        err = mend_mean(s, diag);
        finite = !err && gcb_stays_finite(&s->env, s->mean, 1.0f, s->mine);
    }
    return err ? err : encode(s, 1, s->env.worker, s->mean, !finite, &s->second, diag);
}

static int twoshot_send(void *state, unsigned round, struct gcb_round *out, struct gcb_diag *diag)
{
    struct twoshot *s = state;

    if (round == 0) {
        out->kind = GCB_ROUND_SCATTER;
        out->data = s->parts.data;
        out->bytes = s->parts.len;
        out->parts = s->part_bytes;
        return 1;
    }
    if (round == 1) {
        const int err = s->mine ? encode_mean(s, diag) : 0;

        out->kind = GCB_ROUND_GATHER;
        out->data = s->second.data;
        out->bytes = s->second.len;
        return err ? err : 1;
    }
    return 0;
}

/* Adds the message of worker `from` to the sum of this worker's share, and keeps a copy for
 * mend_mean. A hostile message may be too long for a copy; then s->arrived.failed is set. */
static int take_part(struct twoshot *s, uint32_t from, const void *data, size_t length,
                     struct gcb_diag *diag)
{
    const int err = gcb_sum_add(s->sum, data, length, s->env.weights[from] / s->largest, diag);
    uint8_t *copy = err ? NULL : gcb_wbuf_take(&s->arrived, length);

    s->arrived_bytes[from] = length;
    if (copy)
        memcpy(copy, data, length);
    return err;
}

/* The array for the decoded mean of a share. */
static float *place_of_mean(const struct twoshot *s, uint32_t share)
{
    if (s->means)
        return s->means + gcb_share_begin(&s->shares, share);
    return share == s->env.worker ? s->decoded : s->scratch;
}

/* Decodes the mean of a share. twoshot_conclude multiplies it by s->scale. */
static int take_mean(struct twoshot *s, uint32_t share, const void *data, size_t length,
                     struct gcb_diag *diag)
{
    float *x = place_of_mean(s, share);
    const int err = gcb_share_decode(&s->shares, share, data, length, x, diag);

    s->base.spoilt |=
        !err && !gcb_stays_finite(&s->env, x, s->scale, gcb_share_length(&s->shares, share));
    return err;
}

static int twoshot_receive(void *state, unsigned round, uint32_t from, const void *data,
                           size_t length, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    const uint32_t share = round == 0 ? s->env.worker : from;

    if (gcb_share_length(&s->shares, share) == 0 && length)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%zu bytes arrived for a share without elements",
                            length);
    if (gcb_share_length(&s->shares, share) == 0)
        return 0;
    return round == 0 ? take_part(s, from, data, length, diag)
                      : take_mean(s, share, data, length, diag);
}

/* ---- the end of a step ---- */

/* Subtracts the error of the second encoding from this worker's part of its share, so that its
 * memory keeps the error. A division by a tiny or zero weight may overflow; then the error is
 * dropped. */
static void take_back(const struct twoshot *s, float *own)
{
    const float weight = s->env.weights[s->env.worker];

    for (uint64_t i = 0; i < s->mine; i++) {
        const float lost = (s->mean[i] * s->scale - s->decoded[i] * s->scale) / weight;

        own[i] -= isfinite(lost) ? lost : 0.0f;
    }
}

/* Decodes the part that this worker sent of a share to `own`. In this worker's own share, it then
 * takes back the error of the second encoding. */
static int read_part(struct twoshot *s, uint32_t share, const uint8_t *part, float *own,
                     struct gcb_diag *diag)
{
    const int err = gcb_share_decode(&s->shares, share, part, s->part_bytes[share], own, diag);

    if (!err && share == s->env.worker && s->feedback && !s->base.spoilt)
        take_back(s, own);
    return err;
}

static int twoshot_conclude(void *state, float *update, float *own, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    const uint8_t *part = s->parts.data;
    int err = 0;

    for (uint32_t w = 0; own && !err && w < s->env.workers; part += s->part_bytes[w++])
        if (s->part_bytes[w])
            err = read_part(s, w, part, own + gcb_share_begin(&s->shares, w), diag);
    if (!err && update)
        gcb_weigh(update, s->means, s->scale, s->env.coder.env.count, s->env.coder.env.queue);
    return err;
}

/* Adds this worker's part of its own share, minus the error of the second encoding. An element
 * whose addition would overflow counts as not arrived. */
static int settle_own(struct twoshot *s, const uint8_t *part, const struct gcb_addition *to,
                      struct gcb_diag *diag)
{
    const struct gcb_codec_env *env = &s->env.coder.env;
    const int err = read_part(s, s->env.worker, part, s->scratch, diag);

    if (err)
        return err;
    for (uint64_t i = 0; i < s->mine; i++)
        if (!isfinite(to->acc[i] + to->weight * s->scratch[i]))
            s->scratch[i] = 0.0f;
    gcb_add_raw(to, s->scratch, s->mine, GCB_F32, env->kernels, env->queue);
    return 0;
}

/* After a failure the caller may try again. s->settled tells with which share to go on. */
static int twoshot_settle(void *state, const struct gcb_addition *to, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    const uint8_t *part = s->parts.data;
    int err = 0;

    for (uint32_t w = 0; !err && w < s->env.workers; part += s->part_bytes[w++]) {
        const uint64_t first = gcb_share_begin(&s->shares, w);
        struct gcb_addition share = *to;

        if (w < s->settled || s->part_bytes[w] == 0)
            continue;
        share.acc += first;
        share.mask = to->mask ? to->mask + first : NULL;
        err = w == s->env.worker && s->feedback
                  ? settle_own(s, part, &share, diag)
                  : gcb_coder_add(gcb_share_coders(&s->shares, w)->decoder, part, s->part_bytes[w],
                                  &share, diag);
        s->settled = err ? w : w + 1;
    }
    return err;
}

/* ---- about a step ---- */

static int twoshot_describe(void *state, struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    const uint8_t *message = s->parts.data;
    int err = 0;

    memset(parts, 0, sizeof(*parts));
    for (uint32_t w = 0; !err && w < s->env.workers; w++) {
        if (s->part_bytes[w])
            err = gcb_share_describe(&s->shares, w, message, s->part_bytes[w], parts, diag);
        message += s->part_bytes[w];
    }
    if (err || s->mine == 0)
        return err;
    return gcb_share_describe(&s->shares, s->env.worker, s->second.data, s->second.len, parts,
                              diag);
}

static void twoshot_second_error(void *state, double *lost, double *sum)
{
    const struct twoshot *s = state;

    for (uint64_t i = 0; i < s->mine; i++) {
        const double exact = (double)s->mean[i] * (double)s->scale;
        const double lost_here = exact - (double)(s->decoded[i] * s->scale);

        *lost += lost_here * lost_here;
        *sum += exact * exact;
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
