#include "src/lib/device/module/sparse.h"
#include "src/lib/sparse/select.h"

/* Bytes of scratch of most selectors, for the collected positions and the chosen positions. */
static uint64_t select_scratch(const struct gcb_sparse *p)
{
    return gcb_cuda_select_scratch(p->t.positions, p->max_kept);
}

static int select_topk(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                       struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call)
{
    return gcb_cuda_select_largest(call->stream, chosen, in, s->p.k, call->scratch_dev);
}

static int select_threshold(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                            struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call)
{
    const uint32_t bits = gcb_bits_of((float)s->p.selection.p.threshold);

    return gcb_cuda_select_above(call->stream, chosen, in, bits ? bits : 1, call->scratch_dev);
}

static int select_sampled(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                          struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call)
{
    const struct gcb_sample_plan plan =
        gcb_sample_plan(in->n, s->p.selection.p.sample, s->p.k, call->at.step);
    const struct gcb_cuda_sample how = {plan.m, plan.stride, plan.offset, plan.rank, s->p.k};

    return gcb_cuda_select_sampled(call->stream, chosen, in, &how, call->scratch_dev);
}

/* ---- select=chunk ---- */

struct gcb_cuda_chunks gcb_device_chunks(const struct gcb_sparse *p)
{
    const uint64_t n = p->t.positions, length = p->selection.p.chunk;
    const double density = p->selection.p.density;

    if (p->select != GCB_SELECT_CHUNK || length == 0 || length >= n)
        return (struct gcb_cuda_chunks){.length = 0};
    return (struct gcb_cuda_chunks){
        .length = length,
        .k = (uint32_t)gcb_kept_of(density, length),
        .rest_k = (uint32_t)gcb_kept_of(density, n % length),
    };
}

static uint64_t chunk_scratch(const struct gcb_sparse *p)
{
    struct gcb_cuda_chosen chosen;

    if (gcb_device_chunks(p).length == 0)
        return select_scratch(p);
    return gcb_cuda_chosen_lay_out(&chosen, p->t.positions, p->max_kept, NULL);
}

/* If the whole message is one chunk, selects as topk does. */
static int select_chunk(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                        struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call)
{
    const struct gcb_cuda_chunks cut = gcb_device_chunks(&s->p);

    if (cut.length == 0)
        return select_topk(s, in, chosen, call);
    gcb_cuda_chosen_lay_out(chosen, in->n, s->p.max_kept, call->scratch_dev);
    chosen->residual = in->residual;
    return gcb_cuda_select_chunks(call->stream, chosen, in, &cut);
}

/* ---- select=one-sided and alternate ---- */

static uint64_t one_sided_scratch(const struct gcb_sparse *p)
{
    return gcb_cuda_select_one_sided_scratch(p->t.positions, p->max_kept);
}

static int select_one_sided(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                            struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call)
{
    return gcb_cuda_select_one_sided(call->stream, chosen, in, s->p.k, call->scratch_dev);
}

static int select_alternate(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                            struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call)
{
    return gcb_cuda_select_side(call->stream, chosen, in, s->p.k, call->at.step % 2,
                                call->scratch_dev);
}

/* ---- select=search and redsync ---- */

/* `found` is device memory for a threshold that later steps use again. NULL: each step searches. */
static int search(const struct gcb_device_sparse *s, void *found, const struct gcb_device_input *in,
                  struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call)
{
    const struct gcb_cuda_search how = {
        .k = s->p.k,
        .state_dev = found,
        .step = call->at.step,
        .interval = s->p.selection.p.interval,
        .worker = call->at.worker,
    };

    return gcb_cuda_select_search(call->stream, chosen, in, &how, call->scratch_dev);
}

static int select_search(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                         struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call)
{
    return search(s, NULL, in, chosen, call);
}

static int select_redsync(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                          struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call)
{
    const enum gcb_redsync_path path = gcb_redsync_path(&s->p.selection.p, s->p.t.env.count);

    if (path == GCB_REDSYNC_SEARCH)
        return search(s, s->found, in, chosen, call);
    return gcb_cuda_select_largest(call->stream, chosen, in,
                                   path == GCB_REDSYNC_ALL ? in->n : s->p.k, call->scratch_dev);
}

const struct gcb_device_selector gcb_device_selectors[GCB_SELECTORS] = {
    [GCB_SELECT_TOPK] = {.scratch = select_scratch, .select = select_topk},
    [GCB_SELECT_CHUNK] = {.scratch = chunk_scratch, .select = select_chunk},
    [GCB_SELECT_THRESHOLD] = {.scratch = select_scratch, .select = select_threshold},
    [GCB_SELECT_ONE_SIDED] = {.lists = true,
                              .scratch = one_sided_scratch,
                              .select = select_one_sided},
    [GCB_SELECT_ALTERNATE] = {.scratch = select_scratch, .select = select_alternate},
    /* `trimmed` chooses the same positions as topk, which is faster on a device */
    [GCB_SELECT_TRIMMED] = {.scratch = select_scratch, .select = select_topk},
    [GCB_SELECT_SEARCH] = {.scratch = select_scratch, .select = select_search},
    [GCB_SELECT_REDSYNC] = {.reuses = true, .scratch = select_scratch, .select = select_redsync},
    [GCB_SELECT_SAMPLED] = {.scratch = select_scratch, .select = select_sampled},
};
