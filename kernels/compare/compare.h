#ifndef KERNELS_COMPARE_COMPARE_H
#define KERNELS_COMPARE_COMPARE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Family `compare`: all sums and counts that the error metrics need, from one read of the input x
 * and the decoded y. Sums follow the project's block rule (kernels/reduce/reduce.h): n is at most
 * GCB_SUM_BLOCK, and the caller adds blocks in index order. Every variant is bit-exact.
 *
 * With d = (double)x[i] - (double)y[i]:
 *   xx, yy, xy  block sums of x*x, y*y, x*y (formed in double, each product exact)
 *   dd, d       block sums of d*d and of d (d and d*d rounded to double)
 *   max_abs     largest |d|
 *   same_sign   elements for which both are zero (of either sign), both positive, or both negative
 *   zeros       elements with x == 0 (either sign)
 *   zeros_kept  elements with x == 0 and y == 0
 * x and y are finite. A call overwrites *out; for n = 0 every field is zero.
 */
struct gcb_compare {
    double xx, yy, xy, dd, d;
    double max_abs;
    uint64_t same_sign, zeros, zeros_kept;
};

typedef void gcb_compare_fn(struct gcb_compare *out, const float *x, const float *y, size_t n);

struct gcb_compare_fns {
    gcb_compare_fn *block;
};

void gcb_compare_init(struct gcb_compare_fns *fns, unsigned cpu_flags);

/* The variants of these functions. Only the files of this family use these names. */
gcb_compare_fn gcb_compare_block_avx2;
gcb_compare_fn gcb_compare_block_avx512;

#endif
