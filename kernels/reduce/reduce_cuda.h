#ifndef KERNELS_REDUCE_REDUCE_CUDA_H
#define KERNELS_REDUCE_REDUCE_CUDA_H

#include "kernels/cuda/group.h"

/* Family `reduce` on the device (kernels/reduce/reduce.h). Functions return 0, GCB_E_NOMEM or
 * GCB_E_DEVICE. Elements and results are device memory. */
GCB_BEGIN_C

/* Raises result->max_bits to the largest sign-cleared bit pattern of x[0..n). x is aligned to 16
 * bytes. */
int gcb_cuda_max_bits(struct gcb_device_stream *s, const float *x, uint64_t n,
                      struct gcb_device_result *result);
/* Like gcb_cuda_max_bits, for each message of a group. The caller has filled grid 0 of the group's
 * table (cut_tiles) and queued the copy of the table. */
int gcb_cuda_max_bits_group(struct gcb_device_stream *s, const struct gcb_device_group *g);

GCB_END_C

#endif
