#ifndef KERNELS_CONVERT_CONVERT_CUDA_H
#define KERNELS_CONVERT_CONVERT_CUDA_H

#include "kernels/cuda/group.h"
#include "kernels/slot/slot_cuda.h"

/*
 * Family `convert` on the device (kernels/convert/convert.h). Each call is one launch on the
 * stream, which reads every element once; with a residual, it reads x a second time. Each call
 * returns 0, GCB_E_NOMEM or GCB_E_DEVICE. Arrays and results are device memory; arrays are aligned
 * to 16 bytes.
 *
 * put:       writes the values as fp32, fp16 or bf16 bytes; sets result->length to the number of
 *            bytes and adds the number of saturated values to result->clamped. result may be NULL.
 * get:       the inverse of put.
 * put_group, get_group: like put and get, for a group of messages. They queue one copy of the
 *            group's table, then one launch.
 * sum:       writes the sum of messages (kernels/slot/slot_cuda.h).
 */
GCB_BEGIN_C

struct gcb_cuda_convert {
    uint64_t bytes; /* bytes of an element of the message */
    int (*put)(struct gcb_device_stream *s, uint8_t *out, const struct gcb_device_input *in,
               struct gcb_device_result *result);
    int (*get)(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n);
    int (*put_group)(struct gcb_device_stream *s, const struct gcb_device_group *g);
    int (*get_group)(struct gcb_device_stream *s, const struct gcb_device_group *g);
    int (*sum)(struct gcb_device_stream *s, float *out, uint64_t n,
               const struct gcb_cuda_payloads *p);
};

extern const struct gcb_cuda_convert gcb_cuda_fp32, gcb_cuda_fp16, gcb_cuda_bf16;

GCB_END_C

#endif
