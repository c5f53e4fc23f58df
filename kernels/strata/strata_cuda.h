#ifndef KERNELS_STRATA_STRATA_CUDA_H
#define KERNELS_STRATA_STRATA_CUDA_H

#include "kernels/cuda/stream.h"
#include "kernels/strata/strata_elem.h"

/*
 * Random places on the device (kernels/strata/strata_elem.h): what randomk reads and writes. Values
 * are floats in the order of the strata. `payload` has a key (8 bytes), then values. Arrays are
 * device memory, aligned to 16. Each function takes one launch unless it says more, and returns 0
 * or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* Writes a payload of factor * x, and sets result->length. If a value is infinite, result->status
 * becomes GCB_E_SEND_RAW, here and below. */
int gcb_cuda_strata_encode(struct gcb_device_stream *s, uint8_t *payload, const float *x,
                           const struct gcb_strata *where, float factor,
                           struct gcb_device_result *result);
/* Writes values only: weight * (factor * x). */
int gcb_cuda_strata_gather(struct gcb_device_stream *s, float *values, const float *x,
                           const struct gcb_strata *where, float factor, float weight,
                           struct gcb_device_result *result);

/* `out` becomes 0 except at the places. With the places of *where, or those of a payload's key,
 * whose values must be finite: otherwise result->status becomes GCB_E_CORRUPT, and `out` is
 * unspecified. Take two launches; one if there are no places. */
int gcb_cuda_strata_scatter(struct gcb_device_stream *s, float *out, const float *values,
                            const struct gcb_strata *where);
int gcb_cuda_strata_decode(struct gcb_device_stream *s, float *out, const uint8_t *payload,
                           const struct gcb_strata *where, struct gcb_device_result *result);
/* The same with the elements of x, times the factor, as values. */
int gcb_cuda_strata_keep(struct gcb_device_stream *s, float *out, const float *x,
                         const struct gcb_strata *where, float factor);

/* acc += weight * value at the places of a payload, unless a value is not finite: then the status
 * becomes GCB_E_CORRUPT and nothing is added. Takes two launches. */
int gcb_cuda_strata_add(struct gcb_device_stream *s, float *acc, const uint8_t *payload,
                        const struct gcb_strata *where, float weight,
                        struct gcb_device_result *result);

GCB_END_C

#endif
