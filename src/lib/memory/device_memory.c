#include "src/lib/memory/device_memory.h"

#include <math.h>

#include "kernels/memory/memory_elem.h"
#include "src/lib/base/alloc.h"

struct gcb_device_memory {
    const struct gcb_device_module *module;
    struct gcb_device_stream *stream;
    struct gcb_device_batch *batch;
    struct gcb_memory_params p;
    struct gcb_cuda_memory on; /* arrays, which this struct owns, and parameters for kernels */
    float *scale;              /* dgc with clipping: the factor of a gradient, on the device */
    void *scratch;             /* dgc with clipping: scratch to compute the factor */
    bool scaled;               /* `scale` has been set for the next gradient */
    double limit;              /* the norm to which gradients are clipped */
    uint64_t summed;           /* delay: steps since the last message */
};

/* Makes an array of floats, all zero. */
static int make_array(float **out, const struct gcb_device_memory *m, struct gcb_diag *diag)
{
    const uint64_t bytes = m->on.n * sizeof(float);
    void *p = NULL;
    const int err = m->module->memory.alloc(&p, bytes, diag);

    *out = err ? NULL : p;
    if (!err)
        m->module->stream.zero(m->stream, p, bytes);
    return err;
}

/* Makes what clipping needs. */
static int make_clip(struct gcb_device_memory *m, struct gcb_diag *diag)
{
    void *p = NULL;
    int err = m->module->memory.alloc(&p, sizeof(*m->scale), diag);

    m->scale = err ? NULL : p;
    m->on.scale = m->scale;
    if (!err)
        err = m->module->memory.alloc(&m->scratch, m->module->feedback.clip_scratch(m->on.n), diag);
    return err;
}

int gcb_device_memory_create(struct gcb_device_memory **out, struct gcb_device_batch *b,
                             const struct gcb_memory_params *params, uint64_t count,
                             unsigned workers, struct gcb_diag *diag)
{
    struct gcb_device_memory *m;
    int err = 0;

    *out = NULL;
    if (params->kind == GCB_MEMORY_GMC || params->kind == GCB_MEMORY_LOCO)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "memory=%s does not run on a device",
                            params->kind == GCB_MEMORY_GMC ? "gmc" : "loco");
    m = gcb_alloc_zero(1, sizeof(*m));
    if (!m)
        return gcb_diag_nomem(diag, sizeof(*m), "a worker's memory");
    m->module = gcb_device_batch_module(b);
    m->batch = b;
    m->stream = gcb_device_batch_stream(b);
    m->p = *params;
    m->on.n = count;
    m->on.factor = (float)(params->kind == GCB_MEMORY_EF ? params->decay : params->momentum);
    m->on.nesterov = params->nesterov;
    m->on.clears = params->clears;
    m->limit = params->clip / sqrt((double)(workers ? workers : 1));
    if (params->kind != GCB_MEMORY_NONE)
        err = make_array(&m->on.left, m, diag);
    if (!err && (params->kind == GCB_MEMORY_DGC || params->kind == GCB_MEMORY_DELAY))
        err = make_array(&m->on.momentum, m, diag);
    if (!err && params->kind == GCB_MEMORY_DGC && params->clip != 0.0)
        err = make_clip(m, diag);
    if (err)
        goto out;
    *out = m;
    m = NULL;
out:
    gcb_device_memory_destroy(m);
    return err;
}

void gcb_device_memory_destroy(struct gcb_device_memory *m)
{
    if (!m)
        return;
    m->module->stream.wait(m->stream, NULL); /* queued work may still write to the arrays */
    m->module->memory.free(m->on.left);
    m->module->memory.free(m->on.momentum);
    m->module->memory.free(m->scale);
    m->module->memory.free(m->scratch);
    gcb_free(m);
}

int gcb_device_memory_set_norm(struct gcb_device_memory *m, double norm, struct gcb_diag *diag)
{
    const float scale = (float)gcb_memory_clip_norm(norm, m->limit);

    m->scaled = m->scale;
    return m->scale ? gcb_device_batch_upload(m->batch, m->scale, &scale, sizeof(scale), diag) : 0;
}

float *gcb_device_memory_compensate(struct gcb_device_memory *m, float *g_dev)
{
    if (m->p.kind == GCB_MEMORY_NONE)
        return g_dev;
    if (m->scale && !m->scaled)
        m->module->feedback.clip(m->stream, m->scale, g_dev, m->on.n, m->limit, m->scratch);
    m->scaled = false;
    m->module->feedback.add(m->stream, &m->on, g_dev);
    if (m->p.kind == GCB_MEMORY_DELAY && ++m->summed < m->p.delay)
        return NULL;
    m->summed = 0;
    return m->on.left;
}

void gcb_device_memory_update(struct gcb_device_memory *m, const float *sent_dev)
{
    if (m->p.kind != GCB_MEMORY_NONE)
        m->module->feedback.sent(m->stream, &m->on, sent_dev, m->on.momentum && m->p.masking);
}

const float *gcb_device_memory_residual(const struct gcb_device_memory *m)
{
    return m->on.left;
}
