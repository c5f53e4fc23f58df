#ifndef KERNELS_BASE_AHEAD_H
#define KERNELS_BASE_AHEAD_H

#include <stdint.h>

/* Prefetches the cache line of x[4096]: the same place in the next tile of 4096 elements. A codec
 * makes several passes over a tile while the tile is in the first-level cache. After the prefetch,
 * the first pass over the next tile need not wait for memory. The address may lie outside the
 * array. */
static inline void gcb_prefetch_next_tile(const float *x)
{
    __builtin_prefetch((const void *)((uintptr_t)x + 4096 * sizeof(float)));
}

#endif
