#ifndef KERNELS_BASE_STREAM_H
#define KERNELS_BASE_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/*
 * Copies n bytes past the caches: whole cache lines of `to` are not read first, and push no other
 * lines out of the caches. The arrays do not overlap. Without SSE2 this is memcpy. Other threads
 * may see these stores late; gcb_parallel ends with a fence.
 *
 * The first line is always stored as usual. With copies of 4 KiB that is 1.25 to 1.5 times as fast
 * as streaming the first line too.
 */
static inline void gcb_stream(void *to, const void *from, size_t n)
{
    uint8_t *out = to;
    const uint8_t *in = from;
#if defined(__SSE2__)
    const size_t head = 64 - (uintptr_t)out % 64;

    if (head < n) {
        memcpy(out, in, head);
        for (out += head, in += head, n -= head; n >= 64; n -= 64, out += 64, in += 64)
            for (size_t k = 0; k < 64; k += 16)
                _mm_stream_si128((__m128i *)(void *)(out + k),
                                 _mm_loadu_si128((const __m128i *)(const void *)(in + k)));
    }
#endif
    memcpy(out, in, n);
}

#endif
