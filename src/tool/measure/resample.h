#ifndef SRC_TOOL_MEASURE_RESAMPLE_H
#define SRC_TOOL_MEASURE_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"

/*
 * Statistics for comparisons: quantiles, the bootstrap of a median, the sign test, and the correction for many comparisons
 * (docs/method.md, Regressions). The same values and seed give the same result on every machine.
 */

/*
 * The quantile q (0 to 1) of `count` sorted values: linear interpolation, with value i at i / (count - 1) (Hyndman and Fan:
 * "Sample quantiles in statistical packages", 1996, type 7; the default of R and NumPy). NAN without values.
 */
double gcb_quantile(const double *sorted, size_t count, double q);

/*
 * The bootstrap of the median (Efron: "Bootstrap methods: another look at the jackknife", 1979): the medians of `draws`
 * samples, each of `count` values drawn from `values` with replacement, sorted ascending. Draw j of sample r is the
 * sorted value at index word * count / 2^32, where word is word number r * count + j of Philox with key `seed` and
 * stream GCB_RESAMPLE_STREAM. GCB_E_INVALID: no values; GCB_E_NOMEM.
 */
#define GCB_RESAMPLE_STREAM UINT64_C(0x7265736d)
int gcb_resample_medians(double *medians, size_t draws, const double *values, size_t count,
                         uint64_t seed, struct gcb_diag *diag);

/*
 * The sign test: the probability that at least `above` of `count` values exceed a limit that each exceeds with probability
 * 1/2. It is the one-sided p-value for "the median is not above the limit", exact for any distribution. Outliers do not
 * matter, because it uses only the side on which a value lies.
 */
double gcb_sign_test(size_t above, size_t count);

/*
 * Holm's adjusted p-values (Holm: "A simple sequentially rejective multiple test procedure", 1979): if the tests with
 * adjusted[i] <= alpha are rejected, the probability of any false rejection among all `count` tests is at most alpha.
 * `adjusted` may be `p`. GCB_E_NOMEM.
 */
int gcb_holm(double *adjusted, const double *p, size_t count, struct gcb_diag *diag);

#endif
