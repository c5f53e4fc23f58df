#include "tests/contract/lax_exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/codec/packed.h"

/* ---- methods ---- */

/*
 * A vote of signs: the update is the sign of the weighted sum of signs, times the sum of the weights. A message is the
 * signs as float32. `linear` only claims to be linear, `forgetful` gives every worker the same weight, and in `ranked`
 * worker 0 decides when votes are equal.
 */
struct vote {
    uint64_t count;
};

static int vote_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct vote *s = state;

    (void)diag;
    s->count = env->count;
    return 0;
}

static uint64_t vote_max_payload(const void *state)
{
    return ((const struct vote *)state)->count * sizeof(float);
}

static float sign_of(float x)
{
    return (float)(x > 0.0f) - (float)(x < 0.0f);
}

static int vote_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                       struct gcb_wbuf *out)
{
    (void)state;
    (void)at;
    for (uint64_t i = 0; i < in->count; i++)
        gcb_put_f32(out, sign_of(in->data[i]));
    return 0;
}

static int vote_decode(void *state, struct gcb_rbuf *in, const struct gcb_mview *out)
{
    const uint8_t *p = gcb_rbuf_take(in, out->count * sizeof(float));

    (void)state;
    for (uint64_t i = 0; p && i < out->count; i++)
        out->data[i] = sign_of(gcb_load_f32(p + i * sizeof(float)));
    return p ? 0 : GCB_E_CORRUPT;
}

static int vote_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    parts->value_bytes = gcb_rbuf_left(in);
    parts->kept = parts->positions = ((struct vote *)state)->count;
    return 0;
}

static enum gcb_reduction vote_reduction(const void *state, unsigned round)
{
    (void)state;
    (void)round;
    return GCB_SUM_F32;
}

static uint64_t vote_count(const void *state, unsigned round)
{
    (void)round;
    return ((const struct vote *)state)->count;
}

static int contribute(void *state, const struct gcb_reduce_at *at, unsigned round, const float *x,
                      void *values)
{
    const struct vote *s = state;

    (void)round;
    for (uint64_t i = 0; i < s->count; i++)
        ((float *)values)[i] = at->weight * sign_of(x[i]);
    return 0;
}

static int contribute_forgetful(void *state, const struct gcb_reduce_at *at, unsigned round,
                                const float *x, void *values)
{
    struct gcb_reduce_at same = *at;

    same.weight = 1.0f;
    return contribute(state, &same, round, x, values);
}

static int contribute_ranked(void *state, const struct gcb_reduce_at *at, unsigned round,
                             const float *x, void *values)
{
    struct gcb_reduce_at more = *at;

    more.weight *= at->step.worker == 0 ? 1.001f : 1.0f;
    return contribute(state, &more, round, x, values);
}

static void vote_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                          const void *combined, float *update, float *own)
{
    const struct vote *s = state;
    const float *votes = combined;

    for (uint64_t i = 0; i < s->count; i++) {
        const float vote = fabsf(votes[i]) > 1e-6f ? sign_of(votes[i]) : 0.0f;

        if (update)
            update[i] = at->total * vote;
        if (own)
            own[i] = sign_of(x[i]);
    }
}

static const struct gcb_codec_ops vote_ops = {
    .state_size = sizeof(struct vote),
    .init = vote_init,
    .max_payload = vote_max_payload,
    .encode = vote_encode,
    .decode = vote_decode,
    .describe = vote_describe,
};

#define VOTE(contribution) \
    { \
        .rounds = 1, .reduction = vote_reduction, .count = vote_count, .contribute = contribution, \
        .conclude = vote_conclude \
    }

static const struct gcb_reduce_ops vote_reduce = VOTE(contribute);
static const struct gcb_reduce_ops forgetful_reduce = VOTE(contribute_forgetful);
static const struct gcb_reduce_ops ranked_reduce = VOTE(contribute_ranked);

static const struct gcb_codec lax_codecs[] = {
    {.name = "vote", .reduce = &vote_reduce},
    {.name = "linear", .reduce = &vote_reduce, .caps = GCB_CAP_LINEAR},
    {.name = "forgetful", .reduce = &forgetful_reduce},
    {.name = "ranked", .reduce = &ranked_reduce},
};

bool lax_method(struct gcb_method *out, const char *name)
{
    static struct gcb_codec codec; /* the method points to it */
    const struct gcb_param *p;

    for (size_t i = 0; i < sizeof(lax_codecs) / sizeof(*lax_codecs); i++) {
        if (strcmp(lax_codecs[i].name, name) != 0)
            continue;
        codec = lax_codecs[i];
        codec.wire_id = 255;
        codec.ops = &vote_ops;
        *out = (struct gcb_method){.name = codec.name, .codec = &codec};
        for (size_t row = 0; (p = gcb_method_param(out, row)); row++)
            out->value[row] = p->def;
        return !gcb_method_change(out, "collective", "allreduce", NULL);
    }
    return false;
}

/* ---- the functions of an exchange ---- */

enum lax_exchange_defect lax_exchange_defect;

/* What the library does not tell about the exchanges that are open. */
static struct member {
    struct gcb_exchange *e;
    uint64_t count;
    uint32_t worker;
    int threads;
    bool begun, damaged;
    const float *x;
    float *changed; /* a tensor instead of x; NULL: none */
} members[TEAM_MOST * 2];

static struct member *member_of(const struct gcb_exchange *e)
{
    struct member *m = members;

    while (m->e != e)
        m++;
    return m;
}

static int create(struct gcb_exchange **out, const struct gcb_method *method,
                  const struct gcb_exchange_config *config, struct gcb_diag *diag)
{
    const int err = gcb_exchange_create(out, method, config, diag);

    if (!err)
        *member_of(NULL) = (struct member){.e = *out,
                                           .count = config->coder.env.count,
                                           .worker = config->worker,
                                           .threads = config->coder.env.queue->threads};
    return err;
}

/* Returns x with 0 for each NaN. It stays valid as long as the exchange. */
static const float *without_nan(struct member *m, const float *x)
{
    free(m->changed);
    m->changed = malloc((m->count + 1) * sizeof(float));
    for (uint64_t i = 0; i < m->count; i++)
        m->changed[i] = isnan(x[i]) ? 0.0f : x[i];
    return m->changed;
}

/* Was a step left without damage? */
static bool was_left(const struct member *m)
{
    bool damaged = false;

    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        damaged |= members[i].damaged;
    return m->begun && !damaged;
}

static int begin(struct gcb_exchange *e, uint64_t step, const float *x, struct gcb_diag *diag)
{
    struct member *m = member_of(e);
    int err = 0;

    m->x = lax_exchange_defect == LAX_EXCHANGE_NAN ? without_nan(m, x) : x;
    if (lax_exchange_defect == LAX_EXCHANGE_DAMAGE && m->damaged)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "damaged");
    if (lax_exchange_defect != LAX_EXCHANGE_LEFT || !was_left(m))
        err = gcb_exchange_begin(e, step, m->x, diag);
    if (lax_exchange_defect == LAX_EXCHANGE_MEMORY)
        err = gcb_exchange_begin(e, step, m->x, diag);
    m->begun = !err;
    return err;
}

static int receive(struct gcb_exchange *e, uint32_t from, const void *data, size_t length,
                   struct gcb_diag *diag)
{
    const int err = gcb_exchange_receive(e, from, data, length, diag);

    member_of(e)->damaged |= err != 0;
    return err;
}

static int conclude(struct gcb_exchange *e, float *update, float *own, struct gcb_diag *diag)
{
    struct member *m = member_of(e);
    const int err = gcb_exchange_conclude(e, update, own, diag);

    m->begun = false;
    if (err || m->count == 0)
        return err;
    if (lax_exchange_defect == LAX_EXCHANGE_UPDATE && m->worker == 1)
        update[0] += 1.0f;
    if (lax_exchange_defect == LAX_EXCHANGE_THREADS && m->threads > 1)
        update[m->count - 1] += 1.0f;
    if (lax_exchange_defect == LAX_EXCHANGE_SUM)
        update[0] = nextafterf(update[0], 9.0f);
    if (lax_exchange_defect == LAX_EXCHANGE_OWN)
        memcpy(own, m->x, m->count * sizeof(*own));
    return 0;
}

static int learn(struct gcb_exchange *e, const float *own, struct gcb_diag *diag)
{
    (void)own; /* it may lie */
    return gcb_exchange_learn(e, NULL, diag);
}

static void close(struct gcb_exchange *e)
{
    struct member *m = member_of(e);

    if (e)
        free(m->changed);
    *m = (struct member){.e = NULL};
    gcb_exchange_close(e);
}

const struct exchange_fns lax_exchange = {create, begin, gcb_exchange_next, receive, conclude,
                                          learn,  close};
