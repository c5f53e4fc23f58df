#include "src/tool/measure/stats.h"

#include <math.h>
#include <stdlib.h>

#include "src/lib/base/alloc.h"

#define TAIL 0.025      /* probability on each side of a 95 % interval */
#define MOST_ALIKE 0.95 /* limit of the correlation of neighbouring samples */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void gcb_sort_reals(double *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof(*values), ascending);
}

/* Sorts in place. Returns the median: for an even count, the mean of the middle two values. */
static double median_of(double *values, size_t count)
{
    gcb_sort_reals(values, count);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2.0;
}

size_t gcb_stats_rank(size_t count)
{
    const double n = (double)count, spread = sqrt(n) / 2.0;
    /* the sum begins ten deviations below the middle: terms before that are negligible */
    const double first = floor(n / 2.0 - 10.0 * spread - 1.0);
    size_t k = first > 0.0 ? (size_t)first : 0;
    double term, below = 0.0;

    if (count < GCB_STATS_LEAST)
        return 0;
    term = exp(lgamma(n + 1.0) - lgamma((double)k + 1.0) - lgamma(n - (double)k + 1.0) -
               n * log(2.0)); /* P(Bin(n, 1/2) = k) */
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

double gcb_stats_likeness(const double *samples, size_t count, double median)
{
    double own = 0.0, both = 0.0, rho, factor = 1.0;

    for (size_t i = 0; i < count; i++)
        own += side(samples[i], median) != 0;
    for (size_t i = 1; i < count; i++)
        both += side(samples[i], median) * side(samples[i - 1], median);
    if (!(both > 0.0))
        return 1.0;
    rho = fmin(sin(M_PI_2 * both / own), MOST_ALIKE);
    for (double power = rho; power > 1e-3; power *= rho)
        factor += 2.0 * M_2_PI * asin(power);
    return factor;
}

/* Returns the rank of the interval's ends: the rank for independent samples, moved outwards if samples are
 * correlated. */
static size_t rank_of(const double *samples, size_t count, double median)
{
    const size_t rank = gcb_stats_rank(count);
    const double middle = (double)count / 2.0;
    const double reach = (middle - (double)rank) * sqrt(gcb_stats_likeness(samples, count, median));

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
    double *scratch = gcb_alloc_array(count, sizeof(*scratch));
    struct gcb_stats stats;

    gcb_stats_of(&stats, samples, scratch ? count : 0, scratch);
    gcb_free(scratch);
    return stats;
}
