#ifndef SRC_TOOL_PAYOFF_CURVE_H
#define SRC_TOOL_PAYOFF_CURVE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"

/* The value itself (a median), and the ends of its 95 % interval. */
enum gcb_bound { GCB_BOUND_LOW, GCB_BOUND_MEDIAN, GCB_BOUND_HIGH, GCB_BOUNDS };
/* Returns the time at a bound. An end that is not known (NAN) is 0 or INFINITY, so that the interval is the widest. */
double gcb_bound_of(const double times[GCB_BOUNDS], enum gcb_bound bound);
/* Are the ends that are known (not NAN) in order and not negative? */
bool gcb_bounds_hold(const double values[GCB_BOUNDS]);

/*
 * Measured times of one transfer by its size, while all workers send and receive. Over TCP the two directions between two
 * workers share a connection and delay each other, so there is a line for each pattern. Workers begin the first transfer of an
 * exchange together; in the next ones some are late, and others wait for them, so these take longer.
 */
enum gcb_pattern {
    GCB_PATTERN_SHIFT, /* to one worker, from another */
    GCB_PATTERN_PAIR,  /* to a worker and from the same */
    GCB_PATTERNS
};
extern const char *const gcb_pattern_names[]; /* "shift", "pair", NULL */

#define GCB_CURVE_POINTS 256 /* more are refused; those of one log always fit */
struct gcb_curve {
    struct gcb_curve_line {
        size_t count;
        /* bytes of the smallest transfer that was measured; times below are extrapolated. 0: none */
        double least;
        bool reduces; /* the times include adding values, as those of a measured all-reduce */
        struct gcb_curve_point {
            double bytes;
            double first[GCB_BOUNDS];   /* of the first transfer of an exchange */
            double seconds[GCB_BOUNDS]; /* of one that follows another at once */
        } points[GCB_CURVE_POINTS];     /* from small to large; an end that is not known is NAN */
    } lines[GCB_PATTERNS];              /* one of them may be empty */
    const char *path;                   /* of the file; borrowed */
    /* bytes per second of the largest first shift, by its median time and by the ends of the interval, which are the median if
     * they are not known */
    double bandwidth[GCB_BOUNDS];
    unsigned workers; /* that were measured; 0: unknown */
    /* of an import: the smallest size of a log (the largest of these, if there are several); tests
     * whose tables were left out ("alltoall_perf, broadcast_perf"), as the log has their names: not
     * escaped */
    double logged;
    char unused[256];
};

/*
 * The time of one transfer; `first`: of the first in an exchange. Between two measured sizes the time is interpolated
 * linearly; below the smallest it is that of the smallest; above the largest it grows in proportion. A pattern without
 * a line has the times of the other. Unknown ends are those of gcb_bound_of.
 */
double gcb_curve_at(const struct gcb_curve *curve, enum gcb_pattern pattern, bool first,
                    enum gcb_bound bound, double bytes);

/* Do measured times of this pattern include adding values? */
bool gcb_curve_reduces(const struct gcb_curve *curve, enum gcb_pattern pattern);
/* Is a transfer smaller than any that was measured, and its time over a tenth shorter? */
bool gcb_curve_extrapolates(const struct gcb_curve *curve, enum gcb_pattern pattern, double bytes);

/* Reads the `link` rows of a result file. GCB_E_IO; GCB_E_CORRUPT, with file and line: not a result file, no such row, a
 * damaged row, a size twice, or rows of several numbers of workers. */
int gcb_curve_read(struct gcb_curve *out, const char *path, struct gcb_diag *diag);

/* Adds a point to a curve that was zeroed. GCB_E_CORRUPT: a time or size that is not positive, an infinite bandwidth, ends of an interval in wrong order, a size twice, or too many. Then
 * says what is wrong, without file and line. */
int gcb_curve_add(struct gcb_curve *curve, enum gcb_pattern pattern,
                  const struct gcb_curve_point *point, struct gcb_diag *diag);
/* Computes the bandwidth. Call it once, after the last point; there must be at least one. */
void gcb_curve_finish(struct gcb_curve *curve);

#endif
