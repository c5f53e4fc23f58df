#ifndef KERNELS_BLOCK_BLOCKS_CUDA_H
#define KERNELS_BLOCK_BLOCKS_CUDA_H

#include "kernels/block/block_elem.h"
#include "kernels/block/book_elem.h"
#include "kernels/dither/dither_cuda.h"

/*
 * Encodes, decodes and sums on the device the payloads of `float`, `affine` and `codebook`
 * (src/lib/codec/blocks.h). Also encodes those of `fp16` and `bf16` with stochastic rounding.
 * Functions return 0, GCB_E_NOMEM or GCB_E_DEVICE. Encoding takes one launch and reads each element
 * once; with a tensor's scale it takes two launches and two reads, with means of bins five launches
 * and two reads. A residual costs one more read. Decoding and sums take one launch. Payloads,
 * arrays, scratch and results are device memory; x is aligned to 16 bytes.
 */
GCB_BEGIN_C

enum gcb_cuda_block_kind { GCB_CUDA_FLOATS, GCB_CUDA_INTEGERS, GCB_CUDA_DYNAMIC, GCB_CUDA_BINS };

struct gcb_cuda_blocks {
    struct gcb_philox_keys keys;       /* made from the seed */
    struct gcb_scaling scaling;        /* small floats */
    unsigned width, head, scale, log2; /* as in struct gcb_blocks */
    uint32_t too_much;                 /* pattern of the least magnitude that is sent raw */
    int drawn;                         /* codes are rounded stochastically */
    enum gcb_cuda_block_kind kind;
    int minimum; /* integers: offset=minimum */
    int divides; /* small floats: values are divided by their scale */
    float top;   /* integers: the largest code */
};

/* Bytes of scratch that encoding a message needs; the scratch is aligned to 16 bytes. */
uint64_t gcb_cuda_blocks_scratch(const struct gcb_cuda_blocks *how, uint64_t n);
/* Writes the payload, with draws from `stream` if codes are drawn. Sets result->length and adds to
 * clamped. Sets the status to GCB_E_SEND_RAW if a magnitude is at least too_much or, for means of
 * bins, if the sum of squares is at least GCB_BINS_MOST. With a tensor's scale, raises max_bits to
 * the largest magnitude; without it, `result` may be NULL. */
int gcb_cuda_blocks_encode(struct gcb_device_stream *s, uint8_t *out,
                           const struct gcb_device_input *in, const struct gcb_cuda_blocks *how,
                           uint64_t stream, void *scratch, struct gcb_device_result *result);
/* Sets result->status to GCB_E_CORRUPT if a scale, a value of the book or a code is invalid; `out`
 * is then unspecified. */
int gcb_cuda_blocks_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                           const struct gcb_cuda_blocks *how, struct gcb_device_result *result);
/* Writes the sum of messages of n elements each (kernels/slot/slot_cuda.h). */
int gcb_cuda_blocks_sum(struct gcb_device_stream *s, float *out, uint64_t n,
                        const struct gcb_cuda_blocks *how, const struct gcb_cuda_payloads *p);
/* Encode or decode a group of messages as above, after one copy of the group's table. */
int gcb_cuda_blocks_encode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                 const struct gcb_cuda_blocks *how);
int gcb_cuda_blocks_decode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                 const struct gcb_cuda_blocks *how);

GCB_END_C

#endif
