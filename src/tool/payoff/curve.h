#ifndef SRC_TOOL_LINK_CURVE_H
#define SRC_TOOL_LINK_CURVE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"
#include "src/tool/payoff/net_log.h"

/*
 * Measured times of one transfer by its size, while all workers send and receive. Over TCP the two
 * directions between two workers share a connection and delay each other, so there is a line for
 * each pattern. Workers begin the first transfer of an exchange together; in the next ones some are
 * late, and others wait for them, so these take longer.
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
        /* bytes of the smallest transfer that was measured; times below are extrapolated. 0:
         * none */
        double least;
        bool reduces; /* the times include adding values, as those of a measured all-reduce */
        struct gcb_curve_point {
            double bytes;
            double first;           /* seconds of the first transfer of an exchange */
            double seconds;         /* of one that follows another at once */
        } points[GCB_CURVE_POINTS]; /* from small to large */
    } lines[GCB_PATTERNS];          /* one of them may be empty */
    const char *path;               /* of the file; borrowed */
    double bandwidth;               /* bytes per second of the largest first shift */
    unsigned workers;               /* that were measured; 0: unknown */
    /* of an import: names of tests that were left out ("alltoall_perf, broadcast_perf"), not
     * escaped */
    char unused[256];
};

/*
 * The time of one transfer; `first`: of the first in an exchange. Between two measured sizes the
 * time is interpolated linearly; below the smallest it is that of the smallest; above the largest
 * it grows in proportion. A pattern without a line has the times of the other.
 */
double gcb_curve_at(const struct gcb_curve *curve, enum gcb_pattern pattern, bool first,
                    double bytes);

/* True if measured times of this pattern include adding values. */
bool gcb_curve_reduces(const struct gcb_curve *curve, enum gcb_pattern pattern);
/* True if a transfer is smaller than any that was measured, and its time over a tenth shorter. */
bool gcb_curve_extrapolates(const struct gcb_curve *curve, enum gcb_pattern pattern, double bytes);

/* Reads the `link` rows of a result file. GCB_E_IO; GCB_E_CORRUPT, with file and line: not a
 * result file, no such row, a damaged row, a size twice, or rows of several numbers of workers. */
int gcb_curve_read(struct gcb_curve *out, const char *path, struct gcb_diag *diag);

/* Adds a point to a curve that was zeroed. GCB_E_CORRUPT: a time or size that is not positive,
 * an infinite bandwidth, a size twice, or too many. Then says what is wrong, without file and
 * line. */
int gcb_curve_add(struct gcb_curve *curve, enum gcb_pattern pattern,
                  const struct gcb_curve_point *point, struct gcb_diag *diag);
/*
 * Makes a curve from what other tools measured (src/tool/payoff/net_log.h):
 *
 *  osu_latency       the time of a transfer
 *  osu_bw            bytes / bandwidth. osu_bw keeps many transfers in flight, so a small one appears
 *                    too short: with osu_latency, only its sizes beyond those of osu_latency count
 *  all-reduces,      the time of the collective, divided among the steps of the algorithm that the
 *  all-gathers       model takes for this size, so that the model gives the measured time again
 *  reduce-scatters   half of an all-reduce by halving; left out if there is an all-reduce
 *
 * Below the smallest size the times are extrapolated: they fall with the size to the least latency
 * that the smallest sizes support, which may be 0. Such times have an interval; all others are
 * exact.
 *
 * `workers` is the number of workers of collectives whose logs do not say it; 0: not given. Errors
 * are those of gcb_net_log_read, and GCB_E_CORRUPT if the files do not fit together.
 */
int gcb_curve_import(struct gcb_curve *out, const char *const *paths, size_t count,
                     unsigned workers, struct gcb_diag *diag);

#endif
