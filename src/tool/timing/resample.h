#ifndef SRC_TOOL_TIMING_RESAMPLE_H
#define SRC_TOOL_TIMING_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"

/*
 * Statistics of comparisons: quantiles, the bootstrap of a median, and what many comparisons at once need
 * (docs/method.md, Regressions). Nothing here draws on a clock: the same values and the same seed give the same
 * answer on every machine.
 */

/*
 * The quantile q (0 to 1) of `count` sorted values: straight lines between them, value i standing at
 * i / (count - 1) (Hyndman and Fan: "Sample quantiles in statistical packages", 1996, type 7; R's and NumPy's
 * default). NAN where there are none.
 */
double gcb_quantile(const double *sorted, size_t count, double q);

/*
 * The bootstrap of the median (Efron: "Bootstrap methods: another look at the jackknife", 1979): medians[r] is the
 * median of `count` values drawn from `values` with replacement, for `draws` such samples, sorted ascending. Draw
 * j of sample r is the value at index word * count / 2^32 of the sorted values, word being word r * count + j
 * of Philox under `seed`, stream GCB_RESAMPLE_STREAM. GCB_E_INVALID for no values; GCB_E_NOMEM.
 */
#define GCB_RESAMPLE_STREAM UINT64_C(0x7265736d)
int gcb_resample_medians(double *medians, size_t draws, const double *values, size_t count,
                         uint64_t seed, struct gcb_diag *diag);

/*
 * The sign test: the chance that `above` or more of `count` values exceed a limit that each exceeds with probability
 * 1/2. So it is the one-sided p that the median of where they come from is not above the limit: exact, whatever their
 * distribution, and deaf to how far the odd one lies out.
 */
double gcb_sign_test(size_t above, size_t count);

/*
 * Holm's adjusted p-values (Holm: "A simple sequentially rejective multiple test procedure", 1979): rejecting
 * where adjusted[i] <= alpha keeps the chance of any false rejection among all `count` tests at alpha.
 * adjusted may be p. GCB_E_NOMEM.
 */
int gcb_holm(double *adjusted, const double *p, size_t count, struct gcb_diag *diag);

#endif
