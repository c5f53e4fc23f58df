#ifndef SRC_LIB_BASE_QUEUE_H
#define SRC_LIB_BASE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where a coder's work runs. On the CPU: a number of threads, which live inside gcb_parallel and
 * nowhere else. (On a GPU the queue is a stream; see src/lib/codec/device.h.)
 */
struct gcb_queue {
    int threads; /* at least 1 */
};

/*
 * Calls task(ctx, i) once for each i in 0..tasks, on up to queue->threads threads, and returns when all
 * are done. Tasks must not depend on their order: what they write is theirs alone, so the result is the
 * same for any number of threads.
 */
void gcb_parallel(const struct gcb_queue *queue, uint64_t tasks,
                  void (*task)(void *ctx, uint64_t i), void *ctx);

#endif
