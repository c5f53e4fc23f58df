#ifndef SRC_TOOL_MEASURE_STATS_H
#define SRC_TOOL_MEASURE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"

/* Statistics of samples; all are NAN without samples. */
struct gcb_stats {
    double median, min, max;
    double mad; /* median absolute deviation from the median; NAN for fewer than two samples */
    /* A confidence interval of the median: for a fixed number of independent samples of any
     * distribution, the interval contains the true median with a probability of at least 95 %. It
     * is wider if consecutive samples are correlated (docs/method.md). Both ends are samples; NAN
     * for fewer than GCB_STATS_LEAST samples. */
    double low, high;
};

/* The fewest samples for a 95 % interval of the median. With 5 samples, all lie on the same side of
 * the true median with probability 2 (1/2)^5 > 5 %. */
#define GCB_STATS_LEAST 6

/*
 * Returns the statistical inefficiency of samples in the order of measuring: the number of samples
 * that tell as much about the median as one independent sample. The same number is the factor by
 * which correlation increases the variance of the number of samples below the median.
 *
 * Each value is assumed to depend only on the value before. The correlation rho of neighbours is
 * estimated from how often neighbours lie on the same side of the median. For a normal process, the
 * sides of two values at distance k have correlation 2/pi asin(rho^k) (Sheppard: "On the
 * application of the theory of error to cases of normal distribution and normal correlation",
 * 1899). The result is 1 plus twice the sum of these correlations, or 1 if rho <= 0. rho is limited
 * to 0.95, so the result is too small for slower changes.
 */
double gcb_stats_inefficiency(const double *samples, size_t count, double median);

/* Computes all statistics of `samples`, which have no NaN, are in the order of measuring, and are
 * not changed. `scratch` is another array with room for `count` values. Allocates nothing. */
void gcb_stats_of(struct gcb_stats *out, const double *samples, size_t count, double *scratch);

/* Returns the statistics of gcb_stats_of, without scratch from the caller. Ends the process if
 * memory runs out, as do gcb_resample_medians and gcb_holm. */
struct gcb_stats gcb_stats_make(const double *samples, size_t count);

/*
 * Returns the rank r, from 1, of the ends of the 95 % interval for independent samples: the r-th
 * smallest and the r-th largest of `count` samples. The number of samples below the true median is
 * binomial with p = 1/2, so r is the largest number with P(Bin(count, 1/2) < r) <= 2.5 %. Returns 0
 * for fewer than GCB_STATS_LEAST samples.
 */
size_t gcb_stats_rank(size_t count);

/*
 * Statistics for comparisons: quantiles, the bootstrap of a median, the sign test, and the
 * correction for many comparisons (docs/method.md, Regressions).
 */

/*
 * Returns the quantile q (0 to 1) of `count` sorted values, by linear interpolation: value i is the
 * quantile i / (count - 1) (Hyndman and Fan: "Sample quantiles in statistical packages", 1996, type
 * 7; the default of R and NumPy). NAN without values.
 */
double gcb_quantile(const double *sorted, size_t count, double q);

/* The stream of Philox from which gcb_resample_medians draws. */
#define GCB_RESAMPLE_STREAM UINT64_C(0x7265736d)
/*
 * The bootstrap of the median (Efron: "Bootstrap methods: another look at the jackknife", 1979).
 * Draws `draws` samples, each of `count` values from `values` with replacement, and writes their
 * medians, sorted ascending. Draw j of sample r is the sorted value at index word * count / 2^32,
 * where word is word number r * count + j of Philox with key `seed` and stream GCB_RESAMPLE_STREAM.
 * So the same values and seed give the same medians on every machine. There are 1 to UINT32_MAX
 * values.
 */
void gcb_resample_medians(double *medians, size_t draws, const double *values, size_t count,
                          uint64_t seed);

/*
 * The sign test. Returns the probability that at least `above` of `count` values exceed a limit
 * that each exceeds with probability 1/2. This is the one-sided p-value for "the median is not
 * above the limit", exact for any distribution. The size of an outlier does not matter, only its
 * side of the limit.
 */
double gcb_sign_test(size_t above, size_t count);

/*
 * Computes adjusted p-values by Holm's method (Holm: "A simple sequentially rejective multiple test
 * procedure", 1979). If the tests with adjusted[i] <= alpha are rejected, the probability of any
 * false rejection among all `count` tests is at most alpha. `adjusted` may be `p`.
 */
void gcb_holm(double *adjusted, const double *p, size_t count);

#endif
