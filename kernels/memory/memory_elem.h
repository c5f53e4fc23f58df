#ifndef KERNELS_MEMORY_MEMORY_ELEM_H
#define KERNELS_MEMORY_MEMORY_ELEM_H

#include "kernels/base/hd.h"

/* What a worker remembers of an element, step by step (src/lib/memory/memory.h): two roundings each, nowhere contracted. */

/* ef, demo: what is encoded of an element, from what was left and the gradient. */
GCB_HD float gcb_memory_carried(float carry, float left, float gradient)
{
    return carry * left + gradient;
}

#endif
