#include <math.h>
#include <string.h>

#include "src/lib/sparse/chunks.h"
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

/* Counts the 11 bits from bit `shift` on, of the magnitudes whose bits under `mask` equal
 * `prefix`. */
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

/* ---- collecting ---- */

#define MAX_TASKS 64

/* Collecting the positions of one segment. */
struct collect_job {
    struct gcb_selection *s;
    const float *x;
    uint32_t threshold;
    uint64_t base, length;     /* first position and length of the segment */
    uint64_t part;             /* positions that a task reads */
    uint64_t found[MAX_TASKS]; /* positions that each task has collected */
};

/* Collects the positions and values of task i. */
static void collect_part(void *ctx, uint64_t i)
{
    struct collect_job *job = ctx;
    const struct gcb_selection *s = job->s;
    const uint64_t first = i * job->part, at = job->base + first, left = job->length - first;

    job->found[i] = s->kernels->select.collect(s->pos + at, s->value + at, NULL, job->x + at,
                                               left < job->part ? left : job->part, (uint32_t)first,
                                               job->threshold);
}

/*
 * Appends the positions of segment g that reach the threshold to the first `used` entries of
 * s->pos. Each task writes to the part of s->pos that belongs to the positions it reads. Then the
 * results are moved together. Returns the number of appended positions.
 */
static uint64_t collect_segment(struct gcb_selection *s, const float *x, uint32_t threshold,
                                uint64_t g, uint64_t used)
{
    const uint64_t left = s->positions - g * s->segment;
    const uint64_t tasks = s->queue->threads < MAX_TASKS ? (uint64_t)s->queue->threads : MAX_TASKS;
    struct collect_job job = {
        .s = s,
        .x = x,
        .threshold = threshold,
        .base = g * s->segment,
        .length = left < s->segment ? left : s->segment,
    };
    uint64_t total = 0;

    job.part = (job.length + tasks - 1) / tasks;
    job.part = (job.part + GCB_TILE - 1) / GCB_TILE * GCB_TILE;
    gcb_parallel(s->queue, (job.length + job.part - 1) / job.part, collect_part, &job);
    for (uint64_t i = 0; i * job.part < job.length; i++) {
        const uint64_t from = job.base + i * job.part, to = used + total;

        if (from != to) {
            memmove(s->pos + to, s->pos + from, job.found[i] * sizeof(*s->pos));
            memmove(s->value + to, s->value + from, job.found[i] * sizeof(*s->value));
        }
        total += job.found[i];
    }
    return total;
}

void gcb_select_collect(struct gcb_selection *s, const float *x, uint32_t threshold)
{
    s->kept = 0;
    for (uint64_t g = 0; g < s->segments; g++) {
        s->segment_kept[g] = collect_segment(s, x, threshold, g, s->kept);
        s->kept += s->segment_kept[g];
    }
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

/* Drops entries below the threshold by a kernel, which does not know sides, surplus ties and
 * pairs. */
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

/* ---- exact top-k ---- */

/* With fewer positions, taking a sample costs more than it saves. */
#define SAMPLE_FROM ((uint64_t)1 << 16)
#define SAMPLE_STRIDE 16 /* least distance of two sampled positions */

/* The size of a sample, and how many of the k largest elements it is expected to have. */
struct plan {
    size_t m;
    double expected;
    double slack; /* four standard deviations of that number, and a little more */
};

static struct plan sample_plan(const struct gcb_selection *s, uint64_t k)
{
    const uint64_t n = s->positions, spread = n / SAMPLE_STRIDE;
    struct plan plan = {.m = spread < GCB_SAMPLE_MAX ? (size_t)spread : GCB_SAMPLE_MAX};

    plan.expected = (double)k / (double)n * (double)plan.m;
    plan.slack = 4.0 * sqrt(plan.expected) + 8.0;
    return plan;
}

uint32_t gcb_select_guess(struct gcb_selection *s, const float *x, struct gcb_side side, uint64_t k)
{
    const uint64_t n = s->positions;
    const struct plan plan = sample_plan(s, k);
    const size_t m = plan.m;
    const double rank = plan.expected + plan.slack;
    uint64_t above;

    if (n < SAMPLE_FROM || rank >= (double)m)
        return 0;
    for (size_t i = 0; i < m; i++) {
        const float value = x[i * (n / m)];

        s->sample[i] = (gcb_bits_of(value) & side.mask) == side.sign ? value : 0.0f;
    }
    return gcb_select_kth(s->kernels, s->sample, m, (uint64_t)rank, &above);
}

uint32_t gcb_select_kth_of_collected(struct gcb_selection *s, uint32_t high, uint64_t k,
                                     uint64_t *above)
{
    const float *value = s->value;
    float *ranked = s->ranked;
    uint64_t n = 0, top;
    uint32_t kth;

    for (uint64_t i = 0; high < GCB_INF_BITS && i < s->kept; i++) {
        ranked[n] = value[i];
        n += gcb_magnitude(value[i]) < high;
    }
    top = s->kept - n;
    if (high >= GCB_INF_BITS || top >= k)
        return gcb_select_kth(s->kernels, value, s->kept, k, above);
    kth = gcb_select_kth(s->kernels, s->ranked, n, k - top, above);
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
 * Slightly more than k positions are expected to reach a threshold from a sample. One pass collects
 * them, and the k-th largest magnitude is searched only among them. If fewer than k positions reach
 * the threshold, all positions are searched. So the result never depends on the sample.
 */
void gcb_select_exact(struct gcb_selection *s, const float *x, uint64_t k)
{
    uint32_t guess = k < s->positions ? s->hint : 0, threshold = 0;
    uint64_t above = 0;

    s->kept = 0;
    if (k < s->positions && !guess)
        guess = gcb_select_guess(s, x, gcb_side_any, k);
    if (guess) {
        const struct plan plan = sample_plan(s, k);
        uint32_t high = GCB_INF_BITS; /* from the sample: fewer than k should reach it */

        if (!s->hint && plan.expected > plan.slack + 1.0)
            high = gcb_select_kth(s->kernels, s->sample, plan.m,
                                  (uint64_t)(plan.expected - plan.slack), &above);
        gcb_select_collect(s, x, guess);
        if (s->kept > k) {
            threshold = gcb_select_kth_of_collected(s, high, k, &above);
            gcb_select_cut(s, gcb_side_any, threshold, k - above);
        }
    }
    if (s->kept >= k)
        return;
    if (k < s->positions)
        threshold = gcb_select_kth(s->kernels, x, s->positions, k, &above);
    gcb_select_collect(s, x, threshold);
    if (s->kept > k)
        gcb_select_cut(s, gcb_side_any, threshold, k - above);
}

void gcb_select_moments(const struct gcb_selection *s, const float *x, double *mean, float *max)
{
    const struct gcb_reduce_fns *f = &s->kernels->reduce;
    uint32_t top = 0;
    double sum = 0.0;

    for (uint64_t i = 0, n; i < s->positions; i += n) { /* both in one pass over memory */
        uint32_t block;

        n = s->positions - i < GCB_SUM_BLOCK ? s->positions - i : GCB_SUM_BLOCK;
        block = f->max_bits(x + i, n);
        top = block > top ? block : top;
        sum += f->sum_abs(x + i, n);
    }
    *mean = s->positions ? sum / (double)s->positions : 0.0;
    *max = gcb_float_of(top);
}

uint64_t gcb_select_max_kept_all(const struct gcb_selection_params *p, uint64_t positions,
                                 uint64_t k)
{
    return positions;
}

const struct gcb_selector gcb_selector_topk = {
    .exact = true,
    .keeps_largest = true,
    .by_chunks = gcb_chunks_select_largest,
    .select = gcb_select_exact,
};
