#include "src/lib/memory/memory.h"

#include <math.h>
#include <string.h>

#include "kernels/memory/memory_elem.h"
#include "kernels/reduce/reduce.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

/* Each kind has at most two arrays: `e` is what has not been sent, `u` is momentum. */
struct gcb_memory {
    struct gcb_memory_params p;
    uint64_t count;
    unsigned workers;
    struct gcb_queue queue;
    float *e, *u;
    uint64_t summed;   /* delay: steps since the last message */
    double clip_scale; /* what the last gradient was multiplied by */
};

/* ---- elementwise passes ---- */

/* A pass over elements [from, to). `in` is a gradient, or the decoded message. */
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

static void each(struct gcb_memory *m, const float *in, span_fn *run)
{
    struct pass pass = {.m = m, .in = in, .run = run};

    gcb_parallel(&m->queue, gcb_span_count(m->count), run_span, &pass);
}

/* For dgc and delay. Inline, so that the compiler removes the test of `nesterov` from the loop. */
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
    accumulate(m, g, from, to, 0);
}

static void add_nesterov(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to)
{
    accumulate(m, g, from, to, 1);
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

/* For ef and demo: multiplies the residual of the last step by the factor and adds the gradient. */
static void add_carried(struct gcb_memory *m, const float *g, uint64_t from, uint64_t to)
{
    const float carry = (float)(m->p.kind == GCB_MEMORY_EF ? m->p.decay : m->p.momentum);

    for (uint64_t i = from; i < to; i++)
        m->e[i] = gcb_memory_carried(carry, m->e[i], g[i]);
}

/* ---- one memory ---- */

static int make_array(float **out, uint64_t count)
{
    *out = gcb_alloc_zero(count, sizeof(float));
    return *out ? 0 : GCB_E_NOMEM;
}

static bool has_momentum(int kind)
{
    return kind == GCB_MEMORY_DGC || kind == GCB_MEMORY_DELAY;
}

int gcb_memory_create(struct gcb_memory **out, const struct gcb_memory_params *params,
                      uint64_t count, unsigned workers, const struct gcb_queue *queue,
                      struct gcb_diag *diag)
{
    struct gcb_memory *m = gcb_alloc_zero(1, sizeof(*m));
    int err = m ? 0 : GCB_E_NOMEM;

    if (err)
        goto out;
    m->p = *params;
    m->count = count;
    m->workers = workers ? workers : 1;
    m->queue = *queue;
    m->clip_scale = 1.0;
    if (params->kind != GCB_MEMORY_NONE)
        err = make_array(&m->e, count);
    if (!err && has_momentum(params->kind))
        err = make_array(&m->u, count);
    if (err)
        goto out;
    *out = m;
    m = NULL;
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

/* The factor of DGC's local clipping: to the norm clip / sqrt(workers), so that the workers' sum has about norm clip. */
static double clip_scale(const struct gcb_memory *m, const float *g)
{
    const double limit = m->p.clip / sqrt((double)m->workers);
    struct gcb_reduce_fns reduce;

    gcb_reduce_init(&reduce, 0);
    return gcb_memory_clip(gcb_reduce_blocks(reduce.sum_sq, g, m->count), limit);
}

const float *gcb_memory_compensate(struct gcb_memory *m, const float *g)
{
    const bool dgc = m->p.kind == GCB_MEMORY_DGC;

    if (m->p.kind == GCB_MEMORY_NONE)
        return g;
    if (dgc && m->p.clip != 0.0)
        m->clip_scale = clip_scale(m, g);
    each(m, g, !m->u ? add_carried : dgc && m->p.nesterov ? add_nesterov : add_momentum);
    if (m->p.kind == GCB_MEMORY_DELAY && ++m->summed < m->p.delay)
        return NULL;
    m->summed = 0;
    return m->e;
}

void gcb_memory_update(struct gcb_memory *m, const float *sent)
{
    if (m->p.kind == GCB_MEMORY_NONE)
        return;
    each(m, sent, take_sent);
    if (m->u && m->p.masking)
        each(m, sent, mask_momentum);
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
