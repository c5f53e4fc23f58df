#ifndef KERNELS_RANGE_RANGE_CUDA_H
#define KERNELS_RANGE_RANGE_CUDA_H

#include <stddef.h>

#include "kernels/cuda/group.h"
#include "kernels/range/range_choose.h"

/*
 * Range floats on the device (kernels/range/range_choose.h, range_elem.h): the payload of the `range` codec. One
 * launch that reads each element once where both max and mantissa are given; else two more in front, and one more
 * read, that find what is open. 0 or GCB_E_DEVICE; all pointers but `how` are device memory, x aligned to 16.
 */
#ifdef __cplusplus
extern "C" {
#endif

struct gcb_cuda_range {
    unsigned bits;     /* 2..16 */
    unsigned mantissa; /* 0: from the data */
    int max_given;     /* 0: from the data */
    float max;         /* where it is given */
    enum gcb_range_rounding rounding;
};

#define GCB_CUDA_RANGE_HEAD 5 /* bytes: the topmost value (float32), the mantissa width */

/* Scratch that encoding n elements needs. */
uint64_t gcb_cuda_range_scratch(const struct gcb_cuda_range *how, uint64_t n);

/* Writes head and codes; sets result->length and, where max came of the data, max_bits; adds to clamped. */
int gcb_cuda_range_encode(struct gcb_device_stream *s, uint8_t *out,
                          const struct gcb_device_input *in, const struct gcb_cuda_range *how,
                          void *scratch, struct gcb_device_result *result);

/* A head that no encoder writes makes result->status GCB_E_CORRUPT, and `out` unspecified. */
int gcb_cuda_range_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                          unsigned bits, struct gcb_device_result *result);

/* The same of a group: as many launches as one message takes, behind the copy of its table. */
int gcb_cuda_range_encode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                const struct gcb_cuda_range *how);
int gcb_cuda_range_decode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                unsigned bits);

#ifdef __cplusplus
}
#endif

#endif
