#ifndef KERNELS_MEMORY_MEMORY_ELEM_H
#define KERNELS_MEMORY_MEMORY_ELEM_H

/* Arithmetic of the memory between steps, for one element (src/lib/memory/memory.h). A product and
 * a sum are rounded separately, never contracted. */
#include "kernels/base/hd.h"

/* The value to encode for memories ef, demo and loco, from what was left and the gradient. */
GCB_HD float gcb_memory_carried(float carry, float left, float gradient)
{
    return carry * left + gradient;
}

/* ---- momentum, masking and clipping ---- */

/* Which Nesterov momentum a memory uses: none, the usual rule, or the rule of RedSync's algorithm
 * 4, which adds the gradient once more. */
enum gcb_nesterov { GCB_NESTEROV_NO, GCB_NESTEROV_YES, GCB_NESTEROV_REDSYNC };

/* The new momentum, from the momentum u and the gradient x. For the memory gmc, u is the last
 * update, and the caller adds the result to what is left. `nesterov` is an enum gcb_nesterov. */
GCB_HD float gcb_memory_momentum(float factor, float u, float x, int nesterov)
{
    return nesterov == GCB_NESTEROV_YES ? factor * (u + x) : factor * u + x;
}

/* What is left to send, from what was left before, the new momentum u and the gradient x. */
GCB_HD float gcb_memory_accumulated(float left, float u, float x, int nesterov)
{
    if (nesterov == GCB_NESTEROV_REDSYNC)
        return left + u + x;
    return left + (nesterov == GCB_NESTEROV_YES ? u + x : u);
}

/* What is left of an element after `sent` was sent; if `clears`, 0 unless `sent` is 0. */
GCB_HD float gcb_memory_remaining(float left, float sent, int clears)
{
    return clears && sent != 0.0f ? 0.0f : left - sent;
}

/* An element's momentum after a step that sent `sent` of it: 0 unless `sent` is 0. */
GCB_HD float gcb_memory_masked(float u, float sent)
{
    return sent != 0.0f ? 0.0f : u;
}

/* The factor that limits the norm of gradients to `limit`; `norm` is their norm. */
GCB_HD double gcb_memory_clip_norm(double norm, double limit)
{
    return norm > limit ? limit / norm : 1.0;
}

#endif
