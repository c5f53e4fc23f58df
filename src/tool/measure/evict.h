#ifndef SRC_TOOL_MEASURE_EVICT_H
#define SRC_TOOL_MEASURE_EVICT_H

#include <stdint.h>

#include "kernels/base/flush.h"
#include "src/lib/base/diag.h"
#include "src/lib/base/queue.h"

/*
 * Empties the processor's caches, in one of two ways.
 *
 * If the processor can flush single cache lines (kernels/base/flush.h), flushes the private,
 * writable memory of this process, as /proc/self/maps lists it: all tensors, messages, scratch and
 * plans are in it. Code and constants stay in the caches. This works with any cache, and its time
 * depends on the size of that memory.
 *
 * Otherwise, or if that memory is more than four times as large as the walk's buffer, walks over a
 * buffer larger than the last-level cache, which replaces everything in the cache. The queue's
 * threads read and write each cache line of the buffer.
 */
struct gcb_evict {
    struct gcb_flush_fns flush;    /* flush.lines is NULL: walk */
    uint64_t *data;                /* buffer of the walk; NULL until it is needed */
    uint64_t bytes;                /* size of the last flush, or of the walk's buffer */
    const struct gcb_queue *queue; /* borrowed */
    char *maps;                    /* text of /proc/self/maps */
};

/* Prepares for flushing if cpu_flags has GCB_CPU_FLUSH, otherwise allocates the buffer of the walk.
 * GCB_E_NOMEM. */
int gcb_evict_init(struct gcb_evict *e, const struct gcb_queue *queue, unsigned cpu_flags,
                   struct gcb_diag *diag);
/* Empties the caches. GCB_E_NOMEM: the process has grown so large that a walk is needed, and there
 * is no memory for its buffer. */
int gcb_evict_run(struct gcb_evict *e, struct gcb_diag *diag);
void gcb_evict_fini(struct gcb_evict *e); /* zeroed is fine */

#endif
