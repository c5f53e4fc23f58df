#include "src/lib/memory/memory.h"

#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "kernels/memory/memory_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

struct gcb_memory {
    struct gcb_memory_params p;
    uint64_t count; /* elements */
    unsigned workers;
    struct gcb_queue queue;
    struct gcb_reduce_fns reduce;
    /* what has not been sent; in memory.h: e, v, e + a, or u (demo). ef21: what has arrived, h in
     * memory.h. NULL for the kind none. */
    float *e;
    /* momentum (dgc, delay); gmc: the last update, h in memory.h; loco: e after the last message;
     * ef21: a in memory.h; NULL for other kinds */
    float *u;
    float *difference; /* ef21: p in memory.h; else NULL */
    /* delay: steps since the last message, at most p.delay; loco: since e was cleared */
    uint64_t summed;
    bool waits;        /* loco: e has a gradient that gcb_memory_update has not seen yet */
    double norm;       /* norm of the next gradient, for clipping; NAN: not known yet */
    double clip_scale; /* what the last gradient was multiplied by */
    float total;       /* divides an update: for gmc the sum of the workers' weights; ef21: 1 */
};

/* ---- elementwise passes ---- */

/* A pass over elements `from` to `to` - 1. `in` is a gradient, an update or a decoded message; NULL
 * for average_error. */
typedef void span_fn(struct gcb_memory *m, const float *in, uint64_t from, uint64_t to);

struct pass {
    struct gcb_memory *m;
    const float *in;
    span_fn *run;
};

static void run_span(void *ctx, uint64_t i)
{
    const struct pass *pass = ctx;

    pass->run(pass->m, pass->in, i * GCB_SPAN, i * GCB_SPAN + gcb_span_length(pass->m->count, i));
}

/* Runs a pass over all elements, on the threads of the queue. */
static void run_pass(struct gcb_memory *m, const float *in, span_fn *run)
{
    struct pass pass = {.m = m, .in = in, .run = run};

    gcb_parallel(&m->queue, gcb_span_count(m->count), run_span, &pass);
}

/* Adds a gradient, for dgc and delay. Inline, so that the compiler makes a loop for each value of
 * `nesterov`, without a test. */
static inline void accumulate(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to,
                              int nesterov)
{
    const float momentum = (float)m->p.momentum, scale = (float)m->clip_scale;

    for (uint64_t i = from; i < to; i++) {
        const float x = g[i] * scale;

        m->u[i] = gcb_memory_momentum(momentum, m->u[i], x, nesterov);
        m->e[i] = gcb_memory_accumulated(m->e[i], m->u[i], x, nesterov);
    }
}

static void add_momentum(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to)
{
    if (m->p.nesterov == GCB_NESTEROV_REDSYNC)
        accumulate(m, g, from, to, GCB_NESTEROV_REDSYNC);
    else if (m->p.nesterov == GCB_NESTEROV_YES)
        accumulate(m, g, from, to, GCB_NESTEROV_YES);
    else
        accumulate(m, g, from, to, GCB_NESTEROV_NO);
}

/* Adds a gradient, for gmc. */
static void add_global(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to)
{
    const float momentum = (float)m->p.momentum;

    for (uint64_t i = from; i < to; i++)
        m->e[i] += gcb_memory_momentum(momentum, m->u[i], g[i], GCB_NESTEROV_NO);
}

/* ef21: sets `difference` to the gradient minus what has arrived of earlier gradients. */
static void subtract_arrived(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        m->difference[i] = g[i] - m->e[i];
}

static void add_arrived(struct gcb_memory *m, const float *sent, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        m->e[i] += sent[i];
}

static void take_sent(struct gcb_memory *m, const float *sent, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        m->e[i] -= sent[i];
}

static void clear_sent(struct gcb_memory *m, const float *sent, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        m->e[i] = gcb_memory_remaining(m->e[i], sent[i], 1);
}

static void take_update(struct gcb_memory *m, const float *update, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        m->u[i] = update[i] / m->total;
}

static void mask_momentum(struct gcb_memory *m, const float *sent, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        m->u[i] = gcb_memory_masked(m->u[i], sent[i]);
}

/* Returns the factor of the array e in the tensor to encode (ef, demo, loco, ef21). e is what was
 * left or, for ef21, what has arrived. */
static float carry_of(const struct gcb_memory *m)
{
    if (m->p.kind == GCB_MEMORY_LOCO)
        return 1.0f;
    if (m->p.kind == GCB_MEMORY_EF21)
        return -1.0f;
    return (float)(m->p.kind == GCB_MEMORY_EF ? m->p.decay : m->p.momentum);
}

#define BLOCK 256 /* elements that share a scale of 8-bit integers; GCB_SPAN is a multiple */

/* loco: averages this step's error, in e, with the earlier error, in u. Writes the rounded average
 * to both. */
static void average_error(struct gcb_memory *m, const float *in, uint64_t from, uint64_t to)
{
    const float old = (float)m->p.average, new = 1.0f - old;

    (void)in;
    for (uint64_t b = from; b < to; b += BLOCK) {
        const uint64_t end = to - b < BLOCK ? to : b + BLOCK;
        float largest = 0.0f, scale;

        for (uint64_t i = b; i < end; i++) {
            m->e[i] = old * m->u[i] + new * m->e[i];
            largest = fmaxf(largest, fabsf(m->e[i]));
        }
        scale = largest / 127.0f;
        for (uint64_t i = b; i < end; i++) {
            const float level = scale > 0.0f ? fminf(rintf(fabsf(m->e[i]) / scale), 127.0f) : 0.0f;

            m->e[i] = copysignf(fminf(level * scale, largest), m->e[i]);
        }
    }
    memcpy(m->u + from, m->e + from, (to - from) * sizeof(*m->u));
}

/* Adds a gradient, for ef, demo and loco. */
static void add_carried(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to)
{
    const float carry = carry_of(m);

    for (uint64_t i = from; i < to; i++)
        m->e[i] = gcb_memory_carried(carry, m->e[i], g[i]);
}

/* ---- kinds and creation ---- */

static const struct kind {
    span_fn *add;        /* takes a gradient; NULL: the kind keeps nothing */
    bool keeps_momentum; /* the array u is momentum, or h, which gmc multiplies by `momentum` */
} kinds[] = {
    [GCB_MEMORY_NONE] = {.add = NULL},
    [GCB_MEMORY_EF] = {.add = add_carried},
    [GCB_MEMORY_DGC] = {.add = add_momentum, .keeps_momentum = true},
    [GCB_MEMORY_DELAY] = {.add = add_momentum, .keeps_momentum = true},
    [GCB_MEMORY_DEMO] = {.add = add_carried},
    [GCB_MEMORY_GMC] = {.add = add_global, .keeps_momentum = true},
    [GCB_MEMORY_LOCO] = {.add = add_carried},
    [GCB_MEMORY_EF21] = {.add = subtract_arrived},
};

static bool has_momentum(const struct gcb_memory *m)
{
    return kinds[m->p.kind].keeps_momentum;
}

int gcb_memory_create(struct gcb_memory **out, const struct gcb_memory_params *params,
                      uint64_t count, unsigned workers, const struct gcb_queue *queue,
                      const struct gcb_kernels *kernels, struct gcb_diag *diag)
{
    struct gcb_memory *m = gcb_alloc_zero(1, sizeof(*m));
    const bool ef21 = params->kind == GCB_MEMORY_EF21;
    const bool two = kinds[params->kind].keeps_momentum || params->kind == GCB_MEMORY_LOCO || ef21;
    int err = GCB_E_NOMEM;

    if (!m)
        goto out;
    m->p = *params;
    m->count = count;
    m->workers = workers ? workers : 1;
    m->queue = *queue;
    m->reduce = kernels->reduce;
    m->clip_scale = 1.0;
    m->norm = NAN;
    if (params->kind != GCB_MEMORY_NONE)
        m->e = gcb_alloc_zero(count, sizeof(*m->e));
    if (two)
        m->u = gcb_alloc_zero(count, sizeof(*m->u));
    if (ef21)
        m->difference = gcb_alloc_array(count, sizeof(*m->difference));
    if ((params->kind != GCB_MEMORY_NONE && !m->e) || (two && !m->u) || (ef21 && !m->difference))
        goto out;
    err = 0;
    *out = m;
    m = NULL;
out:
    gcb_memory_destroy(m);
    return err ? gcb_diag_nomem(diag, (2 + ef21) * count * sizeof(float), "a worker's memory") : 0;
}

void gcb_memory_destroy(struct gcb_memory *m)
{
    if (!m)
        return;
    gcb_free(m->e);
    gcb_free(m->u);
    gcb_free(m->difference);
    gcb_free(m);
}

/* ---- steps ---- */

static bool clips(const struct gcb_memory *m)
{
    return m->p.clip != 0.0;
}

void gcb_memory_set_norm(struct gcb_memory *m, double norm)
{
    m->norm = norm;
}

static void measure_norm(struct gcb_memory *m, const float *g)
{
    m->norm = sqrt(gcb_reduce_blocks(m->reduce.sum_sq, g, m->count));
}

/* The factor of DGC's local clipping. Each worker clips to the norm clip / sqrt(workers), so that
 * the sum of the workers has about the norm clip. */
static double clip_scale(const struct gcb_memory *m)
{
    return gcb_memory_clip_norm(m->norm, m->p.clip / sqrt((double)m->workers));
}

struct finite_pass {
    const struct gcb_memory *m;
    const float *g;
    float scale;
    uint32_t largest; /* largest magnitude so far, as the bits of a float */
};

/* Finds the largest magnitude in the tensor that compensate would make. The arithmetic is that of
 * add_carried, accumulate, add_global and subtract_arrived. Infinite momentum makes the tensor
 * infinite, so only the tensor is looked at. */
static void find_largest(void *ctx, uint64_t span)
{
    struct finite_pass *pass = ctx;
    const struct gcb_memory *m = pass->m;
    const int nesterov = m->p.nesterov;
    const bool momentum = has_momentum(m);
    const float carry = momentum ? (float)m->p.momentum : carry_of(m);
    const uint64_t from = span * GCB_SPAN, to = from + gcb_span_length(m->count, span);
    uint32_t largest = 0;

    for (uint64_t i = from; i < to; i++) {
        const float x = pass->g[i] * pass->scale;
        const float u = momentum ? gcb_memory_momentum(carry, m->u[i], x, nesterov) : 0.0f;
        const float sum = momentum ? gcb_memory_accumulated(m->e[i], u, x, nesterov)
                                   : gcb_memory_carried(carry, m->e[i], x);

        largest = gcb_magnitude(sum) > largest ? gcb_magnitude(sum) : largest;
    }
    gcb_raise_max(&pass->largest, largest);
}

bool gcb_memory_stays_finite(struct gcb_memory *m, const float *g)
{
    struct finite_pass pass = {.m = m, .g = g, .scale = 1.0f};

    if (clips(m) && isnan(m->norm))
        measure_norm(m, g);
    if (clips(m))
        pass.scale = (float)clip_scale(m);
    if (!clips(m) || isfinite(m->norm))
        gcb_parallel(&m->queue, gcb_span_count(m->count), find_largest, &pass);
    else
        pass.largest = GCB_INF_BITS;
    if (pass.largest >= GCB_INF_BITS)
        m->norm = NAN;
    return pass.largest < GCB_INF_BITS;
}

const float *gcb_memory_compensate(struct gcb_memory *m, const float *g)
{
    if (m->p.kind == GCB_MEMORY_NONE)
        return g;
    if (clips(m) && isnan(m->norm))
        measure_norm(m, g);
    m->clip_scale = clips(m) ? clip_scale(m) : 1.0;
    m->norm = NAN;
    m->waits = true;
    run_pass(m, g, kinds[m->p.kind].add);
    if (m->difference)
        return m->difference;
    return gcb_memory_skip(m) ? m->e : NULL; /* counts the step */
}

bool gcb_memory_skip(struct gcb_memory *m)
{
    if (m->p.kind != GCB_MEMORY_DELAY)
        return true;
    m->summed += m->summed < m->p.delay;
    return m->summed == m->p.delay;
}

/* loco: ends a step. e has what the step did not send. */
static void end_loco(struct gcb_memory *m)
{
    if (m->waits)
        run_pass(m, NULL, average_error);
    m->waits = false;
    m->summed += m->p.clear_every > 0;
    if (m->summed < m->p.clear_every || m->p.clear_every == 0)
        return;
    memset(m->e, 0, m->count * sizeof(*m->e));
    memset(m->u, 0, m->count * sizeof(*m->u));
    m->summed = 0;
}

void gcb_memory_update(struct gcb_memory *m, const float *sent)
{
    if (m->p.kind == GCB_MEMORY_NONE)
        return;
    if (sent)
        run_pass(m, sent, m->difference ? add_arrived : m->p.clears ? clear_sent : take_sent);
    if (sent && m->u && m->p.masking)
        run_pass(m, sent, mask_momentum);
    if (m->p.kind == GCB_MEMORY_LOCO)
        end_loco(m);
    else
        m->summed = 0;
}

struct gcb_addition gcb_memory_addition(struct gcb_memory *m)
{
    float *cleared = m->p.clears ? m->e : NULL;

    return (struct gcb_addition){
        .acc = m->e,
        .weight = m->difference ? 1.0f : -1.0f,
        .mask = m->p.masking ? m->u : cleared, /* the caller needs a mask for `clears` */
        .clears = m->p.clears,
    };
}

bool gcb_memory_wants_update(const struct gcb_memory *m)
{
    return m->p.kind == GCB_MEMORY_GMC || m->p.kind == GCB_MEMORY_EF21;
}

void gcb_memory_complete(const struct gcb_memory *m, float *update)
{
    for (uint64_t i = 0; m->p.kind == GCB_MEMORY_EF21 && i < m->count; i++)
        update[i] += m->u[i];
}

bool gcb_memory_learn(struct gcb_memory *m, const float *update, float total)
{
    float largest;

    if (!gcb_memory_wants_update(m))
        return true;
    largest = gcb_float_of(m->reduce.max_bits(update, m->count));
    m->total = m->p.kind == GCB_MEMORY_EF21 ? 1.0f : total;
    if (!isfinite(largest / m->total))
        return m->p.kind != GCB_MEMORY_EF21;
    run_pass(m, update, take_update);
    return true;
}

struct input_pass {
    const struct gcb_memory *m;
    const float *g;
    float *sum;
};

/* Returns what gcb_memory_add_input adds for element k: the gradient `in` for none and ef21; for
 * other kinds what this step has added to the array e. */
static float added(const struct gcb_memory *m, const float *in, uint64_t k)
{
    const float momentum = (float)m->p.momentum, g = in[k];

    if (!has_momentum(m))
        return g;
    if (m->p.kind == GCB_MEMORY_GMC)
        return gcb_memory_momentum(momentum, m->u[k], g, GCB_NESTEROV_NO);
    return m->p.nesterov ? m->u[k] + g * (float)m->clip_scale : m->u[k];
}

static void add_input_span(void *ctx, uint64_t i)
{
    const struct input_pass *pass = ctx;
    const uint64_t from = i * GCB_SPAN, to = from + gcb_span_length(pass->m->count, i);

    for (uint64_t k = from; k < to; k++)
        pass->sum[k] += added(pass->m, pass->g, k);
}

void gcb_memory_add_input(const struct gcb_memory *m, const float *g, float *sum)
{
    struct input_pass pass = {m, g, sum};

    gcb_parallel(&m->queue, gcb_span_count(m->count), add_input_span, &pass);
}

/* Subtracts what this step added to e, and to u if that is momentum. */
static void forget(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to)
{
    const float scale =
        (float)m->clip_scale * (m->p.nesterov == GCB_NESTEROV_YES ? (float)m->p.momentum : 1.0f);

    for (uint64_t k = from; k < to; k++) {
        m->e[k] -= added(m, g, k);
        if (has_momentum(m) && m->p.kind != GCB_MEMORY_GMC)
            m->u[k] -= scale * g[k];
    }
}

void gcb_memory_forget(struct gcb_memory *m, const float *g)
{
    if (m->e && !m->difference) /* ef21: the gradient is not in the memory */
        run_pass(m, g, forget);
    m->waits = false;
}

const float *gcb_memory_residual(const struct gcb_memory *m)
{
    return m->difference ? NULL : m->e;
}

/* ---- between steps ---- */

/* The largest number of steps in m->summed. */
static uint64_t most_summed(const struct gcb_memory *m)
{
    return m->p.kind == GCB_MEMORY_LOCO ? m->p.clear_every : m->p.delay;
}

void gcb_memory_set_params(struct gcb_memory *m, const struct gcb_memory_params *params)
{
    m->p = *params;
    if (m->summed > most_summed(m))
        m->summed = most_summed(m);
}

/* Copies an array. Does nothing if `to` is NULL; writes zeros if `from` is NULL. */
static void copy_array(float *to, const float *from, uint64_t count)
{
    if (!to || count == 0)
        return;
    if (from)
        memcpy(to, from, count * sizeof(*to));
    else
        memset(to, 0, count * sizeof(*to));
}

void gcb_memory_save(const struct gcb_memory *m, float *residual, float *momentum, uint64_t *summed)
{
    copy_array(residual, m->e, m->count);
    copy_array(momentum, m->u, m->count);
    *summed = m->summed;
}

/* Checks a saved array, which may be NULL. `has` is false if the memory has no such array; then the
 * saved array must be zero. Returns 0, GCB_E_NONFINITE or GCB_E_MISMATCH. */
static int check_array(const float *array, bool has, uint64_t count, const char *what,
                       struct gcb_diag *diag)
{
    uint32_t largest = 0;

    for (uint64_t i = 0; array && i < count; i++)
        largest = gcb_magnitude(array[i]) > largest ? gcb_magnitude(array[i]) : largest;
    if (largest >= GCB_INF_BITS)
        return gcb_diag_set(diag, GCB_E_NONFINITE, "the saved %s has an infinity or NaN", what);
    if (largest && !has)
        return gcb_diag_set(diag, GCB_E_MISMATCH, "the method keeps no %s, but one was saved",
                            what);
    return 0;
}

int gcb_memory_check(const struct gcb_memory *m, const float *residual, const float *momentum,
                     uint64_t summed, struct gcb_diag *diag)
{
    int err = check_array(residual, m->e, m->count, "residual", diag);

    if (!err)
        err = check_array(momentum, m->u, m->count, "momentum", diag);
    if (!err && summed > most_summed(m))
        err = gcb_diag_set(diag, GCB_E_MISMATCH,
                           "the saved state is of a method with a longer delay or clear-every");
    return err;
}

void gcb_memory_restore(struct gcb_memory *m, const float *residual, const float *momentum,
                        uint64_t summed)
{
    copy_array(m->e, residual, m->count);
    copy_array(m->u, momentum, m->count);
    m->summed = summed;
    m->waits = false;
}
