#include "src/tool/measure/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/philox/philox_elem.h"
#include "src/lib/base/alloc.h"
#include "src/tool/measure/stats.h"

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

/* Draws a sample: times[i] is how often the i-th sorted value is drawn. */
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

/* Returns the value at place `rank` (from 0) of the sorted sample. */
static double value_at(const double *sorted, const uint32_t *times, size_t rank)
{
    size_t i = 0, seen = times[0];

    while (seen <= rank)
        seen += times[++i];
    return sorted[i];
}

static double median_drawn(const double *sorted, const uint32_t *times, size_t count)
{
    const double upper = value_at(sorted, times, count / 2);

    return count % 2 ? upper : (value_at(sorted, times, count / 2 - 1) + upper) / 2.0;
}

int gcb_resample_medians(double *medians, size_t draws, const double *values, size_t count,
                         uint64_t seed, struct gcb_diag *diag)
{
    double *sorted = gcb_alloc_array(count, sizeof(*sorted));
    uint32_t *times = gcb_alloc_array(count, sizeof(*times));
    int err = 0;

    if (count == 0 || count > UINT32_MAX)
        err = gcb_diag_set(diag, GCB_E_INVALID, "no values to draw from");
    else if (!sorted || !times)
        err = gcb_diag_nomem(diag, count * sizeof(*sorted), "the bootstrap");
    if (err)
        goto out;
    memcpy(sorted, values, count * sizeof(*sorted));
    gcb_sort_reals(sorted, count);
    for (size_t r = 0; r < draws; r++) {
        draw(times, count, (uint64_t)r * count, seed);
        medians[r] = median_drawn(sorted, times, count);
    }
    gcb_sort_reals(medians, draws);
out:
    gcb_free(sorted);
    gcb_free(times);
    return err;
}

double gcb_sign_test(size_t above, size_t count)
{
    const double n = (double)count;
    double sum = 0.0;

    if (above == 0)
        return 1.0;
    /* adds the smallest terms first; each is a binomial coefficient / 2^n */
    for (size_t k = count; k >= above; k--)
        sum += exp(lgamma(n + 1.0) - lgamma((double)k + 1.0) - lgamma(n - (double)k + 1.0) -
                   n * M_LN2);
    return fmin(sum, 1.0);
}

struct ranked {
    double p;
    size_t place;
};

static int by_p(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return (x->p > y->p) - (x->p < y->p);
}

int gcb_holm(double *adjusted, const double *p, size_t count, struct gcb_diag *diag)
{
    struct ranked *order = gcb_alloc_array(count, sizeof(*order));
    double least = 0.0;

    if (!order)
        return gcb_diag_nomem(diag, count * sizeof(*order), "p-values");
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
    return 0;
}
