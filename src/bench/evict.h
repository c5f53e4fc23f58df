#ifndef SRC_BENCH_EVICT_H
#define SRC_BENCH_EVICT_H

#include <stdint.h>

#include "src/base/diag.h"
#include "src/base/queue.h"

/*
 * Cold caches: going over memory that is larger than the last-level cache leaves nothing else in it. Every
 * cache line is read and written, by all threads of the queue, each its share.
 */
struct gcb_evict {
    uint64_t *data;
    uint64_t bytes;
    const struct gcb_queue *queue; /* borrowed */
};

/* The last-level cache and a quarter, 64 MiB at least, and never more than a quarter of memory. */
uint64_t gcb_evict_bytes(void);

/* Takes and touches the memory. GCB_E_NOMEM. */
int gcb_evict_init(struct gcb_evict *e, const struct gcb_queue *queue, struct gcb_diag *diag);
void gcb_evict_run(struct gcb_evict *e);
void gcb_evict_fini(struct gcb_evict *e); /* zeroed is fine */

#endif
