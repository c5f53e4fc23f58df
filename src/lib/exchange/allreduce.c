#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/exchange/collective.h"

/*
 * All-reduce: the workers' values are combined element by element on their way, without decoding
 * (struct gcb_reduce_ops). With n workers, each worker sends 2 (n - 1) / n times its values in a
 * ring all-reduce.
 *
 * If a method with `adds_whole` cannot represent a worker's tensor, this worker contributes
 * infinities. The sum of finite values is finite, so all workers see in the same round that a
 * worker has done this. In the next and last round they add up the tensors themselves.
 */
struct allreduce {
    struct gcb_collective_base base;
    struct gcb_collective_env env;
    const struct gcb_reduce_ops *ops;
    struct gcb_codec_base *codec; /* the codec's state in base.encoder */
    void *values;      /* what this worker contributes; after the last round, the combined values */
    uint64_t capacity; /* bytes allocated for `values` */
    struct gcb_contribution in;
    uint64_t sent; /* bytes that this worker has contributed in this step */
    bool raw;      /* this worker contributes NaNs or infinities: see spoil */
    unsigned last; /* number of the last round; set again when `whole` becomes true */
    bool whole;    /* round `last` adds the tensors themselves */
};

static void allreduce_fini(void *state)
{
    gcb_free(((struct allreduce *)state)->values);
}

static uint64_t round_bytes(const struct allreduce *s, unsigned round)
{
    if (s->whole)
        return s->env.coder.env.count * sizeof(float);
    return s->codec->round[round].count * gcb_reduction_size(s->codec->round[round].reduction);
}

static enum gcb_reduction reduction_of(const struct allreduce *s, unsigned round)
{
    return s->whole ? GCB_SUM_F32 : s->codec->round[round].reduction;
}

static int make_room(struct allreduce *s, uint64_t bytes, struct gcb_diag *diag)
{
    if (s->values && bytes <= s->capacity)
        return 0;
    gcb_free(s->values);
    s->values = gcb_alloc(bytes);
    s->capacity = bytes;
    return s->values ? 0 : gcb_diag_nomem(diag, bytes, "what a worker sends");
}

static int allreduce_init(void *state, const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    struct gcb_coder_config config = env->coder;
    struct allreduce *s = state;
    uint64_t most = 0;
    int err;

    s->env = *env;
    config.env.workers = env->workers;
    err = gcb_coder_create(&s->base.encoder, &env->method, &config, diag);
    if (err)
        return err;
    s->ops = env->method.codec->reduce;
    /* With powersgd and countsketch, each worker's own part is the update divided by the sum of the
     * weights, or 0 if this sum is 0. */
    s->base.conserves = s->ops->conserves && env->total != 0.0f;
    s->codec = gcb_coder_codec_state(s->base.encoder);
    for (unsigned r = 0; r < s->codec->rounds; r++)
        most = round_bytes(s, r) > most ? round_bytes(s, r) : most;
    return make_room(s, most, diag);
}

/* The step, the worker and the weights, as the functions of the codec take them. */
static struct gcb_reduce_at make_reduce_at(const struct allreduce *s)
{
    return (struct gcb_reduce_at){
        .step = s->in.at,
        .workers = s->env.workers,
        .weight = s->env.weights[s->env.worker],
        .total = s->env.total,
    };
}

static int allreduce_begin(void *state, const struct gcb_contribution *in, struct gcb_diag *diag)
{
    struct allreduce *s = state;

    s->in = *in;
    if (s->ops->begin) {
        const struct gcb_reduce_at at = make_reduce_at(s);

        s->ops->begin(s->codec, &at);
    }
    s->raw = in->raw;
    s->whole = false;
    s->last = s->codec->rounds - 1;
    s->sent = 0;
    return 0;
}

static void set_all(float *values, uint64_t n, float to)
{
    for (uint64_t i = 0; i < n; i++)
        values[i] = to;
}

/* Sets all values of a worker to NaN or infinity, because its tensor is not finite, the method
 * cannot represent the tensor, or the combined values of an earlier round were not finite. So the
 * combined values tell all workers: a sum with a NaN is a NaN, and the maximum with an infinity is
 * an infinity. Integers become 0. */
static void spoil(enum gcb_reduction reduction, void *values, uint64_t bytes)
{
    const uint16_t half_nan = reduction == GCB_SUM_BF16 ? 0x7fc0 : 0x7e00;

    switch (reduction) {
    case GCB_SUM_F32:
    case GCB_MAX_F32:
        set_all(values, bytes / sizeof(float), reduction == GCB_SUM_F32 ? NAN : INFINITY);
        break;
    case GCB_SUM_F16:
    case GCB_SUM_BF16:
        for (uint64_t i = 0; i < bytes / sizeof(half_nan); i++)
            ((uint16_t *)values)[i] = half_nan;
        break;
    default: /* a round of floats tells all workers, before or after this one */
        memset(values, 0, bytes);
    }
}

/* Returns GCB_INF_BITS if the values have an infinity, more if they have a NaN, otherwise less. For
 * 16-bit floats, an infinity counts as a NaN. Integers are always finite. */
static uint32_t find_nonfinite(enum gcb_reduction reduction, const void *values, uint64_t bytes,
                               const struct gcb_kernels *kernels)
{
    /* 2^15 minus the bits of infinity. If a magnitude is not finite, adding this number to it sets
     * bit 15. */
    const uint16_t below = reduction == GCB_SUM_BF16 ? 0x80 : 0x400;
    const uint16_t *half = values;
    uint16_t any = 0;

    if (reduction == GCB_SUM_F32 || reduction == GCB_MAX_F32)
        return kernels->reduce.max_bits(values, bytes / sizeof(float));
    if (reduction != GCB_SUM_F16 && reduction != GCB_SUM_BF16)
        return 0;
    for (uint64_t i = 0; i < bytes / sizeof(*half); i++)
        any |= (uint16_t)((half[i] & 0x7fff) + below);
    return any & 0x8000 ? GCB_INF_BITS + 1 : 0;
}

/* Writes this worker's values of a round, `bytes` bytes, to s->values. */
static int contribute(struct allreduce *s, unsigned round, uint64_t bytes, struct gcb_diag *diag)
{
    const struct gcb_reduce_at at = make_reduce_at(s);
    int err = 0;

    if (s->whole)
        gcb_weigh(s->values, s->in.x, at.weight, s->env.coder.env.count, s->env.coder.env.queue);
    else if (!s->raw && !s->base.spoilt)
        err = s->ops->contribute(s->codec, &at, round, s->in.x, s->values);
    if (err == GCB_E_SEND_RAW && s->ops->adds_whole)
        set_all(s->values, bytes / sizeof(float), INFINITY);
    else if (err == GCB_E_SEND_RAW)
        s->raw = true;
    else if (err)
        return gcb_diag_set(diag, err, "method '%s': %s", s->env.method.name, gcb_status_text(err));
    if (s->raw || s->base.spoilt)
        spoil(reduction_of(s, round), s->values, bytes);
    return 0;
}

static int allreduce_send(void *state, unsigned round, struct gcb_round *out, struct gcb_diag *diag)
{
    struct allreduce *s = state;
    uint64_t bytes;
    int err;

    if (round > s->last)
        return 0;
    bytes = round_bytes(s, round);
    err = make_room(s, bytes, diag);
    if (!err)
        err = contribute(s, round, bytes, diag);
    if (err)
        return err;
    out->kind = GCB_ROUND_REDUCE;
    out->reduction = reduction_of(s, round);
    out->data = s->values;
    out->bytes = bytes;
    s->sent += bytes;
    return 1;
}

/* Bytes that a task checks, and may copy afterwards: so few that they are still in a cache then. */
#define PIECE ((uint64_t)1 << 18)

/* The combined values of a round. */
struct arrival {
    enum gcb_reduction reduction;
    const struct gcb_kernels *kernels;
    const uint8_t *from;
    uint8_t *to; /* NULL: only check */
    uint64_t bytes;
    uint32_t most; /* the largest result of find_nonfinite */
};

static void take_piece(void *ctx, uint64_t i)
{
    struct arrival *a = ctx;
    const uint64_t at = i * PIECE, left = a->bytes - at, n = left < PIECE ? left : PIECE;

    gcb_raise_max(&a->most, find_nonfinite(a->reduction, a->from + at, n, a->kernels));
    if (a->to)
        memcpy(a->to + at, a->from + at, n);
}

/* Looks for infinities and NaNs in the combined values of a round. Infinities without a NaN set
 * s->whole if the method has `adds_whole` and s->whole is not set yet; all others set
 * s->base.spoilt. In the last round, copies the combined values to s->values. `data` may be
 * s->values itself, for example with one worker. */
static void take_combined(struct allreduce *s, unsigned round, const void *data, uint64_t bytes)
{
    const bool keeps = round == s->last && data != s->values;
    struct arrival a = {
        .reduction = reduction_of(s, round),
        .kernels = s->env.coder.env.kernels,
        .from = data,
        .to = keeps ? s->values : NULL,
        .bytes = bytes,
    };

    gcb_parallel(s->env.coder.env.queue, (bytes + PIECE - 1) / PIECE, take_piece, &a);
    if (a.most == GCB_INF_BITS && s->ops->adds_whole && !s->whole) {
        s->whole = true;
        s->last = round + 1;
    } else if (a.most >= GCB_INF_BITS) {
        s->base.spoilt = true;
    }
}

static int allreduce_receive(void *state, unsigned round, uint32_t from, const void *data,
                             size_t length, struct gcb_diag *diag)
{
    struct allreduce *s = state;

    if (length != round_bytes(s, round))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%zu bytes arrived, but a round has %llu", length,
                            (unsigned long long)round_bytes(s, round));
    if ((uintptr_t)data % sizeof(float)) /* align the data; what was sent is not needed any more */
        data = memcpy(s->values, data, length);
    take_combined(s, round, data, length);
    if (!s->base.spoilt && !s->whole && round < s->last)
        s->ops->absorb(s->codec, round, data);
    return 0;
}

static int allreduce_conclude(void *state, float *update, float *own, struct gcb_diag *diag)
{
    struct allreduce *s = state;
    const struct gcb_reduce_at at = make_reduce_at(s);
    const uint64_t n = s->env.coder.env.count;

    if (s->base.spoilt) {
        set_all(update, update ? n : 0, NAN);
        gcb_set_zero(own, own ? n : 0);
    } else if (s->whole) {
        gcb_conclude_whole(n, s->in.x, s->values, update, own);
    } else {
        s->ops->conclude(s->codec, &at, s->in.x, s->values, update, own);
    }
    return 0;
}

static int allreduce_describe(void *state, struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    const struct allreduce *s = state;

    memset(parts, 0, sizeof(*parts));
    parts->wire_bytes = parts->payload.value_bytes = s->sent;
    parts->payload.kept = parts->payload.positions = s->env.coder.env.count;
    if (!isnan(s->codec->density)) /* a sparsifier sends a value for each kept position */
        parts->payload.kept = s->codec->round[s->codec->rounds - 1].count;
    parts->payload.entropy0_bits = NAN;
    return 0;
}

const struct gcb_collective_ops gcb_collective_allreduce = {
    .state_size = sizeof(struct allreduce),
    .init = allreduce_init,
    .fini = allreduce_fini,
    .begin = allreduce_begin,
    .send = allreduce_send,
    .receive = allreduce_receive,
    .conclude = allreduce_conclude,
    .describe = allreduce_describe,
};
