#include "src/bench/stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts in place; the mean of the middle two for an even count. */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2.0;
}

void gcb_stats_of(struct gcb_stats *out, const double *samples, size_t count, double *scratch)
{
    *out = (struct gcb_stats){.median = NAN, .min = NAN, .max = NAN, .mad = NAN};
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        scratch[i] = samples[i];
    out->median = median_of(scratch, count);
    out->min = scratch[0];
    out->max = scratch[count - 1];
    if (count < 2)
        return;
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(samples[i] - out->median);
    out->mad = median_of(scratch, count);
}
