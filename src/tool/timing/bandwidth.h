#ifndef SRC_TOOL_TIMING_BANDWIDTH_H
#define SRC_TOOL_TIMING_BANDWIDTH_H

#include "src/lib/base/queue.h"
#include "src/tool/rows/environment.h"

/* Large enough that no cache holds it: the larger of 256 MiB and four times the last-level cache. */
uint64_t gcb_bandwidth_default_bytes(void);

/*
 * Measures with the queue's threads over `bytes` of fresh memory (0: the default; at least 1 MiB), in about
 * 0.4 s, or as long as five passes take. A buffer that the caches hold measures the caches. GCB_E_NOMEM.
 */
int gcb_bandwidth_measure(struct gcb_bandwidth *out, const struct gcb_queue *queue, uint64_t bytes,
                          struct gcb_diag *diag);

#endif
