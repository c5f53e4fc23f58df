#include "src/tool/measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/philox/philox_elem.h"
#include "src/tool/base/memory.h"

#define TAIL 0.025      /* probability on each side of a 95 % interval */
#define MOST_ALIKE 0.95 /* limit of the correlation of neighbouring samples */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts ascending, in place. `values` must not contain NaNs. */
static void sort_reals(double *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof(*values), ascending);
}

/* Sorts in place. Returns the median: for an even count, the mean of the middle two values. `count`
 * is not 0. */
static double median_of(double *values, size_t count)
{
    sort_reals(values, count);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2.0;
}

/* Returns P(Bin(n, 1/2) = k): a binomial coefficient divided by 2^n. */
static double binomial(double n, double k)
{
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * M_LN2);
}

size_t gcb_stats_rank(size_t count)
{
    const double n = (double)count, deviation = sqrt(n) / 2.0;
    /* the sum begins ten deviations below the middle, because earlier terms are negligible */
    const double first = floor(n / 2.0 - 10.0 * deviation - 1.0);
    size_t k = first > 0.0 ? (size_t)first : 0;
    double term, below = 0.0;

    if (count < GCB_STATS_LEAST)
        return 0;
    term = binomial(n, (double)k);
    for (; below + term <= TAIL; k++) {
        below += term; /* P(Bin < k + 1) <= TAIL, so rank k + 1 is possible */
        term *= (n - (double)k) / ((double)k + 1.0);
    }
    return k;
}

/* Returns -1, 0 or 1 for a value below, equal to or above the median. */
static int side(double value, double median)
{
    return (value > median) - (value < median);
}

double gcb_stats_inefficiency(const double *samples, size_t count, double median)
{
    double variance = 0.0, covariance = 0.0; /* of the sides; not divided by `count` */
    double rho, factor = 1.0;

    for (size_t i = 0; i < count; i++)
        variance += side(samples[i], median) != 0;
    for (size_t i = 1; i < count; i++)
        covariance += side(samples[i], median) * side(samples[i - 1], median);
    if (!(covariance > 0.0))
        return 1.0;
    rho = fmin(sin(M_PI_2 * covariance / variance), MOST_ALIKE);
    /* correlations below 1e-3 are neglected */
    for (double power = rho; power > 1e-3; power *= rho)
        factor += 2.0 * M_2_PI * asin(power);
    return factor;
}

/* Returns the rank of the interval's ends: gcb_stats_rank, moved outwards if the samples are
 * correlated. */
static size_t rank_of(const double *samples, size_t count, double median)
{
    const size_t rank = gcb_stats_rank(count);
    const double middle = (double)count / 2.0;
    const double wider = sqrt(gcb_stats_inefficiency(samples, count, median));
    const double reach = (middle - (double)rank) * wider;

    if (rank == 0)
        return 0;
    return reach < middle - 1.0 ? (size_t)(middle - reach) : 1;
}

void gcb_stats_of(struct gcb_stats *out, const double *samples, size_t count, double *scratch)
{
    size_t rank;

    *out = (struct gcb_stats){NAN, NAN, NAN, NAN, NAN, NAN};
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        scratch[i] = samples[i];
    out->median = median_of(scratch, count);
    out->min = scratch[0];
    out->max = scratch[count - 1];
    rank = rank_of(samples, count, out->median);
    if (rank) {
        out->low = scratch[rank - 1];
        out->high = scratch[count - rank];
    }
    if (count < 2)
        return;
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(samples[i] - out->median);
    out->mad = median_of(scratch, count);
}

struct gcb_stats gcb_stats_make(const double *samples, size_t count)
{
    double *scratch = gcb_must_array(count, sizeof(*scratch));
    struct gcb_stats stats;

    gcb_stats_of(&stats, samples, count, scratch);
    gcb_free(scratch);
    return stats;
}

double gcb_quantile(const double *sorted, size_t count, double q)
{
    double place, below;
    size_t i;

    if (count == 0)
        return NAN;
    place = q * (double)(count - 1);
    below = floor(place);
    i = (size_t)below;
    if (i + 1 >= count)
        return sorted[count - 1];
    return sorted[i] + (place - below) * (sorted[i + 1] - sorted[i]);
}

/* Draws `count` times from `count` values, with replacement. Uses the random words from number
 * `first` on. Stores in times[i] how often value i is drawn. */
static void draw(uint32_t *times, size_t count, uint64_t first, uint64_t seed)
{
    struct gcb_philox_block block = {{0}};

    memset(times, 0, count * sizeof(*times));
    for (size_t j = 0; j < count; j++) {
        const uint64_t word = first + j;

        if (j == 0 || word % 4 == 0)
            block = gcb_philox(seed, word / 4, GCB_RESAMPLE_STREAM);
        times[(uint64_t)block.word[word % 4] * count >> 32]++;
    }
}

/* Returns the value at place `rank` (from 0) of the sample that draws value i times[i] times. */
static double value_at(const double *sorted, const uint32_t *times, size_t rank)
{
    size_t i = 0, seen = times[0];

    while (seen <= rank)
        seen += times[++i];
    return sorted[i];
}

void gcb_resample_medians(double *medians, size_t draws, const double *values, size_t count,
                          uint64_t seed)
{
    double *sorted = gcb_must_array(count, sizeof(*sorted));
    uint32_t *times = gcb_must_array(count, sizeof(*times));

    memcpy(sorted, values, count * sizeof(*sorted));
    sort_reals(sorted, count);
    for (size_t r = 0; r < draws; r++) {
        draw(times, count, (uint64_t)r * count, seed);
        medians[r] = value_at(sorted, times, count / 2);
        if (count % 2 == 0)
            medians[r] = (value_at(sorted, times, count / 2 - 1) + medians[r]) / 2.0;
    }
    sort_reals(medians, draws);
    gcb_free(sorted);
    gcb_free(times);
}

double gcb_sign_test(size_t above, size_t count)
{
    const double n = (double)count;
    double sum = 0.0;

    if (above == 0)
        return 1.0;
    /* the smallest terms first, for the precision of the sum */
    for (size_t k = count; k >= above; k--)
        sum += binomial(n, (double)k);
    return fmin(sum, 1.0);
}

/* A p-value and its index in the input. */
struct ranked {
    double p;
    size_t place;
};

static int by_p(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return (x->p > y->p) - (x->p < y->p);
}

void gcb_holm(double *adjusted, const double *p, size_t count)
{
    struct ranked *order = gcb_must_array(count, sizeof(*order));
    double least = 0.0;

    for (size_t i = 0; i < count; i++)
        order[i] = (struct ranked){.p = p[i], .place = i};
    if (count)
        qsort(order, count, sizeof(*order), by_p);
    for (size_t i = 0; i < count; i++) {
        const double scaled = (double)(count - i) * order[i].p;

        least = fmin(1.0, fmax(least, scaled));
        adjusted[order[i].place] = least;
    }
    gcb_free(order);
}
