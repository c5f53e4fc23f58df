#ifndef SRC_TOOL_PAYOFF_CURVE_H
#define SRC_TOOL_PAYOFF_CURVE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"

/*
 * Measured times of a transfer by its size, while all workers send and receive.
 *
 * There is a line of times for each pattern: over TCP, the two directions between two workers share
 * a connection and delay each other. The first transfer of an exchange takes less time than later
 * ones, because all workers begin it together. Before a later transfer some workers are late, and
 * the workers that are on time wait.
 */
enum gcb_pattern {
    GCB_PATTERN_SHIFT, /* each worker sends to one worker and receives from another */
    GCB_PATTERN_PAIR,  /* each worker sends to the worker that it receives from */
    GCB_PATTERNS
};
extern const char *const gcb_pattern_names[]; /* "shift", "pair", NULL */

#define GCB_CURVE_POINTS 256      /* most points of a line */
#define GCB_NETWORK_WORKERS 65536 /* the most workers of a network */

struct gcb_curve {
    struct gcb_curve_line {
        size_t count; /* 0: the pattern was not measured */
        struct gcb_curve_point {
            double bytes;
            double first;           /* seconds of the first transfer of an exchange */
            double seconds;         /* seconds of a transfer that follows another at once */
        } points[GCB_CURVE_POINTS]; /* from small to large */
    } lines[GCB_PATTERNS];          /* at least one has points */
    const char *path;               /* path of the file; borrowed */
    /* bytes per second of a first transfer of the largest size: in a shift, or in a pair if no
     * shift was measured */
    double bandwidth;
    unsigned workers; /* number of workers in the measurement; 0: no curve was read */
};

/*
 * Returns the seconds of one transfer; `first`: of the first transfer of an exchange. Between two
 * measured sizes the time is interpolated linearly. A transfer below the smallest size takes as
 * long as the smallest. Above the largest size, the time grows in proportion to the size. A pattern
 * without points has the times of the other pattern.
 */
double gcb_curve_at(const struct gcb_curve *curve, enum gcb_pattern pattern, bool first,
                    double bytes);

/* Reads the `link` rows of a result file. Returns 0 or GCB_E_IO. GCB_E_CORRUPT, with file and line:
 * not a result file, no `link` row, a damaged row, a time or size that is not between 1e-30 and
 * 1e30, rows with different numbers of workers, or a pattern that has a size twice or more than
 * GCB_CURVE_POINTS sizes. */
int gcb_curve_read(struct gcb_curve *out, const char *path, struct gcb_diag *diag);

#endif
