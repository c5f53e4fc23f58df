#ifndef KERNELS_BASE_AHEAD_H
#define KERNELS_BASE_AHEAD_H

#include <stdint.h>

/* Prefetches x[4096]: the same place in the next tile of 4096 elements. A codec makes several
 * passes over a tile in the first-level cache; its first pass over the next tile need not wait for
 * memory then. The address may lie outside the array. */
static inline void gcb_prefetch_next_tile(const float *x)
{
    __builtin_prefetch((const void *)((uintptr_t)x + 4096 * sizeof(float)));
}

#endif
