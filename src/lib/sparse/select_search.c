#include "kernels/select/select_elem.h"
#include "src/lib/sparse/select.h"

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
/* Once no more than this share of positions is in question, they are collected and counted apart. */
#define NARROW 16

static void select_trimmed(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                           uint64_t k)
{
    uint32_t threshold = 0;
    double mean;
    float max;

    (void)at;
    gcb_select_moments(s, order, &mean, &max);
    for (int steps = 1; steps <= 5; steps++) {
        threshold = gcb_search_threshold(mean, max, steps < 5 ? 1.0 - STEP * steps : 0.0);
        if (s->kernels->select.count(order, s->positions, threshold) >= k)
            break;
        threshold = 0;
    }
    if (threshold == 0) { /* not even the mean is passed by k */
        gcb_select_exact(s, order, k);
        return;
    }
    gcb_select_collect(s, order, threshold);
    gcb_select_exact_of_collected(s, order, k);
}

/* What a search still looks at: all positions, or the values of those collected. */
struct field {
    const float *x;
    uint64_t n;
};

static uint32_t search(struct gcb_selection *s, const float *order, uint64_t k)
{
    struct field field = {order, s->positions};
    double mean, low = 0.0, high = 1.0;
    uint32_t best = 0;
    float max;

    gcb_select_moments(s, order, &mean, &max);
    while (high - low > GCB_SEARCH_END) {
        const double ratio = (low + high) / 2.0;
        const uint32_t threshold = gcb_search_threshold(mean, max, ratio);
        const uint64_t count = s->kernels->select.count(field.x, field.n, threshold);

        if (count < k) {
            high = ratio;
            continue;
        }
        best = threshold;
        if (count <= 2 * k)
            break;
        low = ratio;
        if (count <= s->positions / NARROW &&
            field.x == order) { /* thresholds only rise from here */
            gcb_select_collect(s, order, threshold);
            field = (struct field){s->value, gcb_select_gather(s, order, gcb_side_any)};
        }
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

/* A threshold serves the steps (step, step + interval) after the one that found it, of the same worker;
 * encoding that step again searches again, so the same calls give the same bytes. */
static bool reusable(const struct gcb_selection *s, const struct gcb_step *at)
{
    return s->found && at->worker == s->found_at.worker && at->step > s->found_at.step &&
           at->step - s->found_at.step < s->p.interval;
}

static void select_redsync(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                           uint64_t k)
{
    if (s->bytes < s->p.dense_below) {
        gcb_select_exact(s, order, s->positions);
        return;
    }
    if (s->bytes < s->p.trimmed_below) {
        select_trimmed(s, at, order, k);
        return;
    }
    if (!reusable(s, at)) {
        s->found = true;
        s->found_at = *at;
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
