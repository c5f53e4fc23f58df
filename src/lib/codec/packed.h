#ifndef SRC_LIB_CODEC_PACKED_H
#define SRC_LIB_CODEC_PACKED_H

#include "src/lib/codec/codec.h"

/* Fixed-width codes in a payload (kernels/bitpack/bitpack.h). */

/* Bytes of `count` codes; count < 2^56, width <= 16. */
static inline uint64_t gcb_packed_bytes(uint64_t count, unsigned width)
{
    return (count * width + 7) / 8;
}

/* Order-0 entropy of `count` codes, in bits over all codes. Returns 0 or GCB_E_NOMEM. */
int gcb_packed_entropy(double *bits, const uint8_t *packed, uint64_t count, unsigned width,
                       const struct gcb_kernels *kernels);

/* Describes a payload of `scale_bytes` and then a code for each element. Returns 0, GCB_E_CORRUPT or GCB_E_NOMEM. */
int gcb_packed_describe(struct gcb_parts *parts, struct gcb_rbuf *in, uint64_t scale_bytes,
                        unsigned width, const struct gcb_codec_env *env);

/* *max = the larger of *max and `bits`. Several threads may call it at the same time. */
static inline void gcb_raise_max(uint32_t *max, uint32_t bits)
{
    uint32_t seen = __atomic_load_n(max, __ATOMIC_RELAXED);

    while (seen < bits && !__atomic_compare_exchange_n(max, &seen, bits, false, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED))
        continue;
}

/*
 * Dense codecs give threads spans of elements to work on. A span is long, so that starting a thread does not matter, and a
 * multiple of GCB_TILE, so that it begins at a whole byte and at a whole sum block.
 */
#define GCB_SPAN ((uint64_t)1 << 18)
uint64_t gcb_span_count(uint64_t count);
/* Elements of span i of `count` elements. */
uint64_t gcb_span_length(uint64_t count, uint64_t i);

/*
 * Where a dense decoder writes its elements, tile by tile: to an array, or, if `add` is not NULL, to a tile of the caller,
 * which is then added. So one pass over memory decodes and adds.
 */
struct gcb_target {
    float *to;
    const struct gcb_addition *add;
};
/* The accumulator from element `at` on, if a codec's kernel may add to it directly; NULL: use the functions below. */
static inline float *gcb_target_acc(const struct gcb_target *t, uint64_t at)
{
    return t->add && !t->add->mask ? t->add->acc + at : NULL;
}
/* Returns where to write the elements from number `at` on. `tile` has room for all of them. */
static inline float *gcb_target_tile(const struct gcb_target *t, uint64_t at, float *tile)
{
    return t->add ? tile : t->to + at;
}
/* Call it when n elements have been written to the address that the function above returned. */
void gcb_target_flush(const struct gcb_target *t, uint64_t at, const float *tile, size_t n,
                      const struct gcb_kernels *kernels);

#endif
