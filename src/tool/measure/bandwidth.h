#ifndef SRC_TOOL_MEASURE_BANDWIDTH_H
#define SRC_TOOL_MEASURE_BANDWIDTH_H

#include "src/lib/base/queue.h"
#include "src/tool/rows/environment.h"

/* A buffer larger than the caches: 256 MiB, or four times the last-level cache if that is more. */
uint64_t gcb_bandwidth_default_bytes(void);

/*
 * Measures the bandwidth of a newly allocated buffer of `bytes` (0: the default; at least 2 MiB) with the queue's
 * threads. It takes about 0.4 s, or as long as five passes. If the buffer fits in the caches, the result is the caches'
 * bandwidth. GCB_E_NOMEM.
 */
int gcb_bandwidth_measure(struct gcb_bandwidth *out, const struct gcb_queue *queue, uint64_t bytes,
                          struct gcb_diag *diag);

#endif
