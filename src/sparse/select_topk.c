#include <math.h>
#include <string.h>

#include "src/sparse/select.h"

/*
 * Exact top-k in one read and a little: a sample of the tensor gives a threshold that a few more than k
 * positions are expected to pass; they are collected in one pass, and the exact k-th largest magnitude
 * is found among them by radix selection. If the sample misled (too few passed), radix selection runs
 * over the whole tensor instead. The result never depends on the sample. Ties go to the lower index.
 */

/* Below this many positions the whole tensor is its own sample. */
#define SAMPLE_FROM ((uint64_t)1 << 16)

/* Magnitudes to select from: an array, or those of a tensor at the positions collected so far. */
struct pool {
    const struct gcb_selection *s;
    const float *x;
    bool collected;
};

#define DIGITS 2048

/* Counts, by `digit` bits at `shift`, the magnitudes whose higher bits equal prefix's. */
static void count_run(uint64_t *histogram, const float *x, const uint32_t *pos, uint64_t n,
                      unsigned shift, uint32_t mask, uint32_t prefix)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t m = gcb_magnitude(x[pos ? pos[i] : i]);

        if (((m ^ prefix) & mask) == 0)
            histogram[m >> shift & (DIGITS - 1)]++;
    }
}

static void count_digits(const struct pool *p, uint64_t *histogram, unsigned shift, uint32_t mask,
                         uint32_t prefix)
{
    const uint32_t *pos = p->s->pos;

    memset(histogram, 0, DIGITS * sizeof(*histogram));
    if (!p->collected) {
        count_run(histogram, p->x, NULL, p->s->positions, shift, mask, prefix);
        return;
    }
    for (uint64_t g = 0; g < p->s->segments; g++) {
        count_run(histogram, p->x + g * p->s->segment, pos, p->s->segment_kept[g], shift, mask,
                  prefix);
        pos += p->s->segment_kept[g];
    }
}

/* The k-th largest magnitude of the pool (k from 1 to its size), 11, 10 and 10 bits at a time; *above is
 * set to the number of larger ones. */
static uint32_t kth_largest(const struct pool *p, uint64_t k, uint64_t *above)
{
    static const unsigned shifts[] = {20, 10, 0};
    uint64_t histogram[DIGITS];
    uint32_t prefix = 0, mask = 0;

    *above = 0;
    for (size_t d = 0; d < 3; d++) {
        const uint32_t digits = d == 0 ? DIGITS : DIGITS / 2;
        uint32_t digit = digits - 1;

        count_digits(p, histogram, shifts[d], mask, prefix);
        if (d > 0)
            for (uint32_t i = 0; i < DIGITS / 2; i++) /* bit 10 is of the digit before */
                histogram[i] += histogram[i + DIGITS / 2];
        while (*above + histogram[digit] < k)
            *above += histogram[digit--];
        prefix |= digit << shifts[d];
        mask |= (digits - 1) << shifts[d];
    }
    return prefix;
}

/* A magnitude that somewhat more than k positions are expected to reach, from an evenly spaced sample. */
static uint32_t expected_threshold(struct gcb_selection *s, const float *x, uint64_t k)
{
    const uint64_t n = s->positions;
    const size_t m = n / 16 < GCB_SAMPLE_MAX ? (size_t)(n / 16) : GCB_SAMPLE_MAX;
    const double share = (double)k / (double)n * (double)m;
    const double rank = share + 4.0 * sqrt(share) + 8.0;
    const uint64_t stride = n / m;
    struct gcb_selection sample = {.positions = m};
    uint64_t above;

    if (rank >= (double)m)
        return 0;
    for (size_t i = 0; i < m; i++)
        s->sample[i] = gcb_bits_of(x[i * stride]);
    return kth_largest(&(struct pool){.s = &sample, .x = (const float *)(const void *)s->sample},
                       (uint64_t)rank, &above);
}

struct collect_job {
    struct gcb_selection *s;
    const float *x;
    uint32_t threshold;
    uint64_t base, length, part; /* of the segment; elements per task */
    uint64_t found[64];
};

static void collect_part(void *ctx, uint64_t i)
{
    struct collect_job *job = ctx;
    const uint64_t first = i * job->part;
    const uint64_t n = job->length - first < job->part ? job->length - first : job->part;

    job->found[i] =
        job->s->kernels->select.collect(job->s->pos + job->base + first, job->x + job->base + first,
                                        n, (uint32_t)first, job->threshold);
}

/* Positions of segment g that reach the threshold, behind the `used` there are; each task has room for all
 * of its own elements, then the parts are moved together. */
static uint64_t collect_segment(struct gcb_selection *s, const float *x, uint32_t threshold,
                                uint64_t g, uint64_t used)
{
    const uint64_t left = s->positions - g * s->segment;
    struct collect_job job = {
        .s = s,
        .x = x,
        .threshold = threshold,
        .base = g * s->segment,
        .length = left < s->segment ? left : s->segment,
    };
    const uint64_t tasks = s->queue->threads < 64 ? (uint64_t)s->queue->threads : 64;
    uint64_t total = 0;

    job.part = (job.length + tasks - 1) / tasks;
    job.part = (job.part + GCB_TILE - 1) / GCB_TILE * GCB_TILE;
    gcb_parallel(s->queue, (job.length + job.part - 1) / job.part, collect_part, &job);
    for (uint64_t i = 0; i * job.part < job.length; i++) {
        memmove(s->pos + used + total, s->pos + job.base + i * job.part,
                job.found[i] * sizeof(*s->pos));
        total += job.found[i];
    }
    return total;
}

static void collect(struct gcb_selection *s, const float *x, uint32_t threshold)
{
    s->kept = 0;
    for (uint64_t g = 0; g < s->segments; g++) {
        s->segment_kept[g] = collect_segment(s, x, threshold, g, s->kept);
        s->kept += s->segment_kept[g];
    }
}

/* Keeps what is above the threshold, and the first `ties` equal to it. */
static void cut(struct gcb_selection *s, const float *x, uint32_t threshold, uint64_t ties)
{
    const uint32_t *from = s->pos;
    uint32_t *to = s->pos;

    s->kept = 0;
    for (uint64_t g = 0; g < s->segments; g++) {
        const float *base = x + g * s->segment;
        const uint32_t *start = to;

        for (uint64_t i = 0; i < s->segment_kept[g]; i++, from++) {
            const uint32_t m = gcb_magnitude(base[*from]);
            const bool tie = m == threshold && ties > 0;

            *to = *from;
            to += m > threshold || tie;
            ties -= tie;
        }
        s->segment_kept[g] = (uint64_t)(to - start);
        s->kept += s->segment_kept[g];
    }
}

static void select_topk(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                        uint64_t k)
{
    uint32_t threshold = 0;
    uint64_t above = 0;

    (void)at;
    s->kept = 0;
    if (s->positions >= SAMPLE_FROM && k < s->positions)
        collect(s, order, expected_threshold(s, order, k));
    if (s->kept < k) {
        if (k < s->positions)
            threshold = kth_largest(&(struct pool){.s = s, .x = order}, k, &above);
        collect(s, order, threshold);
    } else if (s->kept > k) {
        threshold = kth_largest(&(struct pool){.s = s, .x = order, .collected = true}, k, &above);
    }
    if (s->kept > k)
        cut(s, order, threshold, k - above);
}

const struct gcb_selector gcb_selector_topk = {
    .name = "topk",
    .select = select_topk,
};
