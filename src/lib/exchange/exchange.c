#include "src/lib/exchange/exchange.h"

#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/sized.h"
#include "src/lib/codec/packed.h"
#include "src/lib/memory/checkpoint.h"

static const struct gcb_collective_ops *const collectives[GCB_COLLECTIVES] = {
#define COLLECTIVE(id, name, ...) &gcb_collective_##name,
#include "src/lib/codec/collectives.def"
};

unsigned gcb_exchange_rounds(const struct gcb_method *method)
{
    const enum gcb_collective c = gcb_method_collective(method);

    return c == GCB_COLLECTIVE_ALLREDUCE ? method->codec->reduce->rounds : collectives[c]->rounds;
}

struct gcb_exchange {
    const struct gcb_collective_ops *ops;
    struct gcb_collective_base *state;
    struct gcb_memory *memory;
    struct gcb_collective_env env;
    struct gcb_codec_env_copy kept; /* copies of what env.coder.env points to */
    float *weights;
    float *own; /* scratch: the part of the tensor that arrived; NULL until it is needed */

    bool lacks_update; /* the memory must learn the last step's update before the next step */

    /* the current step */
    bool begun;                 /* a step is open: it may be continued or concluded */
    const float *gradient;      /* the caller's tensor */
    struct gcb_contribution in; /* in.x is what this worker sends; NULL in a step without sending */
    unsigned round;             /* number of rounds that have ended */
    bool open;                  /* a round has begun and not ended */
    struct gcb_round now;       /* what this worker sends in the open round */
    uint32_t received;          /* number of arrays that the open round has received */
    bool last;                  /* no round is left */
    bool unlearnt; /* the update was written, but learning what arrived has run out of memory */
};

/* ---- opening and closing ---- */

static void destroy_state(const struct gcb_collective_ops *ops, struct gcb_collective_base *state)
{
    if (state) {
        ops->fini(state);
        gcb_coder_destroy(state->encoder);
    }
    gcb_free(state);
}

static int create_state(struct gcb_collective_base **out, const struct gcb_collective_ops *ops,
                        const struct gcb_collective_env *env, struct gcb_diag *diag)
{
    struct gcb_collective_base *state = gcb_alloc_zero(1, ops->state_size);
    const int err =
        state ? ops->init(state, env, diag) : gcb_diag_nomem(diag, ops->state_size, "an exchange");

    if (err)
        destroy_state(ops, state);
    else
        *out = state;
    return err;
}

/* Sets e->env.weights to a copy of the weights, or to 1 / workers each if `weights` is NULL, and
 * e->env.total to their sum (in the second case exactly 1). */
static int copy_weights(struct gcb_exchange *e, const float *weights, struct gcb_diag *diag)
{
    const unsigned n = e->env.workers;
    double total = 0.0;

    e->weights = gcb_alloc_array(n, sizeof(*e->weights));
    if (!e->weights)
        return gcb_diag_nomem(diag, n * sizeof(*e->weights), "weights");
    for (unsigned w = 0; w < n; w++) {
        e->weights[w] = weights ? weights[w] : (float)(1.0 / n);
        total += (double)e->weights[w];
    }
    e->env.weights = e->weights;
    e->env.total = weights ? (float)total : 1.0f;
    return 0;
}

static int make_memory(struct gcb_exchange *e, struct gcb_diag *diag)
{
    struct gcb_memory_params params;

    gcb_method_memory_for(&params, &e->env.method, e->env.coder.env.count);
    if (params.kind == GCB_MEMORY_GMC && e->env.total == 0.0f)
        return gcb_invalid(diag,
                           "memory=gmc averages the workers, but the sum of their weights is 0");
    return gcb_memory_create(&e->memory, &params, e->env.coder.env.count, e->env.workers,
                             &e->kept.queue, &e->kept.kernels, diag);
}

static int init(struct gcb_exchange *e, const struct gcb_method *method,
                const struct gcb_exchange_config *config, struct gcb_diag *diag)
{
    int err;

    e->ops = collectives[gcb_method_collective(method)];
    e->env = (struct gcb_collective_env){
        .method = *method,
        .coder = config->coder,
        .workers = config->workers,
        .worker = config->worker,
        .no_update = config->no_update,
    };
    err = gcb_codec_env_keep(&e->env.coder.env, &e->kept, diag);
    if (!err)
        err = copy_weights(e, config->weights, diag);
    if (!err)
        err = make_memory(e, diag);
    return err ? err : create_state(&e->state, e->ops, &e->env, diag);
}

int gcb_exchange_create(struct gcb_exchange **out, const struct gcb_method *method,
                        const struct gcb_exchange_config *config, struct gcb_diag *diag)
{
    struct gcb_exchange *e = gcb_alloc_zero(1, sizeof(*e));
    const int err =
        e ? init(e, method, config, diag) : gcb_diag_nomem(diag, sizeof(*e), "an exchange");

    if (err)
        gcb_exchange_close(e);
    else
        *out = e;
    return err;
}

void gcb_exchange_close(struct gcb_exchange *e)
{
    if (!e)
        return;
    destroy_state(e->ops, e->state);
    gcb_memory_destroy(e->memory);
    gcb_free(e->weights);
    gcb_codec_env_drop(&e->kept);
    gcb_free(e->own);
    gcb_free(e);
}

/* ---- changes and checkpoints ---- */

int gcb_exchange_change(struct gcb_exchange *e, const struct gcb_method *method,
                        struct gcb_diag *diag)
{
    struct gcb_collective_env env = e->env;
    struct gcb_collective_base *state = NULL;
    struct gcb_memory_params params;
    uint64_t kept[GCB_KEPT];
    int err;

    env.method = *method;
    err = create_state(&state, e->ops, &env, diag);
    if (err)
        return err;
    if (state->encoder) { /* takes over what the old encoder keeps, if the parameters allow that */
        gcb_coder_save(e->state->encoder, kept);
        (void)gcb_coder_restore(state->encoder, kept);
    }
    destroy_state(e->ops, e->state);
    e->state = state;
    e->begun = e->unlearnt = false;
    e->env = env;
    gcb_method_memory_for(&params, method, e->env.coder.env.count);
    gcb_memory_set_params(e->memory, &params);
    return 0;
}

int gcb_exchange_set(struct gcb_exchange *e, const char *key, const char *value,
                     struct gcb_diag *diag)
{
    struct gcb_method method;
    int err = gcb_need_both(e, "the exchange", key, "the key", diag);

    if (!err)
        err = gcb_need(value, "the value", diag);
    if (err)
        return err;
    method = e->env.method;
    if (strcmp(key, "memory") == 0 || strcmp(key, "collective") == 0)
        return gcb_invalid(diag, "the %s of an open exchange cannot change; open another exchange",
                           key);
    err = gcb_method_change(&method, key, value, diag);
    return err ? err : gcb_exchange_change(e, &method, diag);
}

static struct gcb_checkpoint checkpoint_of(const struct gcb_exchange *e,
                                           struct gcb_collective_base *state)
{
    return (struct gcb_checkpoint){
        .memory = e->memory,
        .encoder = state->encoder,
        .kept_ops = e->ops->kept_ops,
        .state = state,
    };
}

size_t gcb_exchange_kept_bytes(const struct gcb_exchange *e)
{
    return e ? gcb_checkpoint_bytes(checkpoint_of(e, e->state)) : 0;
}

int gcb_exchange_save(const struct gcb_exchange *e, struct gcb_memory_state *state,
                      struct gcb_diag *diag)
{
    const int err = gcb_need(e, "the exchange", diag);

    return err ? err : gcb_checkpoint_save(checkpoint_of(e, e->state), state, diag);
}

/* Makes the collective's state anew, so that only what was saved remains of earlier steps. */
int gcb_exchange_restore(struct gcb_exchange *e, const struct gcb_memory_view *saved,
                         struct gcb_diag *diag)
{
    struct gcb_collective_base *state;
    int err = gcb_need(e, "the exchange", diag);

    if (!err)
        err = create_state(&state, e->ops, &e->env, diag);
    if (err)
        return err;
    err = gcb_checkpoint_restore(checkpoint_of(e, state), saved, diag);
    if (err) {
        destroy_state(e->ops, state);
        return err;
    }
    destroy_state(e->ops, e->state);
    e->state = state;
    e->begun = e->unlearnt = e->lacks_update = false;
    return 0;
}

/* ---- a step ---- */

static bool has_memory(const struct gcb_exchange *e)
{
    return gcb_memory_addition(e->memory).acc;
}

static int wrong_order(const char *what, struct gcb_diag *diag)
{
    return gcb_invalid(diag, "exchange: %s", what);
}

/* True if the tensor that the memory would make of x is finite. Without a memory, believes a caller
 * who has said that all tensors are finite. */
static bool is_finite(struct gcb_exchange *e, const float *x)
{
    if (has_memory(e))
        return gcb_memory_stays_finite(e->memory, x);
    return e->env.coder.nonfinite == GCB_NONFINITE_TRUSTED ||
           gcb_max_bits(x, e->env.coder.env.count, &e->kept.kernels, &e->kept.queue) < GCB_INF_BITS;
}

int gcb_exchange_begin(struct gcb_exchange *e, uint64_t step, const float *x, struct gcb_diag *diag)
{
    static const float none = 0.0f; /* stands for a NULL tensor without elements */
    int err = gcb_need(e, "the exchange", diag);

    if (!err && e->env.coder.env.count)
        err = gcb_need(x, "the tensor", diag);
    if (err)
        return err;
    x = x ? x : &none;
    e->begun = false;
    if (e->lacks_update)
        return wrong_order("the memory (gmc, ef21) needs the update of the last step", diag);
    e->in = (struct gcb_contribution){.at = {.step = step, .worker = e->env.worker}};
    e->in.unchecked = e->ops->checks && !has_memory(e);
    e->in.raw = !e->in.unchecked && !is_finite(e, x);
    if (e->in.raw && e->env.coder.nonfinite != GCB_NONFINITE_RAW)
        return gcb_diag_set(diag, GCB_E_NONFINITE,
                            "the tensor, or its sum with the memory, has an infinity or NaN");
    /* ef21 sends x minus what has arrived, and does not add x to the memory: x need not be finite */
    if (!e->in.raw || (gcb_memory_wants_update(e->memory) && !gcb_memory_residual(e->memory)))
        e->in.x = gcb_memory_compensate(e->memory, x);
    else if (gcb_memory_skip(e->memory)) /* the memory does not take infinities or NaNs */
        e->in.x = x;
    e->gradient = x;
    e->round = 0;
    e->state->spoilt = e->open = e->last = e->unlearnt = false;
    if (e->in.x)
        err = e->ops->begin(e->state, &e->in, diag);
    e->begun = !err;
    return err;
}

int gcb_exchange_sum_into(struct gcb_exchange *e, float *update, struct gcb_diag *diag)
{
    const bool empty = e && e->env.coder.env.count == 0;
    const int err =
        empty ? 0 : gcb_need_both(e, "the exchange", update, "the place for the update", diag);

    if (err)
        return err;
    if (!e->begun || e->round || (e->open && e->received))
        return wrong_order("the update's place must be named before anything is received", diag);
    if (e->ops->sum_into && e->in.x)
        e->ops->sum_into(e->state, update);
    return e->ops->sum_into != NULL;
}

const float *gcb_exchange_input(const struct gcb_exchange *e)
{
    return e->in.x;
}

int gcb_exchange_next(struct gcb_exchange *e, struct gcb_round *round, struct gcb_diag *diag)
{
    int more = gcb_need(e, "the exchange", diag);
    size_t size;

    if (!more)
        more = gcb_struct_check(round, "gcb_round", diag);
    if (more)
        return more;
    size = round->size;
    if (!e->begun)
        return wrong_order("no step was begun", diag);
    if (e->open)
        return wrong_order("the round has not received everything", diag);
    if (!e->in.x || e->last) {
        e->last = true;
        return 0;
    }
    e->now = (struct gcb_round){.size = size};
    more = e->ops->send(e->state, e->round, &e->now, diag);
    if (more > 0 && e->now.kind == GCB_ROUND_SHIFT && size < sizeof(e->now))
        more = gcb_invalid(diag,
                           "struct gcb_round of %zu bytes has no `to` and `from`, which this round "
                           "needs; build the program with this version's gcbench.h",
                           size);
    if (more < 0) {
        e->begun = false;
        return more;
    }
    e->last = !more;
    e->open = more;
    e->received = 0;
    if (more)
        gcb_struct_fill(round, size, &e->now, sizeof(e->now));
    return more;
}

/* True if `data` is what this worker sent to itself. With changed bytes, this worker's update would
 * differ from the other workers' updates, or its memory would keep a wrong rest. */
static bool is_own(const struct gcb_exchange *e, const void *data, size_t length)
{
    const uint8_t *own = e->now.data;
    size_t bytes = e->now.bytes;

    if (e->now.kind == GCB_ROUND_SCATTER) {
        for (uint32_t w = 0; w < e->env.worker; w++)
            own += e->now.parts[w];
        bytes = e->now.parts[e->env.worker];
    } else if (e->now.kind == GCB_ROUND_SHIFT) { /* a worker sends nothing to itself */
        bytes = 0;
    }
    return length == bytes && (length == 0 || data == own || memcmp(data, own, length) == 0);
}

int gcb_exchange_receive(struct gcb_exchange *e, uint32_t from, const void *data, size_t length,
                         struct gcb_diag *diag)
{
    int err = gcb_need(e, "the exchange", diag);
    uint32_t all, turn;

    if (!err && length)
        err = gcb_need(data, "what arrived", diag);
    if (err)
        return err;
    if (!e->begun || !e->open)
        return wrong_order("no round is open", diag);
    all = e->now.kind == GCB_ROUND_GATHER || e->now.kind == GCB_ROUND_SCATTER ? e->env.workers : 1;
    turn = e->now.kind == GCB_ROUND_SHIFT ? e->now.from : e->received;
    if (from != turn)
        return gcb_invalid(
            diag, "exchange: bytes of worker %u were received, but it is the turn of worker %u",
            from, turn);
    if (e->now.kind != GCB_ROUND_REDUCE && from == e->env.worker && !is_own(e, data, length))
        err = gcb_diag_set(diag, GCB_E_CORRUPT,
                           "what worker %u sent itself arrived changed: %zu bytes", from, length);
    else
        err = e->ops->receive(e->state, e->round, from, data, length, diag);
    if (err) {
        e->begun = false;
        return err;
    }
    if (++e->received == all) {
        e->open = false;
        e->round++;
    }
    return 0;
}

/* ---- the end of a step ---- */

/* The memory stays finite if elements below this magnitude are added to it or subtracted. */
#define SAFE_MAGNITUDE 0x1p100f

/* Sets to 0 each element of `own` with which the memory would not stay finite. That happens after a
 * division by a tiny weight, or with hostile bytes. */
static void keep_finite(const struct gcb_exchange *e, float *own)
{
    const uint64_t n = e->env.coder.env.count;
    const struct gcb_addition kept = gcb_memory_addition(e->memory);

    if (gcb_max_bits(own, n, &e->kept.kernels, &e->kept.queue) < gcb_bits_of(SAFE_MAGNITUDE))
        return;
    for (uint64_t i = 0; i < n; i++)
        own[i] = isfinite(kept.acc[i] + kept.weight * own[i]) ? own[i] : 0.0f;
}

static int conclude(struct gcb_exchange *e, float *update, float *own, struct gcb_diag *diag)
{
    const int err = e->ops->conclude(e->state, update, own, diag);

    if (!err && own && has_memory(e) && !e->in.raw)
        keep_finite(e, own);
    return err;
}

/* Allocates e->own, once. */
static int make_own(struct gcb_exchange *e, struct gcb_diag *diag)
{
    const uint64_t n = e->env.coder.env.count;

    if (!e->own)
        e->own = gcb_alloc_array(n, sizeof(*e->own));
    return e->own ? 0 : gcb_diag_nomem(diag, n * sizeof(*e->own), "what arrived");
}

static int learn_own(struct gcb_exchange *e, struct gcb_diag *diag)
{
    int err = make_own(e, diag);

    if (!err)
        err = conclude(e, NULL, e->own, diag);
    if (!err)
        gcb_memory_update(e->memory, e->own);
    return err;
}

int gcb_exchange_learn(struct gcb_exchange *e, const float *own, struct gcb_diag *diag)
{
    struct gcb_addition sent;
    int err = 0;

    if (!e->in.x || !has_memory(e))
        return 0;
    if (e->state->spoilt) {
        if (!e->in.raw) /* the update is not finite, so the memory drops the tensor too */
            gcb_memory_forget(e->memory, e->gradient);
        return 0;
    }
    if (e->in.raw) {
        gcb_memory_update(e->memory, NULL);
        return 0;
    }
    if (own) {
        gcb_memory_update(e->memory, own);
        return 0;
    }
    if (!e->ops->settle)
        return learn_own(e, diag);
    sent = gcb_memory_addition(e->memory);
    err = e->ops->settle(e->state, &sent, diag);
    if (!err)
        gcb_memory_update(e->memory, NULL);
    return err;
}

int gcb_exchange_conclude(struct gcb_exchange *e, float *update, float *own, struct gcb_diag *diag)
{
    int err;

    if (!e->begun || !(e->last || !e->in.x))
        return wrong_order(e->begun ? "a round is left" : "no step was begun", diag);
    e->begun = false;
    if (!e->in.x) {
        gcb_set_zero(update, update ? e->env.coder.env.count : 0);
        gcb_set_zero(own, own ? e->env.coder.env.count : 0);
        return 0;
    }
    err = conclude(e, update, own, diag);
    e->begun = err == GCB_E_NOMEM; /* the caller may try again */
    e->lacks_update = !err && gcb_memory_wants_update(e->memory);
    if (!err && update) {
        gcb_memory_complete(e->memory, update);
        gcb_exchange_learn_update(e, update);
    }
    return err;
}

void gcb_exchange_learn_update(struct gcb_exchange *e, const float *update)
{
    e->state->spoilt |= !gcb_memory_learn(e->memory, update, e->env.total);
    e->lacks_update = false;
}

/* If the memory needs `own` and the collective has no `settle`, `own` is computed together with the
 * update: some methods derive it from the update (powersgd, countsketch). */
int gcb_exchange_finish(struct gcb_exchange *e, float *update, struct gcb_diag *diag)
{
    int err = gcb_need(e, "the exchange", diag);
    bool both;

    if (!err && e->env.coder.env.count && !e->env.no_update)
        err = gcb_need(update, "the place for the update", diag);
    if (err)
        return err;
    both = e->begun && e->in.x && has_memory(e) && !e->ops->settle;
    err = both ? make_own(e, diag) : 0;
    if (!err && !e->unlearnt)
        err = gcb_exchange_conclude(e, update, both ? e->own : NULL, diag);
    if (err)
        return err;
    err = gcb_exchange_learn(e, both ? e->own : NULL, diag);
    e->unlearnt = err == GCB_E_NOMEM;
    return err;
}

/* ---- queries about a step ---- */

struct gcb_memory *gcb_exchange_memory(struct gcb_exchange *e)
{
    return e->memory;
}

int gcb_exchange_describe(struct gcb_exchange *e, struct gcb_message_parts *parts,
                          struct gcb_diag *diag)
{
    if (e->in.x)
        return e->ops->describe(e->state, parts, diag);
    memset(parts, 0, sizeof(*parts));
    return 0;
}

struct gcb_coder *gcb_exchange_encoder(struct gcb_exchange *e)
{
    return e->state->encoder;
}

bool gcb_exchange_conserves(const struct gcb_exchange *e)
{
    return e->state->conserves;
}

bool gcb_exchange_second_error(const struct gcb_exchange *e, double *lost, double *sum)
{
    if (!e->ops->second_error)
        return false;
    if (e->in.x)
        e->ops->second_error(e->state, lost, sum);
    return true;
}

bool gcb_exchange_add_selection(const struct gcb_exchange *e, float *sum)
{
    if (e->ops->add_selection && e->in.x)
        e->ops->add_selection(e->state, sum);
    return e->ops->add_selection;
}
