#include "src/sparse/select.h"

/*
 * One sign only. SBC (Sattler et al. 2019): the k largest values and the k largest negated values; the side
 * with the larger mean is kept. RedSync's alternating sign quantisation: positive values in even
 * steps, negative ones in odd steps. A side with fewer than k values that are not zero gives what it
 * has; one without any leaves the other.
 */

struct side {
    struct gcb_side of;
    uint64_t k; /* kept, at most what was asked for */
    uint32_t threshold;
    uint64_t above;
    double mean;
};

/* Mean of the k largest magnitudes of the collected: those above the threshold, in index order, and ties. */
static double mean_of(const struct gcb_selection *s, const float *x, const struct side *side)
{
    const uint32_t *pos = s->pos;
    double sum = 0.0;

    for (uint64_t g = 0; g < s->segments; g++) {
        const float *base = x + g * s->segment;

        for (uint64_t i = 0; i < s->segment_kept[g]; i++, pos++) {
            const uint32_t u = gcb_bits_of(base[*pos]), m = u & GCB_MAGNITUDE_MASK;

            if ((u & side->of.mask) == side->of.sign && m > side->threshold)
                sum += (double)gcb_float_of(m);
        }
    }
    sum += (double)(side->k - side->above) * (double)gcb_float_of(side->threshold);
    return sum / (double)side->k;
}

/* Ranks one side of what was collected; k = 0 if it has nothing. */
static struct side rank(const struct gcb_selection *s, const float *x, struct gcb_side of,
                        uint64_t k)
{
    const struct gcb_pool pool = {.s = s, .x = x, .collected = true, .side = of};
    const uint64_t there = gcb_pool_count(&pool, 1);
    struct side side = {.of = of, .k = there < k ? there : k};

    if (side.k == 0)
        return side;
    side.threshold = gcb_pool_kth(&pool, side.k, &side.above);
    side.mean = mean_of(s, x, &side);
    return side;
}

/* Collects enough for both sides: one read if the sample did not mislead. */
static void collect_sides(struct gcb_selection *s, const float *x, uint64_t k)
{
    const uint32_t up = gcb_select_guess(s, x, gcb_side_positive, k);
    const uint32_t down = gcb_select_guess(s, x, gcb_side_negative, k);
    const uint32_t guess = up < down ? up : down;

    if (guess) {
        struct gcb_pool pool = {.s = s, .x = x, .collected = true, .side = gcb_side_positive};
        uint64_t positive;

        gcb_select_collect(s, x, guess);
        positive = gcb_pool_count(&pool, guess);
        if (positive >= k && s->kept - positive >= k)
            return;
    }
    gcb_select_collect(s, x, 1);
}

static void keep_side(struct gcb_selection *s, const float *x, const struct side *side)
{
    gcb_select_cut(s, x, side->of, side->threshold, side->k - side->above);
}

/* All zero: the first k positions stand for the tensor, as top-k would choose. */
static void keep_zeros(struct gcb_selection *s, const float *x, uint64_t k)
{
    gcb_select_exact(s, x, k);
}

static void select_one_sided(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                             uint64_t k)
{
    struct side up, down;

    (void)at;
    collect_sides(s, order, k);
    up = rank(s, order, gcb_side_positive, k);
    down = rank(s, order, gcb_side_negative, k);
    if (up.k == 0 && down.k == 0)
        keep_zeros(s, order, k);
    else
        keep_side(s, order, down.k == 0 || (up.k && up.mean >= down.mean) ? &up : &down);
}

static void select_alternate(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                             uint64_t k)
{
    struct side turn, other;

    collect_sides(s, order, k);
    turn = rank(s, order, at->step % 2 ? gcb_side_negative : gcb_side_positive, k);
    other = rank(s, order, at->step % 2 ? gcb_side_positive : gcb_side_negative, k);
    if (turn.k == 0 && other.k == 0)
        keep_zeros(s, order, k);
    else
        keep_side(s, order, turn.k ? &turn : &other);
}

const struct gcb_selector gcb_selector_one_sided = {
    .name = "one-sided",
    .signed_order = true,
    .select = select_one_sided,
};

const struct gcb_selector gcb_selector_alternate = {
    .name = "alternate",
    .signed_order = true,
    .select = select_alternate,
};
