#include "src/sparse/select.h"

/*
 * RedSync's selections (Fang et al. 2019, section 4): thresholds mean + ratio (max - mean) of |x|.
 *
 * trimmed: lowers the ratio from 0.8 in steps of 0.2 until at least k pass, then takes exactly k of those.
 * search:  halves the interval of ratios until between k and 2k pass. Two corrections of the printed
 *          algorithm: fewer than k lower the upper end (the paper: fewer than k/2), and the interval may
 *          shrink to 1e-3 (the paper's 0.2 allows three halvings, too few for heavy tails). If none fits, the
 *          least count of at least k seen is taken.
 * redsync: the policy by size of tensor: everything below `dense_below` bytes (such a message is sent raw),
 *          trimmed below `trimmed_below`, else search, its threshold reused for `interval` steps.
 */

#define STEP 0.2
#define SEARCH_END 1e-3

static uint32_t threshold_at(double mean, float max, double ratio)
{
    const float t = (float)(mean + ratio * ((double)max - mean));

    return gcb_bits_of(t > 0.0f ? t : 0.0f);
}

static void select_trimmed(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                           uint64_t k)
{
    double mean, ratio = 1.0 - STEP;
    uint32_t threshold;
    float max;

    (void)at;
    gcb_select_moments(s, order, &mean, &max);
    for (;; ratio -= STEP) {
        threshold = ratio > 0.0 ? threshold_at(mean, max, ratio) : 0;
        if (threshold == 0 ||
            gcb_pool_count(&(struct gcb_pool){.s = s, .x = order}, threshold) >= k)
            break;
    }
    if (threshold == 0) { /* not even the mean is passed by k */
        gcb_select_exact(s, order, k);
        return;
    }
    gcb_select_collect(s, order, threshold);
    gcb_select_exact_of_collected(s, order, k);
}

static uint32_t search(const struct gcb_selection *s, const float *order, uint64_t k)
{
    double mean, low = 0.0, high = 1.0;
    uint32_t best = 0;
    float max;

    gcb_select_moments(s, order, &mean, &max);
    while (high - low > SEARCH_END) {
        const double ratio = (low + high) / 2.0;
        const uint32_t threshold = threshold_at(mean, max, ratio);
        const uint64_t count = gcb_pool_count(&(struct gcb_pool){.s = s, .x = order}, threshold);

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

/* Collects from a threshold of search; 0 (no ratio let k pass) means the exact choice. */
static void take(struct gcb_selection *s, const float *order, uint32_t threshold, uint64_t k)
{
    if (threshold)
        gcb_select_collect(s, order, threshold);
    else
        gcb_select_exact(s, order, k);
}

static uint64_t all(const struct gcb_selection_params *p, uint64_t positions, uint64_t k)
{
    (void)p;
    (void)k;
    return positions;
}

static void select_search(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                          uint64_t k)
{
    (void)at;
    take(s, order, search(s, order, k), k);
}

/* A threshold serves the steps (step, step + interval) after the one that found it; encoding that step again
 * searches again, so the same calls give the same bytes. */
static bool reusable(const struct gcb_selection *s, uint64_t step)
{
    return s->found && step > s->found_step && step - s->found_step < s->p.interval;
}

static void select_redsync(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                           uint64_t k)
{
    const uint64_t bytes = s->positions * sizeof(float);

    if (bytes < s->p.dense_below) {
        gcb_select_exact(s, order, s->positions);
        return;
    }
    if (bytes < s->p.trimmed_below) {
        select_trimmed(s, at, order, k);
        return;
    }
    if (!reusable(s, at->step)) {
        s->found = true;
        s->found_step = at->step;
        s->found_threshold = search(s, order, k);
    }
    take(s, order, s->found_threshold, k);
}

const struct gcb_selector gcb_selector_trimmed = {
    .name = "trimmed",
    .select = select_trimmed,
};

const struct gcb_selector gcb_selector_search = {
    .name = "search",
    .most = all,
    .select = select_search,
};

const struct gcb_selector gcb_selector_redsync = {
    .name = "redsync",
    .most = all,
    .select = select_redsync,
};
