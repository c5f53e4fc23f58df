#ifndef SRC_TOOL_PAYOFF_CURVE_H
#define SRC_TOOL_PAYOFF_CURVE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"

/*
 * Measured times of a transfer by its size, while all workers send and receive.
 *
 * There is a line of times for each pattern: over TCP, the two directions between two workers share
 * a connection and delay each other. The first transfer of an exchange is shorter than later ones,
 * because all workers begin it together. Later some workers are late, and others wait for them.
 */
enum gcb_pattern {
    GCB_PATTERN_SHIFT, /* each worker sends to one worker and receives from another */
    GCB_PATTERN_PAIR,  /* each worker sends to the worker that it receives from */
    GCB_PATTERNS
};
extern const char *const gcb_pattern_names[]; /* "shift", "pair", NULL */

#define GCB_CURVE_POINTS 256 /* most points of a line; all sizes of one log fit */
struct gcb_curve {
    struct gcb_curve_line {
        size_t count; /* 0: the pattern was not measured */
        /* In a curve from gcb_curve_import: bytes of the smallest measured transfer; the times of
         * smaller transfers are extrapolated. Otherwise 0. */
        double least;
        bool reduces; /* the times include adding values, as those of a measured all-reduce */
        struct gcb_curve_point {
            double bytes;
            double first;           /* seconds of the first transfer of an exchange */
            double seconds;         /* seconds of a transfer that follows another at once */
        } points[GCB_CURVE_POINTS]; /* from small to large */
    } lines[GCB_PATTERNS];          /* at least one has points */
    const char *path;               /* path of the (first) file; borrowed */
    /* bytes per second of the largest first transfer: a shift, or a pair if no shift was
     * measured */
    double bandwidth;
    unsigned workers; /* number of workers in the measurement; 0: unknown */
    /* of an import: names of tests that were left out ("alltoall_perf, broadcast_perf"), not
     * escaped */
    char unused[256];
};

/*
 * Returns the seconds of one transfer; `first`: of the first transfer of an exchange. Between two
 * measured sizes the time is interpolated linearly. A transfer below the smallest size takes as
 * long as the smallest. Above the largest size, the time grows in proportion to the size. A pattern
 * without points has the times of the other pattern.
 */
double gcb_curve_at(const struct gcb_curve *curve, enum gcb_pattern pattern, bool first,
                    double bytes);

/* True if measured times of this pattern include adding values. */
bool gcb_curve_reduces(const struct gcb_curve *curve, enum gcb_pattern pattern);
/* True if a transfer of `bytes` bytes is smaller than the smallest measured transfer (`least`), and
 * takes less than 0.9 of its time. */
bool gcb_curve_extrapolates(const struct gcb_curve *curve, enum gcb_pattern pattern, double bytes);

/* Reads the `link` rows of a result file. Returns 0 or GCB_E_IO. GCB_E_CORRUPT, with file and line:
 * not a result file, no `link` row, a damaged row, a size twice, or different numbers of
 * workers. */
int gcb_curve_read(struct gcb_curve *out, const char *path, struct gcb_diag *diag);

/* Adds a point to a curve, which starts zeroed. Returns 0, or GCB_E_CORRUPT with a message that
 * does not name file and line: a time or size is not between 1e-30 and 1e30, a size appears twice,
 * or the line has GCB_CURVE_POINTS points. */
int gcb_curve_add(struct gcb_curve *curve, enum gcb_pattern pattern,
                  const struct gcb_curve_point *point, struct gcb_diag *diag);

/*
 * Makes a curve from what other tools measured (gcb_net_log_read):
 *
 *  osu_latency       the time of a transfer
 *  osu_bw            bytes / bandwidth. osu_bw keeps many transfers in flight, so small transfers
 *                    appear too short. If there is osu_latency too, osu_bw gives only larger sizes
 *  all-reduces,      the time of the collective, divided among the steps of the algorithm that the
 *  all-gathers       model takes for this size, so that the model gives the measured time again
 *  reduce-scatters   half of an all-reduce by halving or in a ring; left out if there is an
 *                    all-reduce
 *
 * Below the smallest size the times are extrapolated: they fall with the size to the least latency
 * that the smallest sizes support, which may be 0.
 *
 * `paths` has at least one file. `workers` is the number of workers if the log of a collective does
 * not say it; 0: not given. Errors are those of gcb_net_log_read, and GCB_E_CORRUPT if the
 * files do not fit together.
 */
int gcb_curve_import(struct gcb_curve *out, const char *const *paths, size_t count,
                     unsigned workers, struct gcb_diag *diag);

/*
 * Reads what tests of networks print:
 *
 *   - nccl-tests and rccl-tests: all_reduce_perf, all_gather_perf and reduce_scatter_perf. The
 *     out-of-place columns count, or the in-place ones if there are no others.
 *   - OSU: osu_latency, osu_bw, osu_allreduce and osu_allgather.
 *
 * A file may have several tables, and other lines before, between and within them. Each line may
 * have a prefix, as mpirun, srun, kubectl and syslog write it. Sizes may come in any order. If a
 * size has several rows, the last one counts.
 */
#define GCB_NETWORK_WORKERS 65536 /* the most workers of a network */

enum gcb_net_test {
    GCB_NET_LATENCY,   /* seconds of a transfer */
    GCB_NET_BANDWIDTH, /* bytes / bandwidth with many transfers in flight: too short if few bytes */
    GCB_NET_ALLREDUCE,
    GCB_NET_ALLGATHER,
    GCB_NET_REDUCESCATTER,
    GCB_NET_TESTS
};

#define GCB_NET_SIZES 64 /* most sizes of a table; a longer table keeps 64 at even distances */
struct gcb_net_table {
    size_t line;    /* where the table begins, for messages */
    unsigned ranks; /* number of ranks of a collective; 0: a test of transfers */
    bool reduces;   /* the times include the additions */
    size_t count;   /* 0: the log does not have this test */
    /* From small to large, above 0. For a collective, `bytes` is what a rank has before a
     * reduction, or after a gathering. */
    struct gcb_net_size {
        double bytes, seconds;
    } sizes[GCB_NET_SIZES];
};

struct gcb_net_log {
    const char *path; /* borrowed */
    struct gcb_net_table tables[GCB_NET_TESTS];
    /* names of tests whose tables were left out, as the log has them, not escaped:
     * "alltoall_perf, broadcast_perf"; "": none */
    char unused[128];
};

/*
 * Reads a log. `workers` is the number of ranks if a table does not say it; 0: not given.
 *
 * Returns 0 or GCB_E_IO. GCB_E_INVALID: `workers` is needed. GCB_E_CORRUPT, with file, line and
 * what is expected: no table that can be used, a table that ends too early, a row that does not
 * fit, wrong results, the same test twice, a compressed file, and so on.
 */
int gcb_net_log_read(struct gcb_net_log *out, const char *path, unsigned workers,
                     struct gcb_diag *diag);

#endif
