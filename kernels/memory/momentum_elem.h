#ifndef KERNELS_MEMORY_MOMENTUM_ELEM_H
#define KERNELS_MEMORY_MOMENTUM_ELEM_H

/* What dgc and delay remember of an element beside what has not been sent (src/lib/memory/memory.h). No product is contracted
 * with a sum. */
#include <math.h>

#include "kernels/base/hd.h"

/* The new momentum; and what Nesterov's adds to it where it accumulates. */
GCB_HD float gcb_memory_momentum(float factor, float u, float x, int nesterov)
{
    return nesterov ? factor * (u + x) : factor * u + x;
}

GCB_HD float gcb_memory_accumulated(float left, float u, float x, int nesterov)
{
    return left + (nesterov ? u + x : u);
}

/* Momentum is forgotten where something was sent. */
GCB_HD float gcb_memory_masked(float u, float sent)
{
    return sent != 0.0f ? 0.0f : u;
}

/* What brings gradients with this sum of squares to a norm of `limit`, where they are above it. */
GCB_HD double gcb_memory_clip(double sum_sq, double limit)
{
    const double norm = sqrt(sum_sq);

    return norm > limit ? limit / norm : 1.0;
}

#endif
