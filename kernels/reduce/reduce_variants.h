#ifndef KERNELS_REDUCE_REDUCE_VARIANTS_H
#define KERNELS_REDUCE_REDUCE_VARIANTS_H

/* The variants gcb_reduce_init chooses from; nothing else includes this. */
#include "kernels/reduce/reduce.h"

gcb_reduce_max_bits_fn gcb_reduce_max_bits_avx2;
gcb_reduce_sum_fn gcb_reduce_sum_avx2;
gcb_reduce_sum_fn gcb_reduce_sum_abs_avx2;
gcb_reduce_sum_fn gcb_reduce_sum_sq_avx2;
gcb_reduce_exponents_fn gcb_reduce_exponents_avx2;

#endif
