#include "src/lib/sparse/select.h"

/*
 * One sign only. SBC (Sattler et al. 2019): the k largest values and the k largest negated values; the side
 * with the larger mean is kept. RedSync's alternating sign quantisation: positive values in even
 * steps, negative ones in odd steps. A side with fewer than k values that are not zero gives what it
 * has; one without any leaves the other. In SBC's comparison the values that a side lacks count as zeros,
 * so that one value of a sign does not outweigh k somewhat smaller ones of the other.
 */

struct side {
    struct gcb_side of;
    uint64_t k; /* kept, at most what was asked for */
    uint32_t threshold;
    uint64_t ties; /* kept of those equal to the threshold */
};

/* Ranks one side of what was collected; its values stand in s->value then. k = 0 if it has nothing. */
static struct side rank(struct gcb_selection *s, const float *x, struct gcb_side of, uint64_t k)
{
    const uint64_t there = gcb_select_gather(s, x, of);
    struct side side = {.of = of, .k = there < k ? there : k};
    uint64_t above = 0;

    if (side.k)
        side.threshold = gcb_select_kth(s->kernels, s->value, there, side.k, &above);
    side.ties = side.k - above;
    return side;
}

/* Sum of what a side keeps, right after it was ranked; `there` values stand in s->value. */
static double sum_of(struct gcb_selection *s, const struct side *side)
{
    uint64_t ties = side->ties, n = 0;

    for (uint64_t i = 0; n < side->k; i++) {
        const uint32_t m = gcb_magnitude(s->value[i]);
        const bool tie = m == side->threshold && ties > 0;

        s->value[n] = s->value[i];
        n += m > side->threshold || tie;
        ties -= tie;
    }
    return gcb_reduce_blocks(s->kernels->reduce.sum_abs, s->value, n);
}

/* All zero: the first k positions stand for the tensor, as top-k would choose. */
static void keep(struct gcb_selection *s, const float *x, const struct side *side, uint64_t k)
{
    if (side->k == 0)
        gcb_select_exact(s, x, k);
    else
        gcb_select_cut(s, x, side->of, side->threshold, side->ties);
}

static void select_one_sided(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                             uint64_t k)
{
    const uint32_t for_up = gcb_select_guess(s, order, gcb_side_positive, k);
    const uint32_t for_down = gcb_select_guess(s, order, gcb_side_negative, k);
    const uint32_t guess = for_up < for_down ? for_up : for_down;
    struct side up, down;
    double more; /* of the positive side's sum than of the other's */

    (void)at;
    for (uint32_t least = guess ? guess : 1;; least = 1) { /* again if the sample misled */
        gcb_select_collect(s, order, least);
        up = rank(s, order, gcb_side_positive, k);
        more = sum_of(s, &up);
        down = rank(s, order, gcb_side_negative, k);
        more -= sum_of(s, &down);
        if (least == 1 || (up.k == k && down.k == k))
            break;
    }
    keep(s, order, up.k && more >= 0.0 ? &up : &down, k);
}

static void select_alternate(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                             uint64_t k)
{
    const struct gcb_side turn = at->step % 2 ? gcb_side_negative : gcb_side_positive;
    const struct gcb_side other = at->step % 2 ? gcb_side_positive : gcb_side_negative;
    const uint32_t guess = gcb_select_guess(s, order, turn, k);
    struct side side = {0};

    if (guess) {
        gcb_select_collect(s, order, guess);
        side = rank(s, order, turn, k);
    }
    if (side.k < k) {
        gcb_select_collect(s, order, 1);
        side = rank(s, order, turn, k);
    }
    if (side.k == 0)
        side = rank(s, order, other, k);
    keep(s, order, &side, k);
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
