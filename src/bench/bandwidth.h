#ifndef SRC_BENCH_BANDWIDTH_H
#define SRC_BENCH_BANDWIDTH_H

#include <stdint.h>

#include "src/base/diag.h"
#include "src/base/queue.h"

/*
 * What this machine's memory gives a program: the limits that throughput is held against. GB/s are 1e9
 * bytes a second, of the best of several passes.
 */
struct gcb_bandwidth {
    double read_gbps; /* bytes read */
    double fill_gbps; /* bytes written */
    double copy_gbps; /* bytes copied, counted once */
    uint64_t bytes;   /* of the memory gone over in one pass */
    int threads;      /* that went over it */
};

/* Large enough that no cache holds it: the larger of 256 MiB and four times the last-level cache. */
uint64_t gcb_bandwidth_default_bytes(void);

/*
 * Measures with the queue's threads over `bytes` of fresh memory (0: the default; at least 1 MiB), in about
 * 0.4 s, or as long as five passes take. A buffer that the caches hold measures the caches. GCB_E_NOMEM.
 */
int gcb_bandwidth_measure(struct gcb_bandwidth *out, const struct gcb_queue *queue, uint64_t bytes,
                          struct gcb_diag *diag);

#endif
