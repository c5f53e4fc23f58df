#ifndef KERNELS_REDUCE_REDUCE_ELEM_H
#define KERNELS_REDUCE_REDUCE_ELEM_H

/* The terms and the final tree of the project's sum of floats, and the plain versions of max_bits
 * and exponents (kernels/reduce/reduce.h). */
#include <stddef.h>

#include "kernels/base/hd.h"
#include "kernels/reduce/reduce.h"

/* The term that one element adds to its accumulator. */
typedef double gcb_reduce_term_fn(float x);

GCB_HD double gcb_reduce_plain(float x)
{
    return (double)x;
}

GCB_HD double gcb_reduce_abs(float x)
{
    return (double)gcb_float_of(gcb_magnitude(x));
}

/* x * x, exactly: 24 x 24 bits fit in 53, and the square's exponent is in the range of double. */
GCB_HD double gcb_reduce_square(float x)
{
    return (double)x * (double)x;
}

/* Joins the accumulators by the tree, in place. Returns the sum. */
GCB_HD double gcb_reduce_join(double acc[GCB_SUM_LANES])
{
    for (int half = GCB_SUM_LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            acc[j] += acc[j + half];
    return acc[0];
}

/* Adds the last n < GCB_SUM_LANES elements of a block; the first of them belongs to
 * accumulator 0. */
GCB_HD void gcb_reduce_tail(double acc[GCB_SUM_LANES], const float *x, size_t n,
                            gcb_reduce_term_fn *term)
{
    for (size_t j = 0; j < n; j++)
        acc[j] += term(x[j]);
}

/* The largest magnitude; 0 for n = 0. */
GCB_HD uint32_t gcb_reduce_max_bits(const float *x, size_t n)
{
    uint32_t max = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t m = gcb_magnitude(x[i]);

        max = m > max ? m : max;
    }
    return max;
}

/* Adds to count[e] the number of elements with the biased exponent e. Returns the largest
 * magnitude. */
GCB_HD uint32_t gcb_reduce_exponents(uint32_t count[256], const float *x, size_t n)
{
    uint32_t max = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t m = gcb_magnitude(x[i]);

        count[m >> 23]++;
        max = m > max ? m : max;
    }
    return max;
}

#endif
