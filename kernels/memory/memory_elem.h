#ifndef KERNELS_MEMORY_MEMORY_ELEM_H
#define KERNELS_MEMORY_MEMORY_ELEM_H

/* Arithmetic of the memory between steps, for one element (src/lib/memory/memory.h). A product and
 * a sum are rounded separately, never contracted. */
#include <math.h>

#include "kernels/base/hd.h"

/* ef, demo: the value to encode, from what was left and the gradient. */
GCB_HD float gcb_memory_carried(float carry, float left, float gradient)
{
    return carry * left + gradient;
}

/* ---- dgc and delay ---- */

/* Nesterov's rule, and the rule of that name in RedSync's algorithm 4, which adds the gradient once
 * more. */
enum gcb_nesterov { GCB_NESTEROV_NO, GCB_NESTEROV_YES, GCB_NESTEROV_REDSYNC };

/* gcb_memory_momentum: the new momentum. gcb_memory_accumulated: what is left to send after the
 * momentum was added. `nesterov` is an enum gcb_nesterov. */
GCB_HD float gcb_memory_momentum(float factor, float u, float x, int nesterov)
{
    return nesterov == GCB_NESTEROV_YES ? factor * (u + x) : factor * u + x;
}

GCB_HD float gcb_memory_accumulated(float left, float u, float x, int nesterov)
{
    if (nesterov == GCB_NESTEROV_REDSYNC)
        return left + u + x;
    return left + (nesterov == GCB_NESTEROV_YES ? u + x : u);
}

/* What is left of an element after a step. With `clears`, nothing if it was sent. */
GCB_HD float gcb_memory_remaining(float left, float sent, int clears)
{
    return clears && sent != 0.0f ? 0.0f : left - sent;
}

/* Momentum is reset where something was sent. */
GCB_HD float gcb_memory_masked(float u, float sent)
{
    return sent != 0.0f ? 0.0f : u;
}

/* The factor that limits gradients with this norm to `limit`. */
GCB_HD double gcb_memory_clip_norm(double norm, double limit)
{
    return norm > limit ? limit / norm : 1.0;
}

/* The same for gradients with this sum of squares. */
GCB_HD double gcb_memory_clip(double sum_sq, double limit)
{
    return gcb_memory_clip_norm(sqrt(sum_sq), limit);
}

#endif
