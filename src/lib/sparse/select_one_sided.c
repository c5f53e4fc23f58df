#include "src/lib/sparse/select.h"

/*
 * Selections of one sign. The sides are the positive values and the negative values.
 *
 * one-sided: SBC (Sattler et al. 2019) compares the k largest magnitudes of the two sides, and
 * keeps those of the side with the larger mean. If a side has fewer than k values, zeros count as
 * the missing values. Otherwise one value would outweigh k slightly smaller values of the other
 * side.
 *
 * alternate: RedSync's quantisation keeps positive values in even steps and negative values in odd
 * steps.
 *
 * If the chosen side has fewer than k values, all of them are kept. If it has none, the other side
 * is kept.
 */

/* The largest magnitudes of one side. */
struct ranking {
    struct gcb_side side;
    uint64_t k; /* number of values: as many as requested, or all values of the side */
    uint32_t threshold;
    uint64_t ties;  /* number of the k values that equal the threshold */
    bool collected; /* only collected values were ranked */
};

/* Ranks the values of one side: those that were collected, or all values. Leaves the side's
 * values in s->ranked. A zero is on neither side. */
static struct ranking rank_side(struct gcb_selection *s, bool collected, struct gcb_side side,
                                uint64_t k)
{
    struct ranking r = {.side = side, .collected = collected};
    const float *x = collected ? s->value : s->from.order;
    const uint64_t n = collected ? s->kept : s->positions;
    float *ranked = s->ranked;
    uint64_t count = 0, above = 0;

    for (uint64_t i = 0; i < n; i++) {
        ranked[count] = x[i];
        count += (gcb_bits_of(x[i]) ^ side.sign) - 1 < GCB_MAGNITUDE_MASK;
    }
    r.k = count < k ? count : k;
    if (r.k)
        r.threshold = gcb_select_kth(s->kernels, s->ranked, count, r.k, &above);
    r.ties = r.k - above;
    return r;
}

/* Sum of the ranked magnitudes. Expects s->ranked as rank_side has left it, and overwrites it. */
static double sum_ranked(struct gcb_selection *s, const struct ranking *r)
{
    uint64_t ties = r->ties, n = 0;

    for (uint64_t i = 0; n < r->k; i++) {
        const uint32_t m = gcb_magnitude(s->ranked[i]);
        const bool tie = m == r->threshold && ties > 0;

        s->ranked[n] = s->ranked[i];
        n += m > r->threshold || tie;
        ties -= tie;
    }
    return gcb_reduce_blocks(s->kernels->reduce.sum_abs, s->ranked, n);
}

/* Keeps the ranked positions. An empty ranking means that all values are 0. Then the first k
 * positions are kept, as in top-k. */
static bool keep_ranked(struct gcb_selection *s, const struct ranking *r, uint64_t k)
{
    if (r->k == 0)
        return gcb_select_exact(s, k);
    if (!r->collected)
        gcb_select_collect(s, r->threshold);
    gcb_select_cut(s, r->side, r->threshold, r->ties);
    return true;
}

static bool select_one_sided(struct gcb_selection *s, uint64_t k)
{
    const struct gcb_sample sample = gcb_blocks_sample(s);
    const uint32_t for_up = gcb_select_bracket(s, sample, gcb_side_positive, k).low;
    const uint32_t for_down = gcb_select_bracket(s, sample, gcb_side_negative, k).low;
    const uint32_t guess = for_up < for_down ? for_up : for_down;
    struct ranking up, down;
    double difference; /* sum of the positive side minus sum of the negative side */

    /* The first round ranks the values that reach the guess. If a side has fewer than k of these,
     * a second round ranks all values. Without a guess (0), the only round ranks all values. */
    for (bool collected = guess;; collected = false) {
        if (collected ? !gcb_select_collect(s, guess) : !gcb_blocks_all(s))
            return false;
        up = rank_side(s, collected, gcb_side_positive, k);
        difference = sum_ranked(s, &up);
        down = rank_side(s, collected, gcb_side_negative, k);
        difference -= sum_ranked(s, &down);
        if (!collected || (up.k == k && down.k == k))
            break;
    }
    return keep_ranked(s, up.k && difference >= 0.0 ? &up : &down, k);
}

static bool select_alternate(struct gcb_selection *s, uint64_t k)
{
    const struct gcb_side turn = s->at.step % 2 ? gcb_side_negative : gcb_side_positive;
    const struct gcb_side other = s->at.step % 2 ? gcb_side_positive : gcb_side_negative;
    const uint32_t guess = gcb_select_bracket(s, gcb_blocks_sample(s), turn, k).low;
    struct ranking r = {0};

    if (guess) {
        if (!gcb_select_collect(s, guess))
            return false;
        r = rank_side(s, true, turn, k);
    }
    if (r.k < k) {
        if (!gcb_blocks_all(s))
            return false;
        r = rank_side(s, false, turn, k);
    }
    if (r.k == 0)
        r = rank_side(s, false, other, k);
    return keep_ranked(s, &r, k);
}

const struct gcb_selector gcb_selector_one_sided = {
    .signed_order = true,
    .select = select_one_sided,
};

const struct gcb_selector gcb_selector_alternate = {
    .signed_order = true,
    .select = select_alternate,
};
