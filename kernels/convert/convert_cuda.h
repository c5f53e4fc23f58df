#ifndef KERNELS_CONVERT_CONVERT_CUDA_H
#define KERNELS_CONVERT_CONVERT_CUDA_H

#include "kernels/cuda/group.h"

/*
 * Family `convert` on the device (kernels/convert/convert.h): each call is one launch, reads every element once
 * and queues its work on the stream. 0 or GCB_E_DEVICE. All pointers are device memory, arrays aligned to 16.
 *
 * put: writes the values as fp32, fp16 or bf16 bytes; result->length = bytes, result->clamped += values that
 *      saturated. result may be NULL.
 * get: the inverse.
 */
#ifdef __cplusplus
extern "C" {
#endif

int gcb_cuda_put_fp32(struct gcb_device_stream *s, uint8_t *out, const struct gcb_device_input *in,
                      struct gcb_device_result *result);
int gcb_cuda_put_fp16(struct gcb_device_stream *s, uint8_t *out, const struct gcb_device_input *in,
                      struct gcb_device_result *result);
int gcb_cuda_put_bf16(struct gcb_device_stream *s, uint8_t *out, const struct gcb_device_input *in,
                      struct gcb_device_result *result);
int gcb_cuda_get_fp32(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n);
int gcb_cuda_get_fp16(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n);
int gcb_cuda_get_bf16(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n);

/* The same of a group, in one launch behind the copy of its table. */
int gcb_cuda_put_fp32_group(struct gcb_device_stream *s, const struct gcb_device_group *g);
int gcb_cuda_put_fp16_group(struct gcb_device_stream *s, const struct gcb_device_group *g);
int gcb_cuda_put_bf16_group(struct gcb_device_stream *s, const struct gcb_device_group *g);
int gcb_cuda_get_fp32_group(struct gcb_device_stream *s, const struct gcb_device_group *g);
int gcb_cuda_get_fp16_group(struct gcb_device_stream *s, const struct gcb_device_group *g);
int gcb_cuda_get_bf16_group(struct gcb_device_stream *s, const struct gcb_device_group *g);

#ifdef __cplusplus
}
#endif

#endif
