#ifndef KERNELS_BASE_AHEAD_H
#define KERNELS_BASE_AHEAD_H

#include <stdint.h>

/* Asks for the cache line that a tile of 4096 elements after x begins in. A codec makes several
 * passes over a tile in the first-level cache; the first pass over the next tile need not wait then.
 * The address may lie outside the array. */
static inline void gcb_ask_ahead(const float *x)
{
    __builtin_prefetch((const void *)((uintptr_t)x + 4096 * sizeof(float)));
}

#endif
