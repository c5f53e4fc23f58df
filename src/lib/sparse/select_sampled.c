#include <math.h>

#include "kernels/select/select_elem.h"
#include "src/lib/sparse/select.h"

/*
 * DGC's selection (Lin et al. 2018). A sample gives a threshold. The threshold is lowered at most
 * ten times, until at least 0.8 k elements reach it. If more than 1.3 k reach it, the k largest of
 * them are kept (hierarchical selection). If still fewer than 0.8 k reach it, the k largest of all
 * are kept. The threshold is never zero: otherwise a tensor of mostly zeros, whose sample is zero,
 * would be sent whole.
 */

#define LEAST_SAMPLE 1024 /* positions, unless the tensor has fewer */

static uint64_t sampled_max_kept(const struct gcb_selection_params *p, uint64_t positions,
                                 uint64_t k)
{
    const uint64_t max_kept = (uint64_t)ceil(GCB_SAMPLED_MOST * (double)k);

    return max_kept < positions ? max_kept : positions;
}

struct gcb_sample_plan gcb_sample_plan(uint64_t positions, double share, uint64_t k, uint64_t step)
{
    const double wanted = share * (double)positions;
    const uint64_t least = positions < LEAST_SAMPLE ? positions : LEAST_SAMPLE;
    uint64_t m = wanted > (double)GCB_SAMPLE_MAX ? GCB_SAMPLE_MAX : (uint64_t)wanted;
    struct gcb_sample_plan plan = {0};

    if (positions == 0)
        return plan;
    m = m < least ? least : m;
    plan.m = m;
    plan.stride = positions / m;
    plan.offset = step % plan.stride;
    plan.rank = (uint64_t)rint((double)k / (double)positions * (double)m);
    plan.rank = plan.rank < 1 ? 1 : plan.rank;
    return plan;
}

static uint32_t sampled_threshold(struct gcb_selection *s, uint64_t k)
{
    const struct gcb_sample_plan plan = gcb_sample_plan(s->positions, s->p.sample, k, s->at.step);
    uint64_t above;

    for (uint64_t i = 0; i < plan.m; i++)
        s->sample[i] = s->from.order[i * plan.stride + plan.offset];
    return gcb_select_kth(s->kernels, s->sample, plan.m, plan.rank, &above);
}

static bool select_sampled(struct gcb_selection *s, uint64_t k)
{
    uint32_t threshold;

    s->kept = 0;
    if (!gcb_blocks_all(s))
        return false;
    threshold = s->positions ? sampled_threshold(s, k) : 0;
    threshold = threshold ? threshold : 1;
    for (int i = 0; i <= GCB_SAMPLED_ADAPTATIONS && s->positions; i++) {
        gcb_select_collect(s, threshold);
        if (gcb_sampled_enough(s->kept, k) || threshold == 1)
            break;
        threshold = gcb_sampled_lower(threshold);
    }
    if (!gcb_sampled_enough(s->kept, k) || s->positions == 0)
        return gcb_select_exact(s, k);
    if (gcb_sampled_too_many(s->kept, k))
        gcb_select_exact_of_collected(s, k);
    return true;
}

const struct gcb_selector gcb_selector_sampled = {
    .max_kept = sampled_max_kept,
    .select = select_sampled,
};
