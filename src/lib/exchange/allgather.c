#include "src/lib/base/alloc.h"
#include "src/lib/exchange/collective.h"
#include "src/lib/sum/sum.h"

/*
 * All-gather: each worker sends one message to all others, and adds up all messages in the order of
 * the workers (struct gcb_sum). Every method can use this collective. Each of n workers receives
 * n - 1 messages, which is expensive with many workers.
 */
struct allgather {
    struct gcb_collective_base base;
    struct gcb_collective_env env;
    struct gcb_coder *own; /* decoder of this worker's own messages */
    struct gcb_sum *sum;   /* NULL if the caller wants no update */
    struct gcb_wbuf message;
};

static void allgather_fini(void *state)
{
    struct allgather *s = state;

    gcb_coder_destroy(s->own);
    gcb_sum_close(s->sum);
    gcb_free(s->message.data);
}

/* Allocates memory for a message. A raw tensor may be longer than the encoder's bound. */
static int make_room(struct allgather *s, struct gcb_diag *diag)
{
    const size_t bound = gcb_coder_bound(s->base.encoder),
                 raw = gcb_coder_raw_bytes(s->base.encoder);

    gcb_free(s->message.data);
    s->message.cap = bound > raw ? bound : raw;
    s->message.data = gcb_alloc(s->message.cap);
    return s->message.data ? 0 : gcb_diag_nomem(diag, s->message.cap, "a message");
}

static int allgather_init(void *state, const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    struct gcb_coder_config decoding = env->coder;
    struct allgather *s = state;
    int err;

    s->env = *env;
    s->base.conserves = true;
    decoding.env.decoding = true;
    err = gcb_coder_create(&s->base.encoder, &env->method, &env->coder, diag);
    if (!err)
        err = gcb_coder_create(&s->own, &env->method, &decoding, diag);
    if (!err && !env->no_update)
        err = gcb_sum_create(&s->sum, &env->method, NULL, &env->coder, diag);
    return err ? err : make_room(s, diag);
}

static int allgather_begin(void *state, const struct gcb_contribution *in, struct gcb_diag *diag)
{
    struct allgather *s = state;
    const struct gcb_view x = {.data = in->x, .count = s->env.coder.env.count};
    int err;

    s->message.len = 0;
    s->message.failed = false;
    if (in->raw)
        err = gcb_coder_encode_raw(s->base.encoder, &x, &s->message, diag);
    else
        err = (in->unchecked ? gcb_coder_encode : gcb_coder_encode_finite)(s->base.encoder, &in->at,
                                                                           &x, &s->message, diag);
    if (!err)
        gcb_message_seal(s->message.data, s->message.len, 0);
    if (!err && s->sum)
        gcb_sum_set_into(s->sum, NULL);
    return err;
}

static void allgather_sum_into(void *state, float *update)
{
    struct allgather *s = state;

    if (s->sum)
        gcb_sum_set_into(s->sum, update);
}

static int allgather_send(void *state, unsigned round, struct gcb_round *out, struct gcb_diag *diag)
{
    const struct allgather *s = state;

    if (round)
        return 0;
    out->kind = GCB_ROUND_GATHER;
    out->data = s->message.data;
    out->bytes = s->message.len;
    return 1;
}

static int allgather_receive(void *state, unsigned round, uint32_t from, const void *data,
                             size_t length, struct gcb_diag *diag)
{
    struct allgather *s = state;

    return s->sum ? gcb_sum_add(s->sum, data, length, s->env.weights[from], diag) : 0;
}

static int allgather_conclude(void *state, float *update, float *own, struct gcb_diag *diag)
{
    struct allgather *s = state;
    const struct gcb_mview out = {.data = own, .count = s->env.coder.env.count};
    const int err = update ? gcb_sum_finish(s->sum, update, diag) : 0;

    if (err || !own)
        return err;
    return gcb_coder_decode(s->own, s->message.data, s->message.len, &out, diag);
}

static int allgather_settle(void *state, const struct gcb_addition *to, struct gcb_diag *diag)
{
    struct allgather *s = state;

    return gcb_coder_add(s->own, s->message.data, s->message.len, to, diag);
}

static int allgather_describe(void *state, struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct allgather *s = state;

    return gcb_coder_describe(s->own, s->message.data, s->message.len, parts, diag);
}

const struct gcb_collective_ops gcb_collective_allgather = {
    .checks = true,
    .rounds = 1,
    .state_size = sizeof(struct allgather),
    .init = allgather_init,
    .fini = allgather_fini,
    .begin = allgather_begin,
    .sum_into = allgather_sum_into,
    .send = allgather_send,
    .receive = allgather_receive,
    .conclude = allgather_conclude,
    .settle = allgather_settle,
    .describe = allgather_describe,
};
