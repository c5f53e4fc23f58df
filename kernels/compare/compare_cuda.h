#ifndef KERNELS_COMPARE_COMPARE_CUDA_H
#define KERNELS_COMPARE_COMPARE_CUDA_H

#include "kernels/cuda/stream.h"

/*
 * Family `compare` on the device (kernels/compare/compare.h), over a whole tensor: blocks of GCB_SUM_BLOCK
 * by the project's rule, added in index order from 0. An element where x is an infinity or NaN takes no part in
 * sums and counts; such ones are counted, and those that y has bit for bit.
 */
struct gcb_cuda_comparison {
    double xx, yy, xy, dd, d;
    double max_abs;
    uint64_t same_sign, zeros, zeros_kept;
    uint64_t nonfinite, nonfinite_kept;
};

#ifdef __cplusplus
extern "C" {
#endif

uint64_t gcb_cuda_compare_scratch(uint64_t n);

/* Fills *out, which is device memory as the rest is. Two launches; each element of both is read once. 0 or
 * GCB_E_DEVICE. */
int gcb_cuda_compare(struct gcb_device_stream *s, struct gcb_cuda_comparison *out, const float *x,
                     const float *y, uint64_t n, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
