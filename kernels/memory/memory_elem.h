#ifndef KERNELS_MEMORY_MEMORY_ELEM_H
#define KERNELS_MEMORY_MEMORY_ELEM_H

#include "kernels/base/hd.h"

/* Arithmetic of the memory between steps, for one element (src/lib/memory/memory.h). A product and
 * a sum are rounded separately, never contracted. */

/* ef, demo: the value to encode, from what was left and the gradient. */
GCB_HD float gcb_memory_carried(float carry, float left, float gradient)
{
    return carry * left + gradient;
}

#endif
