#ifndef SRC_TOOL_TIMING_STATS_H
#define SRC_TOOL_TIMING_STATS_H

#include <stddef.h>

/* What a handful of timings comes to. All NAN when there are none. */
struct gcb_stats {
    double median, min, max;
    double mad; /* median absolute deviation from the median; NAN for fewer than two samples */
    /* an interval that holds the true median with at least 95 %, whatever the distribution of a fixed number of
     * independent samples; wider where neighbours in time are alike, for then they tell less than their number
     * (docs/method.md says what that is worth). Two of the samples themselves; NAN for fewer than
     * GCB_STATS_LEAST */
    double low, high;
};

/* Samples that a 95 % interval of the median takes at least: 2 (1/2)^5 is still more than 5 %. */
#define GCB_STATS_LEAST 6

/* Sorts ascending, in place. NANs are the caller's to keep out. */
void gcb_sort_reals(double *values, size_t count);

/*
 * How many samples, in the order they were taken, tell as much of the median as one independent one: the factor by
 * which the variance of the number below the median grows if each value depends on the one before alone, so much as the
 * sides of the median on which neighbours lie agree. For a normal process with correlation rho from one value to the
 * next, two values at distance k agree with correlation 2/pi asin(rho^k) (Sheppard: "On the application of the theory
 * of error to cases of normal distribution and normal correlation", 1899), and the factor is 1 plus twice their sum. 1
 * where neighbours do not agree more often than not; rho is 0.95 at most. What lasts longer than that is not seen.
 */
double gcb_stats_likeness(const double *samples, size_t count, double median);

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
