#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/exchange/collective.h"
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
#define GCB_TWOSHOT_WORKERS 65535u /* so that the numbers of drawn_as fit 32 bits */
#define GCB_TWOSHOT_LENGTHS 3      /* most different lengths of shares: see share_begin */

/* Coders for shares of one length. */
struct share_coders {
    uint64_t count;
    size_t room; /* most bytes of a message */
    struct gcb_coder *encoder, *decoder;
};

struct twoshot {
    struct gcb_collective_base base; /* no `encoder`: each knows only its last share */
    struct gcb_collective_env env;
    struct share_coders coders[GCB_TWOSHOT_LENGTHS];
    bool feedback;        /* second-error=feedback */
    float scale;          /* the sum is the mean times `scale` */
    float largest;        /* the largest magnitude of a weight */
    uint64_t unit;        /* shares begin at multiples of `unit` elements */
    uint64_t first, mine; /* this worker's share: its first element, and its length */
    struct gcb_sum *sum;  /* sum of this worker's share */
    float *mean;          /* mean of this worker's share; the accumulator of `sum` */
    float *means;         /* all decoded means; NULL if the caller wants no update */
    float *scratch;       /* a share, or NULL if no function needs it */
    float *decoded;       /* the decoded mean of this worker's share; in `means`, or owned */
    struct gcb_wbuf parts, second; /* messages of this worker in round 0; message in round 1 */
    size_t *part_bytes;            /* length of each message in `parts` */
    struct gcb_wbuf arrived;       /* messages of all workers of this worker's share */
    size_t *arrived_bytes;         /* length of each message in `arrived` */
    struct gcb_contribution in;
    uint32_t settled; /* number of shares that twoshot_settle has added */
};

/* ---- shares ---- */

/* The first element of a share; for share number `workers`, the end of the tensor. A share has
 * units / workers units (rounded down), or one more. The tensor may end within a unit. */
static uint64_t share_begin(const struct twoshot *s, uint64_t share)
{
    const uint64_t count = s->env.coder.env.count, units = (count + s->unit - 1) / s->unit;
    const uint64_t each = units / s->env.workers, more = units % s->env.workers;
    const uint64_t begin = s->unit * (share * each + (share < more ? share : more));

    return begin < count ? begin : count;
}

static uint64_t share_length(const struct twoshot *s, uint64_t share)
{
    return share_begin(s, share + 1) - share_begin(s, share);
}

#define UNIT 64 /* elements: four cache lines */

/* A unit is a bucket, so that no bucket is cut in two. If the method has no buckets, a unit has
 * UNIT elements. If there would be less than a unit for each worker, a unit is one element. */
static uint64_t choose_unit(const struct gcb_collective_env *env)
{
    const uint64_t average = env->coder.env.count / env->workers;
    double unit;

    if (!gcb_method_value(&env->method, "bucket", &unit) || unit < 1)
        unit = UNIT;
    return unit <= (double)average ? (uint64_t)unit : 1;
}

/* Returns the coders for the length of a share, or the first unused ones. The share is not
 * empty. */
static struct share_coders *coders_of(struct twoshot *s, uint64_t share)
{
    const uint64_t count = share_length(s, share);
    struct share_coders *c = s->coders;

    while (c->encoder && c->count != count)
        c++;
    return c;
}

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

    for (size_t i = 0; i < GCB_TWOSHOT_LENGTHS; i++) {
        gcb_coder_destroy(s->coders[i].encoder);
        gcb_coder_destroy(s->coders[i].decoder);
    }
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

/* The configuration of a coder for a share of `count` elements. */
static struct gcb_coder_config share_config(const struct twoshot *s, uint64_t count)
{
    struct gcb_coder_config config = s->env.coder;

    config.env.count = count;
    config.env.shape = NULL;
    config.env.rank = 0;
    return config;
}

/* Makes the coders for the length of a share, unless an earlier share has the same length. */
static int make_coders(struct twoshot *s, uint32_t share, struct gcb_diag *diag)
{
    struct share_coders *c = coders_of(s, share);
    struct gcb_coder_config config = share_config(s, share_length(s, share));
    size_t raw;
    int err;

    if (c->encoder)
        return 0;
    c->count = config.env.count;
    err = gcb_coder_create(&c->encoder, &s->env.method, &config, diag);
    if (err)
        return err;
    c->room = gcb_coder_bound(c->encoder);
    raw = gcb_coder_raw_bytes(c->encoder);
    c->room = c->room > raw ? c->room : raw;
    config.env.decoding = true;
    return gcb_coder_create(&c->decoder, &s->env.method, &config, diag);
}

/* Allocates an array, unless *err is set. Sets *err to GCB_E_NOMEM if that fails. */
static void *allocate(uint64_t count, size_t size, int *err, struct gcb_diag *diag)
{
    void *p = *err ? NULL : gcb_alloc_array(count, size);

    if (!*err && !p)
        *err = gcb_diag_nomem(diag, count * size, "an exchange");
    return p;
}

static int make_arrays(struct twoshot *s, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = share_config(s, s->mine);
    uint64_t longest = 0, scratch = s->feedback ? s->mine : 0;
    int err = 0;

    for (uint32_t w = 0; !err && w < s->env.workers; w++) {
        const uint64_t length = share_length(s, w);

        if (length == 0)
            continue;
        err = make_coders(s, w, diag);
        longest = length > longest ? length : longest;
        s->parts.cap += coders_of(s, w)->room;
    }
    s->second.cap = s->mine && !err ? coders_of(s, s->env.worker)->room : 0;
    s->arrived.cap = s->second.cap * s->env.workers;
    s->part_bytes = allocate(s->env.workers, sizeof(*s->part_bytes), &err, diag);
    s->arrived_bytes = allocate(s->env.workers, sizeof(*s->arrived_bytes), &err, diag);
    s->arrived.data = allocate(s->arrived.cap, 1, &err, diag);
    s->parts.data = allocate(s->parts.cap, 1, &err, diag);
    s->second.data = allocate(s->second.cap, 1, &err, diag);
    s->mean = allocate(s->mine, sizeof(float), &err, diag);
    if (s->env.no_update) /* take_mean decodes any share there */
        scratch = longest;
    s->scratch = allocate(scratch, sizeof(float), &err, diag);
    if (!s->env.no_update)
        s->means = allocate(s->env.coder.env.count, sizeof(float), &err, diag);
    s->decoded = s->means ? s->means + s->first : allocate(s->mine, sizeof(float), &err, diag);
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

/* The sum of the weights' magnitudes, or 1 if all weights are 0. Without negative weights it is
 * env->total, which is exactly 1 for default weights. */
static float scale_of(const struct gcb_collective_env *env)
{
    double magnitudes = 0.0;
    bool mixed = false;
    float scale;

    for (unsigned w = 0; w < env->workers; w++) {
        magnitudes += fabs((double)env->weights[w]);
        mixed |= env->weights[w] < 0.0f;
    }
    scale = mixed ? (float)magnitudes : env->total;
    return scale > 0.0f ? scale : 1.0f;
}

static int twoshot_init(void *state, const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    struct gcb_exchange_params params;

    if (env->workers > GCB_TWOSHOT_WORKERS)
        return gcb_invalid(diag, "collective=twoshot works with at most %u workers, not with %u",
                           GCB_TWOSHOT_WORKERS, env->workers);
    gcb_method_exchange(&params, &env->method);
    s->env = *env;
    s->feedback = params.second_error == GCB_SECOND_ERROR_FEEDBACK;
    s->scale = scale_of(env);
    s->largest = largest_weight(env);
    s->unit = choose_unit(env);
    s->first = share_begin(s, env->worker);
    s->mine = share_length(s, env->worker);
    /* a worker with weight 0 cannot feed back the error of its second encoding */
    s->base.conserves = s->feedback;
    for (uint32_t w = 0; w < env->workers; w++)
        s->base.conserves &= env->weights[w] != 0.0f || share_length(s, w) == 0;
    return make_arrays(s, diag);
}

/* ---- rounds ---- */

/* Appends the message of a share to `out`. x has the share's elements. */
static int encode(struct twoshot *s, unsigned round, uint32_t share, const float *x, bool raw,
                  struct gcb_wbuf *out, struct gcb_diag *diag)
{
    const struct share_coders *c = coders_of(s, share);
    const struct gcb_view view = {.data = x, .count = c->count};
    const struct gcb_step at = drawn_as(s, round, share);
    const size_t start = out->len;
    const int err = raw ? gcb_coder_encode_raw(c->encoder, &view, out, diag)
                        : gcb_coder_encode_finite(c->encoder, &at, &view, out, diag);

    if (!err)
        gcb_message_seal(out->data + start, out->len - start, 0);
    return err;
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

        if (share_length(s, w))
            err = encode(s, 0, w, in->x + share_begin(s, w), in->raw, &s->parts, diag);
        s->part_bytes[w] = s->parts.len - start;
    }
    gcb_sum_clear(s->sum);
    return err;
}

/* True if all elements times `factor` are finite. */
static bool stays_finite(const struct twoshot *s, const float *x, float factor, uint64_t n)
{
    const struct gcb_codec_env *env = &s->env.coder.env;

    return n == 0 || isfinite(gcb_float_of(gcb_max_bits(x, n, env->kernels, env->queue)) * factor);
}

/* Multiplies the weights when messages are added again. It is at most half of 1 / workers, so no
 * sum overflows. */
#define AGAIN 0x1p-17f
_Static_assert(GCB_TWOSHOT_WORKERS <= 1 << 16, "AGAIN is at most half of 1 / workers");

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
    finite = stays_finite(s, s->mean, 1.0f, s->mine);
    if (!finite && !s->arrived.failed) {
        err = mend_mean(s, diag);
        finite = !err && stays_finite(s, s->mean, 1.0f, s->mine);
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
        return s->means + share_begin(s, share);
    return share == s->env.worker ? s->decoded : s->scratch;
}

/* Decodes the mean of a share. twoshot_conclude multiplies it by s->scale. */
static int take_mean(struct twoshot *s, uint32_t share, const void *data, size_t length,
                     struct gcb_diag *diag)
{
    const struct share_coders *c = coders_of(s, share);
    float *x = place_of_mean(s, share);
    const struct gcb_mview view = {.data = x, .count = c->count};
    int err = gcb_message_check(data, length, 0, diag);

    if (!err)
        err = gcb_coder_decode(c->decoder, data, length, &view, diag);
    s->base.spoilt |= !err && !stays_finite(s, x, s->scale, c->count);
    return err;
}

static int twoshot_receive(void *state, unsigned round, uint32_t from, const void *data,
                           size_t length, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    const uint32_t share = round == 0 ? s->env.worker : from;

    if (share_length(s, share) == 0 && length)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%zu bytes arrived for a share without elements",
                            length);
    if (share_length(s, share) == 0)
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
    const struct share_coders *c = coders_of(s, share);
    const struct gcb_mview view = {.data = own, .count = c->count};
    const int err = gcb_coder_decode(c->decoder, part, s->part_bytes[share], &view, diag);

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
            err = read_part(s, w, part, own + share_begin(s, w), diag);
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
        const uint64_t first = share_begin(s, w);
        struct gcb_addition share = *to;

        if (w < s->settled || s->part_bytes[w] == 0)
            continue;
        share.acc += first;
        share.mask = to->mask ? to->mask + first : NULL;
        err = w == s->env.worker && s->feedback
                  ? settle_own(s, part, &share, diag)
                  : gcb_coder_add(coders_of(s, w)->decoder, part, s->part_bytes[w], &share, diag);
        s->settled = err ? w : w + 1;
    }
    return err;
}

/* ---- about a step ---- */

/* Adds the sizes of a share's message to `parts`. */
static int add_parts(struct twoshot *s, uint32_t share, const uint8_t *message, size_t length,
                     struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct gcb_message_parts one;
    const int err = gcb_coder_describe(coders_of(s, share)->decoder, message, length, &one, diag);

    if (err)
        return err;
    parts->wire_bytes += one.wire_bytes;
    parts->header_bytes += one.header_bytes;
    parts->stored |= one.stored;
    parts->payload.scale_bytes += one.payload.scale_bytes;
    parts->payload.value_bytes += one.payload.value_bytes;
    parts->payload.index_bytes += one.payload.index_bytes;
    parts->payload.kept += one.payload.kept;
    parts->payload.positions += one.payload.positions;
    parts->payload.entropy0_bits += one.payload.entropy0_bits;
    return 0;
}

static int twoshot_describe(void *state, struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct twoshot *s = state;
    const uint8_t *message = s->parts.data;
    int err = 0;

    memset(parts, 0, sizeof(*parts));
    for (uint32_t w = 0; !err && w < s->env.workers; w++) {
        if (s->part_bytes[w])
            err = add_parts(s, w, message, s->part_bytes[w], parts, diag);
        message += s->part_bytes[w];
    }
    if (err || s->mine == 0)
        return err;
    return add_parts(s, s->env.worker, s->second.data, s->second.len, parts, diag);
}

static void twoshot_second_error(const void *state, double *lost, double *sum)
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
