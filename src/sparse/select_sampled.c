#include <math.h>

#include "src/sparse/select.h"

/*
 * DGC's selection (Lin et al. 2018): a threshold from a sample, adapted until between 0.8 k and 1.3 k
 * pass, at most ten times; if still more pass, the k largest of those that do (hierarchical
 * selection); if still fewer, the exact choice. A threshold is never zero: a sample of a tensor that is
 * mostly zeros must not send everything.
 */

#define LOWEST 0.8
#define HIGHEST 1.3
#define ADAPTATIONS 10

static uint64_t sampled_most(const struct gcb_selection_params *p, uint64_t positions, uint64_t k)
{
    const uint64_t most = (uint64_t)ceil(HIGHEST * (double)k);

    (void)p;
    return most < positions ? most : positions;
}

/* The k-th largest, scaled to a sample of a share of the positions; the start varies with the step. */
static uint32_t sampled_threshold(struct gcb_selection *s, const float *x, uint64_t k,
                                  uint64_t step)
{
    const double share = s->p.sample * (double)s->positions;
    const uint64_t least = s->positions < 1024 ? s->positions : 1024;
    uint64_t m = share > (double)GCB_SAMPLE_MAX ? GCB_SAMPLE_MAX : (uint64_t)share, stride, rank;
    uint64_t above;

    m = m < least ? least : m;
    stride = s->positions / m;
    for (uint64_t i = 0; i < m; i++)
        s->sample[i] = x[i * stride + step % stride];
    rank = (uint64_t)rint((double)k / (double)s->positions * (double)m);
    return gcb_select_kth(s->kernels, s->sample, m, rank < 1 ? 1 : rank, &above);
}

static void select_sampled(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                           uint64_t k)
{
    uint32_t threshold;

    s->kept = 0;
    threshold = s->positions ? sampled_threshold(s, order, k, at->step) : 0;
    for (int i = 0; i <= ADAPTATIONS && s->positions; i++) {
        threshold = threshold ? threshold : 1;
        gcb_select_collect(s, order, threshold);
        if ((double)s->kept >= LOWEST * (double)k || threshold == 1)
            break;
        threshold = gcb_bits_of(gcb_float_of(threshold) * (float)LOWEST);
    }
    if ((double)s->kept < LOWEST * (double)k || s->positions == 0)
        gcb_select_exact(s, order, k);
    else if ((double)s->kept > HIGHEST * (double)k)
        gcb_select_exact_of_collected(s, order, k);
}

const struct gcb_selector gcb_selector_sampled = {
    .name = "sampled",
    .most = sampled_most,
    .select = select_sampled,
};
