#include "src/lib/base/queue.h"

void gcb_parallel(const struct gcb_queue *queue, uint64_t tasks,
                  void (*task)(void *ctx, uint64_t i), void *ctx)
{
    if (queue->threads <= 1 || tasks <= 1) {
        for (uint64_t i = 0; i < tasks; i++)
            task(ctx, i);
        return;
    }
#pragma omp parallel for num_threads(queue->threads) schedule(dynamic)
    for (uint64_t i = 0; i < tasks; i++)
        task(ctx, i);
}
