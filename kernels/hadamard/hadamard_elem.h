#ifndef KERNELS_HADAMARD_HADAMARD_ELEM_H
#define KERNELS_HADAMARD_HADAMARD_ELEM_H

/* The arithmetic of kernels/hadamard/hadamard.h for one element, and how a message is cut into
 * transforms. */
#include "kernels/base/hd.h"

/* Does one butterfly: a float addition and a subtraction. */
GCB_HD void gcb_hadamard_pair(float *x, float *y)
{
    const float a = *x, b = *y;

    *x = a + b;
    *y = a - b;
}

/* -x if minus is 1, x if it is 0. */
GCB_HD float gcb_hadamard_flip(float x, uint32_t minus)
{
    return gcb_float_of(gcb_bits_of(x) ^ minus << 31);
}

/*
 * The length of the transform that element i < n belongs to. It is `length`, a power of two, except
 * in the rest of n after the last whole transform. The rest is cut into powers of two, largest
 * first. Each begins at a multiple of its own length.
 */
GCB_HD uint64_t gcb_hadamard_piece(uint64_t n, uint64_t length, uint64_t i)
{
    uint64_t differ = i ^ n;

    if (i < (n & ~(length - 1)))
        return length;
    while (differ & (differ - 1)) /* the highest bit in which i and n differ is set in n */
        differ &= differ - 1;
    return differ;
}

#endif
