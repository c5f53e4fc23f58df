#include "kernels/select/select_elem.h"
#include "src/lib/sparse/select.h"

/*
 * RedSync's selections (Fang et al. 2019, section 4). Thresholds are mean + ratio (max - mean) of
 * |x|. An element passes a threshold if its magnitude is at least the threshold.
 *
 * trimmed: lowers the ratio from 0.8 in steps of 0.2 until at least k elements pass. Then it keeps
 * exactly the k largest of them, the same for every ratio that lets k pass. So here it is exact
 * top-k.
 *
 * search: bisects the interval of ratios until between k and 2k elements pass. If no ratio does
 * that, it takes the highest tried ratio that lets at least k elements pass, or without one the k
 * largest. It differs from the paper in two points. It lowers the upper end if fewer than k
 * elements pass (the paper: fewer than k/2). And it shrinks the interval to 1e-3: the paper's 0.2
 * allows three halvings, too few for heavy tails.
 *
 * redsync: chooses by the tensor's size (gcb_redsync_path). A tensor below `dense_below` bytes is
 * kept whole, so with values=fp32 its message is sent raw. A tensor below `trimmed_below` bytes is
 * trimmed. All others are searched, and the threshold is used for `interval` steps.
 */

/* State of a visit that sums the magnitudes, finds the largest, and collects the positions that
 * reach a threshold. */
struct measuring {
    struct gcb_collecting collecting;
    double *sums; /* of the magnitudes of each block */
    uint32_t top;
};

/* A gcb_block_fn. Sums follow the rule of kernels/reduce/reduce.h. */
static void measure_block(void *ctx, struct gcb_share *share, const struct gcb_block *block)
{
    struct measuring *job = ctx;
    const struct gcb_reduce_fns *f = &job->collecting.s->kernels->reduce;

    gcb_raise_max(&job->top, f->max_bits(block->order, block->n));
    job->sums[block->first / GCB_SUM_BLOCK] = f->sum_abs(block->order, block->n);
    gcb_select_collect_block(&job->collecting, share, block);
}

/*
 * Searches the threshold. Returns 0 if no tried ratio lets at least k positions pass. Before the
 * search, one pass over all positions finds the mean and the largest magnitude. It also collects
 * the positions that reach a floor: a magnitude, estimated from a sample, that slightly more than
 * 2k positions should reach. If more than 2k positions reach it, *floor becomes this magnitude, and
 * the search counts only the collected positions. Otherwise *floor becomes 0, and the search counts
 * all positions.
 */
static uint32_t search_threshold(struct gcb_selection *s, uint64_t k, uint32_t *floor)
{
    const struct gcb_bracket b =
        gcb_select_bracket(s, gcb_blocks_sample(s), gcb_side_any, 2 * k + 1);
    struct measuring job = {{s, b.low ? b.low : UINT32_MAX}, (void *)s->ranked, 0};
    const bool enough = gcb_blocks_visit(s, GCB_SUM_BLOCK, measure_block, &job) && s->kept > 2 * k;
    const float *x = enough ? s->value : s->from.order;
    const uint64_t n = enough ? s->kept : s->positions;
    double sum = 0.0, mean, low = 0.0, high = 1.0;
    uint32_t best = 0;

    /* a threshold below the floor lets more than 2k pass, however many these are */
    *floor = enough ? b.low : 0;
    for (uint64_t i = 0; i < s->positions; i += GCB_SUM_BLOCK)
        sum += job.sums[i / GCB_SUM_BLOCK];
    mean = s->positions ? sum / (double)s->positions : 0.0;
    s->nonfinite |= job.top >= GCB_INF_BITS;
    while (high - low > GCB_SEARCH_END) {
        const double ratio = (low + high) / 2.0;
        const uint32_t threshold = gcb_search_threshold(mean, gcb_float_of(job.top), ratio);
        const uint64_t count = threshold < *floor ? n : s->kernels->select.count(x, n, threshold);

        if (count < k) {
            high = ratio;
            continue;
        }
        best = threshold;
        if (count <= 2 * k)
            break;
        low = ratio;
    }
    return best;
}

/* Selects the positions that pass the threshold, or the k largest if it is 0. `floor`: as
 * search_threshold has set it; 0: no positions have been collected for this threshold. */
static bool select_found(struct gcb_selection *s, uint32_t threshold, uint32_t floor, uint64_t k)
{
    if (threshold == 0)
        return gcb_select_exact(s, k);
    if (floor == 0 || threshold < floor)
        return gcb_select_collect(s, threshold);
    gcb_select_cut(s, gcb_side_any, threshold, s->kept);
    return true;
}

static bool select_search(struct gcb_selection *s, uint64_t k)
{
    uint32_t floor, threshold;

    if (!gcb_blocks_all(s))
        return false;
    threshold = search_threshold(s, k, &floor);
    return select_found(s, threshold, floor, k);
}

/*
 * True if a threshold was found for the same worker less than `interval` steps ago. A threshold of
 * the same step is not used: encoding a step again searches again, so it gives the same bytes.
 */
static bool is_reusable(const struct gcb_selection *s)
{
    return s->found && s->at.worker == s->found_at.worker && s->at.step > s->found_at.step &&
           s->at.step - s->found_at.step < s->p.interval;
}

/* Selects by a threshold: searches it, or uses the last one again. */
static bool search_or_reuse(struct gcb_selection *s, uint64_t k)
{
    uint32_t floor = 0, threshold = s->found_threshold;

    if (!gcb_blocks_all(s))
        return false;
    if (!is_reusable(s))
        threshold = search_threshold(s, k, &floor);
    if (!is_reusable(s) && !s->nonfinite) { /* an infinity or NaN means that there is no message */
        s->found = true;
        s->found_at = s->at;
        s->found_threshold = threshold;
    }
    return select_found(s, threshold, floor, k);
}

static bool select_redsync(struct gcb_selection *s, uint64_t k)
{
    switch (gcb_redsync_path(&s->p, s->count)) {
    case GCB_REDSYNC_ALL:
        return gcb_select_exact(s, s->positions);
    case GCB_REDSYNC_TRIMMED:
        return gcb_select_exact(s, k);
    default:
        return search_or_reuse(s, k);
    }
}

bool gcb_redsync_quantises(const struct gcb_selection_params *p, const struct gcb_codec_env *env)
{
    return p->quant == GCB_QUANT_ASQ && env->role != GCB_ROLE_OUTPUT &&
           gcb_redsync_path(p, env->count) != GCB_REDSYNC_ALL;
}

const struct gcb_selector gcb_selector_trimmed = {
    .exact = true,
    .select = gcb_select_exact,
};

const struct gcb_selector gcb_selector_search = {
    .max_kept = gcb_select_max_kept_all,
    .select = select_search,
};

const struct gcb_selector gcb_selector_redsync = {
    .stateful = true,
    .max_kept = gcb_select_max_kept_all,
    .select = select_redsync,
};
