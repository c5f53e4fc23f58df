#ifndef SRC_LIB_CODEC_PACKED_H
#define SRC_LIB_CODEC_PACKED_H

#include "kernels/base/stream.h"
#include "src/lib/codec/codec.h"

/* Bytes of `count` packed codes (kernels/bitpack/bitpack.h); count < 2^56, width <= 16 bits. */
static inline uint64_t gcb_packed_bytes(uint64_t count, unsigned width)
{
    return (count * width + 7) / 8;
}

/* Sets *bits to the order-0 entropy of `count` packed codes, in bits over all codes. Returns 0 or
 * GCB_E_NOMEM. */
int gcb_packed_entropy(double *bits, const uint8_t *packed, uint64_t count, unsigned width,
                       const struct gcb_kernels *kernels);

/* `describe` (struct gcb_codec_ops) of a payload that has `scale_bytes` bytes of head and scales,
 * then a code for each element. Returns 0, GCB_E_CORRUPT or GCB_E_NOMEM. */
int gcb_packed_describe(struct gcb_parts *parts, struct gcb_rbuf *in, uint64_t scale_bytes,
                        unsigned width, const struct gcb_codec_env *env);

/* Raises *max to `bits` if it is lower. Several threads may call this at the same time. */
static inline void gcb_raise_max(uint32_t *max, uint32_t bits)
{
    uint32_t seen = __atomic_load_n(max, __ATOMIC_RELAXED);

    while (seen < bits && !__atomic_compare_exchange_n(max, &seen, bits, false, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED))
        continue;
}

/*
 * Most dense codecs give threads spans of elements to work on. A span is long, so that starting a
 * thread does not matter, and a multiple of GCB_TILE, so that it begins at a whole byte and at a
 * whole sum block.
 */
#define GCB_SPAN ((uint64_t)1 << 18)
/* Decoders that use gcb_room write tensors of this many elements (64 MiB) or more past the
 * caches. */
#define GCB_LARGE ((uint64_t)1 << 24)
/* Most elements that a decoder writes past the caches at a time. */
#define GCB_ROOM 1024

/* Number of elements that a decoder writes at a time, from element i on and not beyond `end`, in a
 * tensor of `count` elements. i < end. At most GCB_TILE. */
static inline size_t gcb_room_length(uint64_t count, uint64_t end, uint64_t i)
{
    const uint64_t most = count < GCB_LARGE ? GCB_TILE : GCB_ROOM;

    return end - i < most ? (size_t)(end - i) : (size_t)most;
}

/* Where a decoder writes elements of `to`, of a tensor of `count` elements: to `room` (GCB_ROOM
 * floats, for large tensors) or to `to`. */
static inline float *gcb_room(float *room, float *to, uint64_t count)
{
    return count < GCB_LARGE ? to : room;
}

/* Copies n elements x to `to`, unless gcb_room returned `to`. */
static inline void gcb_room_done(float *to, const float *x, size_t n)
{
    if (x != to)
        gcb_stream(to, x, n * sizeof(*x));
}

/* Number of spans in `count` elements. */
uint64_t gcb_span_count(uint64_t count);
/* Number of elements in span i of `count` elements; only the last span may be shorter. */
uint64_t gcb_span_length(uint64_t count, uint64_t i);

/* Converts `count` raw elements to float32. They are float16 or bfloat16 if `source` says so,
 * otherwise float32. The queue's threads share the work, as in the functions below. */
void gcb_widen(float *out, const void *raw, uint64_t count, enum gcb_dtype source,
               const struct gcb_kernels *kernels, const struct gcb_queue *queue);
/* Adds `count` raw elements, converted as by gcb_widen, to the arrays of `to`. */
void gcb_add_raw(const struct gcb_addition *to, const void *raw, uint64_t count,
                 enum gcb_dtype source, const struct gcb_kernels *kernels,
                 const struct gcb_queue *queue);

/* `read` (struct gcb_codec_ops) of a codec whose payload is env->count raw elements of type
 * `source`: float32, float16 or bfloat16. Returns 0 or GCB_E_CORRUPT. */
int gcb_read_raw(const struct gcb_codec_env *env, enum gcb_dtype source, struct gcb_rbuf *in,
                 float *out, const struct gcb_addition *to);

/* out[i] = weight * x[i] for `count` elements, rounded to float32. `out` may be x. */
void gcb_weigh(float *out, const float *x, float weight, uint64_t count,
               const struct gcb_queue *queue);
/* out[i] = x[i] / weight, or 0 if the weight is 0. `out` may be x. */
void gcb_unweigh(float *out, const float *x, float weight, uint64_t count,
                 const struct gcb_queue *queue);
/* `conclude` (struct gcb_reduce_ops) of a method whose workers add up whole tensors of `count`
 * float32 elements: copies `combined` to `update` and x to `own`. */
void gcb_conclude_whole(uint64_t count, const float *x, const void *combined, float *update,
                        float *own);
/* Sets x[0..n) to 0. x may be NULL if n is 0. */
static inline void gcb_set_zero(float *x, uint64_t n)
{
    if (n)
        memset(x, 0, n * sizeof(*x));
}

/* Returns the largest magnitude of x, as the bits of a float32. It is GCB_INF_BITS or more if x has
 * an infinity or NaN. */
uint32_t gcb_max_bits(const float *x, uint64_t count, const struct gcb_kernels *kernels,
                      const struct gcb_queue *queue);

#endif
