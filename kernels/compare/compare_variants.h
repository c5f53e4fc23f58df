#ifndef KERNELS_COMPARE_COMPARE_VARIANTS_H
#define KERNELS_COMPARE_COMPARE_VARIANTS_H

/* The variants gcb_compare_init chooses from; nothing else includes this. */
#include "kernels/compare/compare.h"

gcb_compare_fn gcb_compare_block_avx2;
gcb_compare_fn gcb_compare_block_avx512;

#endif
