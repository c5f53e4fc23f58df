#ifndef SRC_LIB_BASE_QUEUE_H
#define SRC_LIB_BASE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many threads a coder uses on the CPU. Threads exist only inside gcb_parallel. On a GPU a stream takes the place of
 * the queue (src/lib/codec/device.h).
 */
struct gcb_queue {
    int threads; /* at least 1 */
};

/*
 * Calls task(ctx, i) once for each i in [0, tasks), on up to queue->threads threads, and returns when all calls have
 * returned. No task may read or write what another task writes; then the result is the same for any number of threads.
 */
void gcb_parallel(const struct gcb_queue *queue, uint64_t tasks,
                  void (*task)(void *ctx, uint64_t i), void *ctx);

#endif
