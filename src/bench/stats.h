#ifndef SRC_BENCH_STATS_H
#define SRC_BENCH_STATS_H

#include <stddef.h>

/* What a handful of timings comes to. All NAN when there are none. */
struct gcb_stats {
    double median, min, max;
    double mad; /* median absolute deviation from the median; NAN for fewer than two samples */
};

/*
 * `scratch` has room for `count` values and is overwritten; it may not be `samples`, which is left as
 * it is, in the order of measuring. Allocates nothing.
 */
void gcb_stats_of(struct gcb_stats *out, const double *samples, size_t count, double *scratch);

#endif
