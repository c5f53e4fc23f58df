#include <string.h>

#include "src/cuda/module/sparse.h"

/* What most selectors need: room for what is collected and for what is chosen. */
static uint64_t select_scratch(const struct gcb_sparse *p)
{
    return gcb_cuda_select_scratch(p->t.positions, p->most);
}

/* ---- topk ---- */

static int select_topk(const struct gcb_device_sparse *s, const struct gcb_step *at,
                       const struct gcb_device_input *in, struct gcb_cuda_chosen *chosen,
                       const struct gcb_device_call *call)
{
    const struct gcb_cuda_select how = {.exact = 1, .k = s->p.k};

    (void)at;
    chosen->n = in->n;
    chosen->most = s->p.most;
    return gcb_cuda_select(call->stream, chosen, in, &how, call->scratch_dev);
}

/* ---- threshold ---- */

static int select_threshold(const struct gcb_device_sparse *s, const struct gcb_step *at,
                            const struct gcb_device_input *in, struct gcb_cuda_chosen *chosen,
                            const struct gcb_device_call *call)
{
    const uint32_t bits = gcb_bits_of((float)s->p.selection.p.threshold);
    const struct gcb_cuda_select how = {.threshold = bits ? bits : 1};

    (void)at;
    chosen->n = in->n;
    chosen->most = s->p.most;
    return gcb_cuda_select(call->stream, chosen, in, &how, call->scratch_dev);
}

/* ---- the table ---- */

static const struct gcb_device_selector selectors[] = {
    {.name = "topk", .scratch = select_scratch, .select = select_topk},
    {.name = "threshold", .scratch = select_scratch, .select = select_threshold},
    {.name = NULL},
};

const struct gcb_device_selector *gcb_device_selector_find(const char *name)
{
    for (const struct gcb_device_selector *row = selectors; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}
