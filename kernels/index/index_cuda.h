#ifndef KERNELS_INDEX_INDEX_CUDA_H
#define KERNELS_INDEX_INDEX_CUDA_H

#include "kernels/select/values_cuda.h"

/*
 * Writes and reads the positions of the sparse codec on the device, in formats of
 * src/lib/sparse/index_*.c. There are two launchers for each format that the device has. They
 * return 0, GCB_E_NOMEM or GCB_E_DEVICE.
 */
GCB_BEGIN_C

/* Writes the positions after the values in the payload `out`, and sets result->length to the
 * payload's length. Writes none if no position is kept. */
typedef int gcb_cuda_put_index_fn(struct gcb_device_stream *s, uint8_t *out,
                                  const struct gcb_cuda_chosen *chosen,
                                  const struct gcb_cuda_values *how, void *scratch,
                                  struct gcb_device_result *result);

/*
 * Reads f->head->kept positions; this number is 0 if the payload is damaged or keeps none. The
 * positions begin at byte f->head->index of the payload and must fill the rest of it. Fills f->pos
 * and f->first. Whatever the bytes are, reads nothing after the payload, and writes nothing except
 * these arrays, *f->head, f->scratch and *result. If the bytes are damaged, sets result->status to
 * GCB_E_CORRUPT, marks *f->head (values_cuda.h), and leaves both arrays unspecified.
 */
typedef int gcb_cuda_get_index_fn(struct gcb_device_stream *s, const struct gcb_cuda_payload *p,
                                  const struct gcb_cuda_decoding *f,
                                  struct gcb_device_result *result);

gcb_cuda_put_index_fn gcb_cuda_put_u32, gcb_cuda_put_bitmap;
gcb_cuda_get_index_fn gcb_cuda_get_u32, gcb_cuda_get_bitmap;

/* These launchers get as many bytes of scratch as the functions below return, aligned to 16 bytes.
 * For a format without such a function the scratch may be NULL. `most` is the most positions kept
 * of n. */
gcb_cuda_put_index_fn gcb_cuda_put_varint, gcb_cuda_put_golomb, gcb_cuda_put_adaptive,
    gcb_cuda_put_eliasfano, gcb_cuda_put_block;
gcb_cuda_get_index_fn gcb_cuda_get_varint, gcb_cuda_get_golomb, gcb_cuda_get_adaptive,
    gcb_cuda_get_eliasfano, gcb_cuda_get_block;
uint64_t gcb_cuda_put_stream_scratch(uint64_t n, uint64_t most); /* varint, golomb, eliasfano */
uint64_t gcb_cuda_put_adaptive_scratch(uint64_t n, uint64_t most);
uint64_t gcb_cuda_get_gaps_scratch(uint64_t n); /* golomb, adaptive */
uint64_t gcb_cuda_get_block_scratch(uint64_t n);

GCB_END_C

#endif
