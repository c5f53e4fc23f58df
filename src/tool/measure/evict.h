#ifndef SRC_TOOL_MEASURE_EVICT_H
#define SRC_TOOL_MEASURE_EVICT_H

#include <stdint.h>

#include "kernels/base/flush.h"
#include "src/lib/base/diag.h"
#include "src/lib/base/queue.h"

/*
 * Empties the processor's caches, in one of two ways.
 *
 * A flush: if the processor can flush single cache lines (kernels/base/flush.h), the private,
 * writable memory of this process is flushed, as /proc/self/maps lists it. This memory holds all
 * tensors, messages, scratch and plans. Code and constants stay in the caches. A flush works with
 * any cache; its time depends on the size of the process's memory.
 *
 * A walk: the queue's threads read and write each cache line of a buffer that is larger than the
 * last-level cache. This replaces everything in the cache. A walk is used if the processor cannot
 * flush, if /proc/self/maps cannot be read or is too long, or once the process's memory is more
 * than four times as large as the buffer. After the first walk, all later calls walk.
 */
struct gcb_evict {
    struct gcb_flush_fns flush;    /* flush.lines is NULL: walk */
    uint64_t *data;                /* buffer of the walk; NULL until it is needed */
    uint64_t bytes;                /* size of the last flush, or of the walk's buffer */
    const struct gcb_queue *queue; /* borrowed */
    char *maps;                    /* text of /proc/self/maps; NULL if no flush was tried */
};

/* Flushes once if cpu_flags has GCB_CPU_FLUSH. Allocates the walk's buffer if cpu_flags lacks the
 * flag or the flush is not possible. Returns 0 or GCB_E_NOMEM. Call gcb_evict_fini afterwards, even
 * after a failure. */
int gcb_evict_init(struct gcb_evict *e, const struct gcb_queue *queue, unsigned cpu_flags,
                   struct gcb_diag *diag);
/* Empties the caches. GCB_E_NOMEM: the first walk after flushes finds no memory for its buffer. */
int gcb_evict_run(struct gcb_evict *e, struct gcb_diag *diag);
void gcb_evict_fini(struct gcb_evict *e); /* a zeroed struct is fine */

#endif
