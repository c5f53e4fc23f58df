#ifndef KERNELS_INDEX_INDEX_CUDA_H
#define KERNELS_INDEX_INDEX_CUDA_H

#include "kernels/select/values_cuda.h"

/*
 * Positions of the sparse codec on the device, in the formats of src/lib/sparse/index_*.c: two
 * launchers for each coder. They return 0 or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* Writes the positions after the values, and sets result->length to the payload's length. */
typedef int gcb_cuda_put_index_fn(struct gcb_device_stream *s, uint8_t *out,
                                  const struct gcb_cuda_chosen *chosen,
                                  const struct gcb_cuda_values *how, void *scratch,
                                  struct gcb_device_result *result);

/*
 * Reads f->head->kept positions (0 if the payload is damaged or keeps none). They begin at
 * f->head->index of the payload and must end at the payload's end. Fills f->pos and f->first.
 * Whatever the bytes are, nothing outside the payload and the scratch is accessed. Damage sets the
 * status, and leaves both arrays unspecified.
 */
typedef int gcb_cuda_get_index_fn(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
                                  const struct gcb_cuda_decoding *f,
                                  struct gcb_device_result *result);

gcb_cuda_put_index_fn gcb_cuda_put_u32, gcb_cuda_put_bitmap;
gcb_cuda_get_index_fn gcb_cuda_get_u32, gcb_cuda_get_bitmap;

/* These coders get as much scratch as the functions below ask for, aligned to 16. */
gcb_cuda_put_index_fn gcb_cuda_put_varint, gcb_cuda_put_golomb, gcb_cuda_put_adaptive,
    gcb_cuda_put_eliasfano, gcb_cuda_put_block;
gcb_cuda_get_index_fn gcb_cuda_get_varint, gcb_cuda_get_golomb, gcb_cuda_get_adaptive,
    gcb_cuda_get_eliasfano, gcb_cuda_get_block;
uint64_t gcb_cuda_put_stream_scratch(uint64_t n, uint64_t most); /* varint, golomb, elias-fano */
uint64_t gcb_cuda_put_adaptive_scratch(uint64_t n, uint64_t most);
uint64_t gcb_cuda_get_gaps_scratch(uint64_t n); /* golomb, adaptive */
uint64_t gcb_cuda_get_block_scratch(uint64_t n);

GCB_END_C

#endif
