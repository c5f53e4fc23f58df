#ifndef KERNELS_COMPARE_COMPARE_CUDA_H
#define KERNELS_COMPARE_COMPARE_CUDA_H

#include "kernels/compare/compare.h"
#include "kernels/cuda/stream.h"

/*
 * Family `compare` on the device (kernels/compare/compare.h), over a whole tensor. Blocks of
 * GCB_SUM_BLOCK elements are summed by the project's rule and added in index order from 0. A pair
 * whose x is infinite or NaN is left out of all sums and counts of `sums`. `nonfinite` counts these
 * pairs; `nonfinite_kept` counts those of them whose y has the same bits as x.
 */
struct gcb_cuda_comparison {
    struct gcb_compare sums;
    uint64_t nonfinite, nonfinite_kept;
};

GCB_BEGIN_C

/* Bytes of scratch to compare n elements; the scratch is aligned to 16 bytes. */
uint64_t gcb_cuda_compare_scratch(uint64_t n);

/* Fills *out. All pointers are device memory. Takes two launches and reads each element of x and y
 * once. Returns 0, GCB_E_NOMEM or GCB_E_DEVICE. */
int gcb_cuda_compare(struct gcb_device_stream *s, struct gcb_cuda_comparison *out, const float *x,
                     const float *y, uint64_t n, void *scratch);

GCB_END_C

#endif
