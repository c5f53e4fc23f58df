#ifndef SRC_TOOL_TIMING_EVICT_H
#define SRC_TOOL_TIMING_EVICT_H

#include <stdint.h>

#include "kernels/base/flush.h"
#include "src/lib/base/diag.h"
#include "src/lib/base/queue.h"

/*
 * Cold caches. Where the processor can take single lines out of its caches (kernels/base/flush.h), that is done with
 * everything this process has written or may write: its private, writable memory, as /proc/self/maps lists it, in which all
 * tensors, messages, scratch and plans lie. Code and constants stay. It takes time in proportion to that memory, and is sure
 * whatever the caches.
 *
 * Elsewhere, and where that memory is more than four times what the walk goes over: the walk. Going over memory that is
 * larger than the last-level cache leaves nothing else in it. Every cache line is read and written, by all threads of the
 * queue, each its share.
 */
struct gcb_evict {
    struct gcb_flush_fns flush;    /* no lines: walks */
    uint64_t *data;                /* what is walked over; NULL until it is needed */
    uint64_t bytes;                /* that were flushed last, or are walked over */
    const struct gcb_queue *queue; /* borrowed */
    char *maps;                    /* the text of the list */
};

/* Without GCB_CPU_FLUSH among the flags it walks. Takes and touches the memory for that. GCB_E_NOMEM. */
int gcb_evict_init(struct gcb_evict *e, const struct gcb_queue *queue, unsigned cpu_flags,
                   struct gcb_diag *diag);
/* GCB_E_NOMEM: only where the process's memory has grown so much that it has to walk. */
int gcb_evict_run(struct gcb_evict *e, struct gcb_diag *diag);
void gcb_evict_fini(struct gcb_evict *e); /* zeroed is fine */

#endif
