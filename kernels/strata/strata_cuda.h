#ifndef KERNELS_STRATA_STRATA_CUDA_H
#define KERNELS_STRATA_STRATA_CUDA_H

#include "kernels/cuda/stream.h"
#include "kernels/strata/strata_elem.h"

/*
 * Reads and writes the random places of randomk on the device (kernels/strata/strata_elem.h).
 * Values are floats in the order of the strata. A payload has a key (8 bytes), then where->k
 * values. Encode and keep use the key of *where (gcb_strata_set_key); decode and add use the
 * payload's key. Arrays are device memory, aligned to 16 bytes. Each function takes one launch
 * unless its comment says otherwise, and returns 0, GCB_E_NOMEM or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* Writes a payload whose values are factor * x at the places, and sets result->length. If a value
 * is not finite, result->status becomes GCB_E_SEND_RAW. */
int gcb_cuda_strata_encode(struct gcb_device_stream *s, uint8_t *payload, const float *x,
                           const struct gcb_strata *where, float factor,
                           struct gcb_device_result *result);
/* Writes the values of a payload to their places, and 0 to all other elements of `out`. If a value
 * is not finite, result->status becomes GCB_E_CORRUPT, and `out` is unspecified. Takes two
 * launches. */
int gcb_cuda_strata_decode(struct gcb_device_stream *s, float *out, const uint8_t *payload,
                           const struct gcb_strata *where, struct gcb_device_result *result);
/* Writes factor * x at the places, and 0 to all other elements of `out`; does not check the values.
 * x and out do not overlap. Takes two launches. */
int gcb_cuda_strata_keep(struct gcb_device_stream *s, float *out, const float *x,
                         const struct gcb_strata *where, float factor);

/* Adds weight * value to acc at the places of a payload. If a value is not finite, result->status
 * becomes GCB_E_CORRUPT and nothing is added. Takes two launches. */
int gcb_cuda_strata_add(struct gcb_device_stream *s, float *acc, const uint8_t *payload,
                        const struct gcb_strata *where, float weight,
                        struct gcb_device_result *result);

GCB_END_C

#endif
