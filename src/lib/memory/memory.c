#include "src/lib/memory/memory.h"

#include <math.h>
#include <string.h>

#include "kernels/memory/memory_elem.h"
#include "kernels/reduce/reduce.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

/* Every kind keeps at most two arrays: `e`, what has not been sent, and `u`, momentum. */
struct gcb_memory {
    struct gcb_memory_params p;
    uint64_t count;
    unsigned workers;
    struct gcb_queue queue;
    float *e, *u;
    uint64_t summed; /* delay: steps since the last message */
    double clip_scale;
};

/* ---- elementwise passes, by spans so that threads change nothing ---- */

struct pass {
    struct gcb_memory *m;
    const float *in;
    void (*run)(struct gcb_memory *m, const float *in, uint64_t from, uint64_t to);
};

static void run_span(void *ctx, uint64_t i)
{
    const struct pass *pass = ctx;

    pass->run(pass->m, pass->in, i * GCB_SPAN, i * GCB_SPAN + gcb_span_length(pass->m->count, i));
}

static void each(struct gcb_memory *m, const float *in,
                 void (*run)(struct gcb_memory *m, const float *in, uint64_t from, uint64_t to))
{
    struct pass pass = {.m = m, .in = in, .run = run};

    gcb_parallel(&m->queue, gcb_span_count(m->count), run_span, &pass);
}

/* dgc and delay: momentum, then what it adds up to. */
static void add_momentum(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to)
{
    const float momentum = (float)m->p.momentum, scale = (float)m->clip_scale;

    for (uint64_t i = from; i < to; i++) {
        const float x = g[i] * scale;

        m->u[i] = gcb_memory_momentum(momentum, m->u[i], x, 0);
        m->e[i] = gcb_memory_accumulated(m->e[i], m->u[i], x, 0);
    }
}

static void add_nesterov(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to)
{
    const float momentum = (float)m->p.momentum, scale = (float)m->clip_scale;

    for (uint64_t i = from; i < to; i++) {
        const float x = g[i] * scale;

        m->u[i] = gcb_memory_momentum(momentum, m->u[i], x, 1);
        m->e[i] = gcb_memory_accumulated(m->e[i], m->u[i], x, 1);
    }
}

static void take_sent(struct gcb_memory *m, const float *sent, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        m->e[i] -= sent[i];
}

static void mask_momentum(struct gcb_memory *m, const float *sent, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        m->u[i] = gcb_memory_masked(m->u[i], sent[i]);
}

/* ef and demo: what is left of the last step, shrunk, under the new gradient. */
static void add_carried(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to)
{
    const float carry = (float)(m->p.kind == GCB_MEMORY_EF ? m->p.decay : m->p.momentum);

    for (uint64_t i = from; i < to; i++)
        m->e[i] = gcb_memory_carried(carry, m->e[i], g[i]);
}

/* ---- the kinds ---- */

static const float *none_compensate(struct gcb_memory *m, const float *g)
{
    (void)m;
    return g;
}

static void none_update(struct gcb_memory *m, const float *sent)
{
    (void)m;
    (void)sent;
}

static const float *carry_compensate(struct gcb_memory *m, const float *g)
{
    each(m, g, add_carried);
    return m->e;
}

static void carry_update(struct gcb_memory *m, const float *sent)
{
    each(m, sent, take_sent);
}

/* DGC's local clipping: to clip / sqrt(workers), so that the workers' sum has norm about clip. */
static double clip_scale(const struct gcb_memory *m, const float *g)
{
    const double limit = m->p.clip / sqrt((double)m->workers);
    struct gcb_reduce_fns reduce;

    if (m->p.clip == 0.0)
        return 1.0;
    gcb_reduce_init(&reduce, 0);
    return gcb_memory_clip(gcb_reduce_blocks(reduce.sum_sq, g, m->count), limit);
}

static const float *dgc_compensate(struct gcb_memory *m, const float *g)
{
    m->clip_scale = clip_scale(m, g);
    each(m, g, m->p.nesterov ? add_nesterov : add_momentum);
    return m->e;
}

static void masked_update(struct gcb_memory *m, const float *sent)
{
    each(m, sent, take_sent);
    if (m->p.masking)
        each(m, sent, mask_momentum);
}

static const float *delay_compensate(struct gcb_memory *m, const float *g)
{
    m->clip_scale = 1.0;
    each(m, g, add_momentum);
    if (++m->summed < m->p.delay)
        return NULL;
    m->summed = 0;
    return m->e;
}

static const struct kind {
    const float *(*compensate)(struct gcb_memory *m, const float *g);
    void (*update)(struct gcb_memory *m, const float *sent);
    bool has_e, has_u;
} kinds[] = {
    [GCB_MEMORY_NONE] = {none_compensate, none_update, false, false},
    [GCB_MEMORY_EF] = {carry_compensate, carry_update, true, false},
    [GCB_MEMORY_DGC] = {dgc_compensate, masked_update, true, true},
    [GCB_MEMORY_DELAY] = {delay_compensate, masked_update, true, true},
    [GCB_MEMORY_DEMO] = {carry_compensate, carry_update, true, false},
};

int gcb_memory_create(struct gcb_memory **out, const struct gcb_memory_params *params,
                      uint64_t count, unsigned workers, const struct gcb_queue *queue,
                      struct gcb_diag *diag)
{
    const struct kind *kind = &kinds[params->kind];
    struct gcb_memory *m = gcb_alloc_zero(1, sizeof(*m));
    int err = GCB_E_NOMEM;

    if (!m)
        goto out;
    m->p = *params;
    m->count = count;
    m->workers = workers ? workers : 1;
    m->queue = *queue;
    m->e = kind->has_e ? gcb_alloc_zero(count, sizeof(float)) : NULL;
    m->u = kind->has_u ? gcb_alloc_zero(count, sizeof(float)) : NULL;
    if ((kind->has_e && !m->e) || (kind->has_u && !m->u))
        goto out;
    *out = m;
    m = NULL;
    err = 0;
out:
    gcb_memory_destroy(m);
    return err ? gcb_diag_nomem(diag, 2 * count * sizeof(float), "a worker's memory") : 0;
}

void gcb_memory_destroy(struct gcb_memory *m)
{
    if (!m)
        return;
    gcb_free(m->e);
    gcb_free(m->u);
    gcb_free(m);
}

const float *gcb_memory_compensate(struct gcb_memory *m, const float *g)
{
    return kinds[m->p.kind].compensate(m, g);
}

void gcb_memory_update(struct gcb_memory *m, const float *sent)
{
    kinds[m->p.kind].update(m, sent);
}

struct input_pass {
    const struct gcb_memory *m;
    const float *g;
    float *sum;
};

static void add_input_span(void *ctx, uint64_t i)
{
    const struct input_pass *pass = ctx;
    const struct gcb_memory *m = pass->m;
    const uint64_t from = i * GCB_SPAN, to = from + gcb_span_length(m->count, i);
    const float scale = (float)m->clip_scale;

    for (uint64_t k = from; k < to; k++) {
        if (!m->u)
            pass->sum[k] += pass->g[k];
        else
            pass->sum[k] += m->p.nesterov ? m->u[k] + pass->g[k] * scale : m->u[k];
    }
}

void gcb_memory_add_input(const struct gcb_memory *m, const float *g, float *sum)
{
    struct input_pass pass = {m, g, sum};

    gcb_parallel(&m->queue, gcb_span_count(m->count), add_input_span, &pass);
}

const float *gcb_memory_residual(const struct gcb_memory *m)
{
    return m->e;
}
