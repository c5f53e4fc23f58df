#ifndef SRC_TOOL_PAYOFF_NET_LOG_H
#define SRC_TOOL_PAYOFF_NET_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"

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
