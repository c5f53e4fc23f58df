#include <math.h>
#include <string.h>

#include "src/lib/sparse/blocks.h"
#include "src/lib/sparse/select.h"

/* Exact top-k, and its parts, which the other selectors use too. */

const struct gcb_side gcb_side_any = {0, 0};
const struct gcb_side gcb_side_positive = {0x80000000u, 0};
const struct gcb_side gcb_side_negative = {0x80000000u, 0x80000000u};

/* ---- ranking ---- */

/* With fewer values, bisection is faster than a radix search, because the cache holds them. */
#define FEW ((uint64_t)1 << 16)

/* Finds the k-th largest magnitude by bisection. */
static uint32_t kth_of_few(const struct gcb_kernels *kernels, const float *x, uint64_t n,
                           uint64_t k)
{
    uint32_t low = 0, high = kernels->reduce.max_bits(x, n) + 1, kth = high - 1;
    uint64_t at_least_low = n; /* number of magnitudes >= low; it is never below k */

    while (high - low > 1 && at_least_low != k) {
        const uint32_t middle = low + (high - low) / 2;
        const uint64_t count = kernels->select.count(x, n, middle);

        if (count < k) {
            high = middle;
        } else {
            low = middle;
            at_least_low = count;
        }
    }
    if (at_least_low != k)
        return low;
    for (uint64_t i = 0; i < n; i++) { /* the smallest magnitude that is at least `low` */
        const uint32_t m = gcb_magnitude(x[i]);

        kth = m >= low && m < kth ? m : kth;
    }
    return kth;
}

#define DIGITS 2048 /* values of a digit of 11 bits */

/* Makes a histogram of the 11 bits from bit `shift` on, over the magnitudes whose bits under `mask`
 * equal `prefix`. */
static void count_digits(uint64_t *histogram, const float *x, uint64_t n, unsigned shift,
                         uint32_t mask, uint32_t prefix)
{
    memset(histogram, 0, DIGITS * sizeof(*histogram));
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t m = gcb_magnitude(x[i]);

        if (((m ^ prefix) & mask) == 0)
            histogram[m >> shift & (DIGITS - 1)]++;
    }
}

/* Finds the k-th largest magnitude by a radix search with digits of 11, 10 and 10 bits. */
static uint32_t kth_of_many(const float *x, uint64_t n, uint64_t k)
{
    static const unsigned shifts[] = {20, 10, 0};
    uint32_t mask = 0, prefix = 0;
    uint64_t histogram[DIGITS], above = 0;

    for (size_t pass = 0; pass < 3; pass++) {
        const uint32_t digits = pass == 0 ? DIGITS : DIGITS / 2;
        uint32_t digit = digits - 1;

        count_digits(histogram, x, n, shifts[pass], mask, prefix);
        /* the later digits have 10 bits; the 11th counted bit belongs to the digit before */
        for (uint32_t i = 0; pass > 0 && i < DIGITS / 2; i++)
            histogram[i] += histogram[i + DIGITS / 2];
        while (above + histogram[digit] < k)
            above += histogram[digit--];
        prefix |= digit << shifts[pass];
        mask |= (digits - 1) << shifts[pass];
    }
    return prefix;
}

uint32_t gcb_select_kth(const struct gcb_kernels *kernels, const float *x, uint64_t n, uint64_t k,
                        uint64_t *above)
{
    const uint32_t kth = n < FEW ? kth_of_few(kernels, x, n, k) : kth_of_many(x, n, k);

    *above = kernels->select.count(x, n, kth + 1);
    return kth;
}

/* ---- collecting and cutting ---- */

void gcb_select_collect_block(void *ctx, struct gcb_share *share, const struct gcb_block *block)
{
    const struct gcb_collecting *job = ctx;
    struct gcb_selection *s = job->s;
    const struct gcb_select_fns *f = &s->kernels->select;

    for (size_t done = 0, n; done < block->n; done += n) {
        const uint64_t at = block->first + done, g = s->segments > 1 ? at / s->segment : 0;
        const uint64_t left = (g + 1) * s->segment - at, to = share->first + share->found;
        const uint32_t first = s->pair ? 0 : (uint32_t)(at - g * s->segment);
        uint32_t *pos = s->pos + to;
        size_t found;

        n = block->n - done < left ? block->n - done : left;
        found = f->collect(pos, s->value + to, NULL, block->order + done, n, first, job->threshold);
        if (s->pair) { /* then there is one segment */
            f->gather2(s->pair + 2 * to, block->coef, pos, found);
            for (size_t j = 0; j < found; j++)
                pos[j] += (uint32_t)at;
        }
        share->found += found;
        gcb_blocks_count(s, g, found);
    }
}

bool gcb_select_collect(struct gcb_selection *s, uint32_t threshold)
{
    struct gcb_collecting job = {s, threshold};

    return gcb_blocks_visit(s, GCB_TILE, gcb_select_collect_block, &job);
}

/* Cuts the n entries from number `from` on, and moves those that stay to number `to`. Returns how
 * many stay. *ties: as gcb_select_cut; those that were kept are subtracted. */
static uint64_t cut_entries(struct gcb_selection *s, uint64_t to, uint64_t from, uint64_t n,
                            struct gcb_side side, uint32_t threshold, uint64_t *ties)
{
    uint32_t *pos = s->pos;
    float *value = s->value, *pair = s->pair;
    const uint64_t start = to;
    uint64_t left = *ties;

    for (const uint64_t end = from + n; from < end; from++) {
        const uint32_t u = gcb_bits_of(value[from]), m = u & GCB_MAGNITUDE_MASK;
        const bool on_side = (u & side.mask) == side.sign;
        const bool tie = on_side & (m == threshold) & (left > 0);

        pos[to] = pos[from];
        value[to] = value[from];
        if (pair) {
            pair[2 * to] = pair[2 * from];
            pair[2 * to + 1] = pair[2 * from + 1];
        }
        to += (on_side & (m > threshold)) | tie;
        left -= tie;
    }
    *ties = left;
    return to - start;
}

/* A kernel drops the entries below the threshold. It does not know sides, surplus ties or pairs:
 * for these, cut_entries finishes the work or, with pairs, does all of it. */
void gcb_select_cut(struct gcb_selection *s, struct gcb_side side, uint32_t threshold,
                    uint64_t ties)
{
    const struct gcb_select_fns *f = &s->kernels->select;
    uint64_t from = 0, to = 0;

    for (uint64_t g = 0; g < s->segments; g++) {
        const uint64_t start = to;

        for (const uint64_t end = from + s->segment_kept[g]; from < end;) {
            const size_t n = gcb_tile_length(end, from);
            const uint64_t at = s->pair ? from : to;
            const uint64_t found = s->pair ? n
                                           : f->collect(s->pos + to, s->value + to, s->pos + from,
                                                        s->value + from, n, 0, threshold);
            const uint64_t tied = found - f->count(s->value + at, found, threshold + 1);

            if (s->pair || side.mask || tied > ties) {
                to += cut_entries(s, to, at, found, side, threshold, &ties);
            } else {
                to += found;
                ties -= tied;
            }
            from += n;
        }
        s->segment_kept[g] = to - start;
    }
    s->kept = to;
}

/* ---- brackets from a sample, and exact top-k ---- */

/* Returns four standard deviations of the number of sampled values that reach the threshold. The
 * deviation is estimated from the numbers in the sample's blocks; NaN if there is one block. */
static double four_sigma(const struct gcb_selection *s, const float *x, struct gcb_sample sample,
                         uint32_t threshold)
{
    const double blocks = (double)(sample.m / sample.each);
    double sum = 0.0, squares = 0.0;

    for (size_t i = 0; i < sample.m; i += sample.each) {
        const double count = (double)s->kernels->select.count(x + i, sample.each, threshold);

        sum += count;
        squares += count * count;
    }
    return 4.0 * sqrt((squares - sum * sum / blocks) * blocks / (blocks - 1.0));
}

/* Copies the sampled values of one side to s->ranked; the others become 0. */
static const float *values_of_side(struct gcb_selection *s, size_t m, struct gcb_side side)
{
    for (size_t i = 0; i < m; i++)
        s->ranked[i] = (gcb_bits_of(s->sample[i]) & side.mask) == side.sign ? s->sample[i] : 0.0f;
    return s->ranked;
}

struct gcb_bracket gcb_select_bracket(struct gcb_selection *s, struct gcb_sample sample,
                                      struct gcb_side side, uint64_t k)
{
    const double expected = (double)k / (double)s->positions * (double)sample.m;
    struct gcb_bracket b = {0, GCB_INF_BITS};
    const float *x = s->sample;
    uint64_t above;
    double slack; /* four standard deviations, and 8: small counts deviate more than estimated */

    if (sample.m == 0 || expected >= (double)sample.m)
        return b;
    if (side.mask)
        x = values_of_side(s, sample.m, side);
    slack = 4.0 * sqrt(expected) + 8.0; /* if the sampled values are independent */
    if (sample.each > 1)
        slack = 8.0 + four_sigma(s, x, sample,
                                 gcb_select_kth(s->kernels, x, sample.m,
                                                expected < 1.0 ? 1 : (uint64_t)expected, &above));
    if (!(expected + slack < (double)sample.m)) /* also if there is one block: slack is NaN */
        return b;
    if (expected > slack + 1.0)
        b.high = gcb_select_kth(s->kernels, x, sample.m, (uint64_t)(expected - slack), &above);
    b.low = gcb_select_kth(s->kernels, x, sample.m, (uint64_t)(expected + slack), &above);
    return b;
}

/* Returns the k-th largest magnitude of the collected values; each is at least b.low, and k <=
 * s->kept. *above: number of larger magnitudes. If fewer than k values reach a finite b.high, only
 * the values below b.high are ranked, which is faster. If very many positions share the k-th
 * largest magnitude, it is probably a bound of the bracket, so with a finite b.high the bounds are
 * tried before a search. */
static uint32_t kth_of_collected(struct gcb_selection *s, struct gcb_bracket b, uint64_t k,
                                 uint64_t *above)
{
    const struct gcb_kernels *kernels = s->kernels;
    const float *value = s->value;
    float *ranked = s->ranked;
    uint64_t n = 0, top;
    uint32_t kth = b.low;

    for (uint64_t i = 0; b.high < GCB_INF_BITS && i < s->kept; i++) {
        ranked[n] = value[i];
        n += gcb_magnitude(value[i]) < b.high;
    }
    top = s->kept - n;
    if (top >= k) { /* always, if b.high is not finite */
        *above = b.high < GCB_INF_BITS ? kernels->select.count(value, s->kept, b.high + 1) : k;
        return *above < k ? b.high : gcb_select_kth(kernels, value, s->kept, k, above);
    }
    *above = kernels->select.count(ranked, n, b.low + 1);
    if (*above >= k - top)
        kth = gcb_select_kth(kernels, ranked, n, k - top, above);
    *above += top;
    return kth;
}

void gcb_select_exact_of_collected(struct gcb_selection *s, uint64_t k)
{
    uint64_t above;
    uint32_t threshold;

    if (k == s->kept)
        return;
    threshold = gcb_select_kth(s->kernels, s->value, s->kept, k, &above);
    gcb_select_cut(s, gcb_side_any, threshold, k - above);
}

/*
 * Slightly more than k positions are expected to reach a threshold from a sample (or s->hint). One
 * pass collects them, and the k-th largest magnitude is searched only among them. If fewer than k
 * positions reach the threshold, or gcb_blocks_same_scale is false, all positions are searched. So
 * the result never depends on the sample or the hint.
 */
bool gcb_select_exact(struct gcb_selection *s, uint64_t k)
{
    struct gcb_bracket b = {s->hint, GCB_INF_BITS};
    uint32_t kth = 0;
    uint64_t above = 0;

    if (k < s->positions && !b.low)
        b = gcb_select_bracket(s, gcb_blocks_sample(s), gcb_side_any, k);
    if (k < s->positions && b.low && gcb_select_collect(s, b.low) && s->kept >= k) {
        kth = kth_of_collected(s, b, k, &above);
        if (gcb_blocks_same_scale(s, kth)) {
            gcb_select_cut(s, gcb_side_any, kth, k - above);
            return true;
        }
    }
    if (!gcb_blocks_all(s))
        return false;
    if (k < s->positions)
        kth = gcb_select_kth(s->kernels, s->from.order, s->positions, k, &above);
    gcb_select_collect(s, kth);
    if (s->kept > k)
        gcb_select_cut(s, gcb_side_any, kth, k - above);
    return true;
}

uint64_t gcb_select_max_kept_all(const struct gcb_selection_params *p, uint64_t positions,
                                 uint64_t k)
{
    return positions;
}

const struct gcb_selector gcb_selector_topk = {
    .exact = true,
    .select = gcb_select_exact,
};
