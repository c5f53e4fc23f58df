#ifndef KERNELS_ACCUMULATE_ACCUMULATE_CUDA_H
#define KERNELS_ACCUMULATE_ACCUMULATE_CUDA_H

#include "kernels/select/values_cuda.h"

/*
 * Sums of messages on the device. The arithmetic is the CPU's
 * (kernels/base/accumulate_elem.h), so a sum has the same bits on both.
 */
GCB_BEGIN_C

/* Adds the entries of a payload without a transform to acc, each times the weight. Only the floats
 * of kept positions are read and written, and none if result->status is not 0: then the message was
 * found to be damaged. Arrays are device memory. Returns 0, GCB_E_NOMEM or GCB_E_DEVICE. */
int gcb_cuda_accumulate_entries(struct gcb_device_stream *s, float *acc,
                                const struct gcb_cuda_entries *kept, float weight,
                                const struct gcb_device_result *result);

GCB_END_C

#endif
