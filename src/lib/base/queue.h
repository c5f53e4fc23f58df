#ifndef SRC_LIB_BASE_QUEUE_H
#define SRC_LIB_BASE_QUEUE_H

#include <stdint.h>

/* The largest number of threads that a caller may ask for. */
#define GCB_THREADS_MOST 256

/* How many threads may work on one call of gcb_parallel, including the calling thread. On a device,
 * coders use a stream instead (src/lib/codec/device.h). */
struct gcb_queue {
    int threads; /* 1 to GCB_THREADS_MOST */
};

/*
 * Calls task(ctx, i) once for each i in [0, tasks), on up to queue->threads threads, and returns
 * when all calls have returned. No task may read or write what another task writes, except by
 * atomic operations whose order does not matter (sums of integers, maxima, flags). So the result is
 * the same for any number of threads. A task may call gcb_parallel itself, but not fork.
 *
 * The calling thread works too. The other threads are started when they are first needed, and kept:
 * all callers in the process share them. If a thread cannot be started, the others do its work, so
 * nothing fails. These threads block all signals.
 */
void gcb_parallel(const struct gcb_queue *queue, uint64_t tasks,
                  void (*task)(void *ctx, uint64_t i), void *ctx);

#endif
