#ifndef KERNELS_RANGE_RANGE_CUDA_H
#define KERNELS_RANGE_RANGE_CUDA_H

#include "kernels/cuda/group.h"
#include "kernels/range/range_choose.h"
#include "kernels/slot/slot_cuda.h"

/*
 * Range floats on the device (kernels/range/range_choose.h, range_elem.h): the payload of the
 * `range` codec. If max and mantissa are given, encoding is one launch that reads each element
 * once. Otherwise two more launches and one more read come first, to choose what is not given.
 * Functions return 0, GCB_E_NOMEM or GCB_E_DEVICE. Payloads, tensors, scratch and results are
 * device memory; x is aligned to 16 bytes.
 */
GCB_BEGIN_C

struct gcb_cuda_range {
    unsigned bits;     /* 2..16 */
    unsigned mantissa; /* 0: chosen from the data */
    int max_given;     /* 0: the maximum is taken from the data; 1: the maximum is `max` */
    float max;
    enum gcb_range_rounding rounding;
};

#define GCB_CUDA_RANGE_HEAD 5 /* bytes: the topmost value (float32) and the mantissa width */

/* Bytes of scratch for encoding n elements. The scratch is aligned to 16 bytes, and may be
 * NULL if the number is 0. */
uint64_t gcb_cuda_range_scratch(const struct gcb_cuda_range *how, uint64_t n);

/* Writes the head and the codes to `out`, GCB_CUDA_RANGE_HEAD + (in->n * bits + 7) / 8 bytes, and,
 * if in->residual is not NULL, the new residual. Sets result->length, adds to result->clamped and,
 * if max comes from the data, raises result->max_bits to the bits of the largest magnitude. */
int gcb_cuda_range_encode(struct gcb_device_stream *s, uint8_t *out,
                          const struct gcb_device_input *in, const struct gcb_cuda_range *how,
                          void *scratch, struct gcb_device_result *result);

/* Does the inverse of gcb_cuda_range_encode, in one launch. `in` is the whole payload of n
 * elements. If the head is not a valid format, sets result->status to GCB_E_CORRUPT and leaves
 * `out` as it was. */
int gcb_cuda_range_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                          unsigned bits, struct gcb_device_result *result);
/* Computes the sum of messages of n elements (kernels/slot/slot_cuda.h), in one launch. */
int gcb_cuda_range_sum(struct gcb_device_stream *s, float *out, uint64_t n, unsigned bits,
                       const struct gcb_cuda_payloads *p);

/* Like gcb_cuda_range_encode and gcb_cuda_range_decode, for a group of messages. Each call takes
 * one copy of the group's table, then as many launches as for one message. */
int gcb_cuda_range_encode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                const struct gcb_cuda_range *how);
int gcb_cuda_range_decode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                unsigned bits);

GCB_END_C

#endif
