#ifndef KERNELS_BASE_ACCUMULATE_ELEM_H
#define KERNELS_BASE_ACCUMULATE_ELEM_H

#include "kernels/base/hd.h"

/* Returns acc + weight * x. The product and the sum are rounded separately, never contracted. */
GCB_HD float gcb_accumulated(float acc, float x, float weight)
{
    return acc + weight * x;
}

#endif
