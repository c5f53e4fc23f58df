#ifndef KERNELS_HADAMARD_HADAMARD_ELEM_H
#define KERNELS_HADAMARD_HADAMARD_ELEM_H

/* One element's share of kernels/hadamard/hadamard.h, and of how a message is cut into transforms. */
#include "kernels/base/hd.h"

/* One butterfly: a float addition and a subtraction. */
GCB_HD void gcb_hadamard_pair(float *x, float *y)
{
    const float a = *x, b = *y;

    *x = a + b;
    *y = a - b;
}

/* x, or -x where minus is 1. */
GCB_HD float gcb_hadamard_flip(float x, uint32_t minus)
{
    return gcb_float_of(gcb_bits_of(x) ^ minus << 31);
}

/*
 * How many elements the transform has that element i < n belongs to: `length`, a power of two; but behind the last
 * whole one n's rest is cut into powers of two, largest first. Each begins at a multiple of its own length.
 */
GCB_HD uint64_t gcb_hadamard_piece(uint64_t n, uint64_t length, uint64_t i)
{
    uint64_t differ = i ^ n;

    if (i < (n & ~(length - 1)))
        return length;
    while (differ & (differ - 1)) /* the highest bit in which they differ is one of n's */
        differ &= differ - 1;
    return differ;
}

#endif
