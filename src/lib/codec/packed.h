#ifndef SRC_LIB_CODEC_PACKED_H
#define SRC_LIB_CODEC_PACKED_H

#include "src/lib/codec/codec.h"

/* Fixed-width codes in a payload (kernels/bitpack/bitpack.h). */

/* Bytes of `count` codes; count < 2^56, width <= 16. */
static inline uint64_t gcb_packed_bytes(uint64_t count, unsigned width)
{
    return (count * width + 7) / 8;
}

/* Order-0 entropy of the codes, over all of them. 0 or GCB_E_NOMEM. */
int gcb_packed_entropy(double *bits, const uint8_t *packed, uint64_t count, unsigned width,
                       const struct gcb_kernels *kernels);

/*
 * Dense codecs hand their work to threads in spans: long enough to hide a thread's start, a multiple of
 * GCB_TILE and of 8, so that every span begins at a whole byte and at a whole sum block.
 */
#define GCB_SPAN ((uint64_t)1 << 18)
uint64_t gcb_span_count(uint64_t count);
/* Elements of span i of `count` elements. */
uint64_t gcb_span_length(uint64_t count, uint64_t i);

#endif
