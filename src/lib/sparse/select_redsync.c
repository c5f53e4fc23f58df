#include "kernels/select/select_elem.h"
#include "src/lib/sparse/chunks.h"
#include "src/lib/sparse/select.h"

/*
 * RedSync's selections (Fang et al. 2019, section 4). Thresholds are mean + ratio (max - mean) of
 * |x|. An element passes a threshold if its magnitude is at least the threshold.
 *
 * trimmed: lowers the ratio from 0.8 in steps of 0.2 until at least k elements pass. Then it keeps
 * exactly the k largest, which every ratio has let pass. So here it is exact top-k.
 *
 * search: bisects the interval of ratios until between k and 2k elements pass. If no ratio does
 * that, it takes the highest tried ratio that lets at least k elements pass. It differs from the
 * paper in two points. It lowers the upper end if fewer than k elements pass (the paper: fewer than
 * k/2). And it shrinks the interval to 1e-3: the paper's 0.2 allows three halvings, too few for
 * heavy tails.
 *
 * redsync: chooses by the tensor's size (gcb_redsync_path). A tensor below `dense_below` bytes is
 * kept whole, so its message is sent raw. A tensor below `trimmed_below` bytes is trimmed. All
 * others are searched, and the threshold is used for `interval` steps.
 */

/* As soon as at most 1/NARROW of the positions pass, they are collected, and only they are
 * counted. */
#define NARROW 16

/* Returns the threshold, or 0 if no tried ratio lets k elements pass. */
static uint32_t search_threshold(struct gcb_selection *s, const float *order, uint64_t k)
{
    const float *x = order; /* the values that are still counted */
    uint64_t n = s->positions;
    double mean, low = 0.0, high = 1.0;
    uint32_t best = 0;
    float max;

    gcb_select_moments(s, order, &mean, &max);
    while (high - low > GCB_SEARCH_END) {
        const double ratio = (low + high) / 2.0;
        const uint32_t threshold = gcb_search_threshold(mean, max, ratio);
        const uint64_t count = s->kernels->select.count(x, n, threshold);

        if (count < k) {
            high = ratio;
            continue;
        }
        best = threshold;
        if (count <= 2 * k)
            break;
        low = ratio;
        if (count <= s->positions / NARROW && x == order) { /* later thresholds are higher */
            gcb_select_collect(s, order, threshold);
            x = s->value;
            n = s->kept;
        }
    }
    return best;
}

/* Collects the positions that pass the threshold, a result of search_threshold. Threshold 0: the k
 * largest. */
static void collect_found(struct gcb_selection *s, const float *order, uint32_t threshold,
                          uint64_t k)
{
    if (threshold)
        gcb_select_collect(s, order, threshold);
    else
        gcb_select_exact(s, order, k);
}

static void select_search(struct gcb_selection *s, const float *order, uint64_t k)
{
    collect_found(s, order, search_threshold(s, order, k), k);
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

static void select_redsync(struct gcb_selection *s, const float *order, uint64_t k)
{
    switch (gcb_redsync_path(&s->p, s->count)) {
    case GCB_REDSYNC_ALL:
        gcb_select_exact(s, order, s->positions);
        break;
    case GCB_REDSYNC_TRIMMED:
        gcb_select_exact(s, order, k);
        break;
    case GCB_REDSYNC_SEARCH:
        if (!is_reusable(s)) {
            s->found = true;
            s->found_at = s->at;
            s->found_threshold = search_threshold(s, order, k);
        }
        collect_found(s, order, s->found_threshold, k);
    }
}

bool gcb_redsync_quantises(const struct gcb_selection_params *p, const struct gcb_codec_env *env)
{
    return p->quant == GCB_QUANT_ASQ && env->role != GCB_ROLE_OUTPUT &&
           gcb_redsync_path(p, env->count) != GCB_REDSYNC_ALL;
}

const struct gcb_selector gcb_selector_trimmed = {
    .exact = true,
    .keeps_largest = true,
    .by_chunks = gcb_chunks_select_largest,
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
