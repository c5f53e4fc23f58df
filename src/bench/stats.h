#ifndef SRC_BENCH_STATS_H
#define SRC_BENCH_STATS_H

#include <stddef.h>

/* What a handful of timings comes to. All NAN when there are none. */
struct gcb_stats {
    double median, min, max;
    double mad; /* median absolute deviation from the median; NAN for fewer than two samples */
    /* an interval that holds the true median with at least 95 %, whatever the distribution of a fixed number of
     * independent samples (docs/method.md says what it is worth otherwise): two of the samples themselves; NAN
     * for fewer than GCB_STATS_LEAST */
    double low, high;
};

/* Samples that a 95 % interval of the median takes at least: 2 (1/2)^5 is still more than 5 %. */
#define GCB_STATS_LEAST 6

/*
 * `scratch` has room for `count` values and is overwritten; it may not be `samples`, which is left as
 * it is, in the order of measuring. Allocates nothing.
 */
void gcb_stats_of(struct gcb_stats *out, const double *samples, size_t count, double *scratch);

/*
 * Which order statistics hold the median with at least 95 %: the r-th smallest and the r-th largest, r from
 * 1, the narrowest such pair. 0 for fewer than GCB_STATS_LEAST samples. The number of samples below the true
 * median is binomial with p = 1/2, so r is the largest for which P(Bin(count, 1/2) < r) <= 2.5 %.
 */
size_t gcb_stats_rank(size_t count);

#endif
