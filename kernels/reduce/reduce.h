#ifndef KERNELS_REDUCE_REDUCE_H
#define KERNELS_REDUCE_REDUCE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Family `reduce`: maxima, counts and sums of an array of floats. Every variant is bit-exact. (A
 * sum over infinities or NaNs is an infinity or a NaN everywhere, but which NaN is not promised.)
 *
 * Sum of floats, the rule of the whole project: an array is cut into blocks of GCB_SUM_BLOCK
 * elements. Within a block, element i is added to double accumulator i mod GCB_SUM_LANES, in order
 * of i. The accumulators are joined by a fixed binary tree: a[j] += a[j + 16] for j < 16, then the
 * same with 8, 4, 2 and 1; a[0] is the block's sum. The caller adds the sums of blocks in index
 * order, starting from 0.0. An element that a sum leaves out adds +0.0. Squares and products are
 * computed in double from the floats, exactly.
 *
 * max_bits:  the largest sign-cleared bit pattern of x[0..n); 0 for n = 0. A result of
 *            GCB_INF_BITS or more means that the array contains an infinity or a NaN. Any n.
 * sum:       block sum of x[i].           n <= GCB_SUM_BLOCK.
 * sum_abs:   block sum of |x[i]|.         n <= GCB_SUM_BLOCK.
 * sum_sq:    block sum of x[i] * x[i].    n <= GCB_SUM_BLOCK.
 * exponents: count[e] += number of x[i] whose biased exponent (bits 23..30) is e; returns what
 *            max_bits returns. Reads x once. Any n < 2^32.
 */
#define GCB_SUM_BLOCK 4096
#define GCB_SUM_LANES 32

typedef uint32_t gcb_reduce_max_bits_fn(const float *x, size_t n);
typedef double gcb_reduce_sum_fn(const float *x, size_t n);
typedef uint32_t gcb_reduce_exponents_fn(uint32_t count[256], const float *x, size_t n);

struct gcb_reduce_fns {
    gcb_reduce_max_bits_fn *max_bits;
    gcb_reduce_sum_fn *sum;
    gcb_reduce_sum_fn *sum_abs;
    gcb_reduce_sum_fn *sum_sq;
    gcb_reduce_exponents_fn *exponents;
};

void gcb_reduce_init(struct gcb_reduce_fns *fns, unsigned cpu_flags);

/* The variants of these functions. Only the files of this family use these names. */
gcb_reduce_max_bits_fn gcb_reduce_max_bits_avx2;
gcb_reduce_sum_fn gcb_reduce_sum_avx2;
gcb_reduce_sum_fn gcb_reduce_sum_abs_avx2;
gcb_reduce_sum_fn gcb_reduce_sum_sq_avx2;
gcb_reduce_exponents_fn gcb_reduce_exponents_avx2;

/* Computes one of the three sums for any n, block by block in index order. 0.0 for n = 0. */
double gcb_reduce_blocks(gcb_reduce_sum_fn *block_sum, const float *x, size_t n);

#endif
