#ifndef KERNELS_CUDA_WARP_CUH
#define KERNELS_CUDA_WARP_CUH

/* Included in tests instead of the header of this name: the same functions, on the CPU. The default
 * arguments identify the meeting point. */
#include <string.h>

#include "emulate.h"
#include "kernels/convert/convert_elem.h"

#define GCB_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace gcb
{

constexpr unsigned kWarp = 32;

inline unsigned lane()
{
    return threadIdx.x % kWarp;
}

inline void sync_block(GCB_HERE)
{
    gcb_host::meet(gcb_host::MEET_BLOCK, 0, file, line);
}

inline unsigned count_block(bool p, GCB_HERE)
{
    unsigned count = 0;

    gcb_host::meet(gcb_host::MEET_COUNT, p, file, line);
    for (unsigned i = 0; i < blockDim.x; i++)
        count += gcb_host::brought_to_block(i) != 0;
    return count;
}

inline void sync_warp(GCB_HERE)
{
    gcb_host::meet(gcb_host::MEET_WARP, 0, file, line);
}

inline uint32_t ballot(bool p, GCB_HERE)
{
    const unsigned first = threadIdx.x - lane();
    uint32_t bits = 0;

    gcb_host::meet(gcb_host::MEET_BALLOT, p, file, line);
    for (unsigned i = 0; i < kWarp; i++)
        bits |= static_cast<uint32_t>(gcb_host::brought_to_warp(first + i) != 0) << i;
    return bits;
}

template <typename T> T exchange(T v, unsigned from, const char *file, int line)
{
    const unsigned first = threadIdx.x - lane();
    uint64_t word = 0;
    T got;

    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "as the hardware exchanges");
    memcpy(&word, &v, sizeof(v));
    gcb_host::meet(gcb_host::MEET_SHFL, word, file, line);
    word = gcb_host::brought_to_warp(first + from % kWarp);
    memcpy(&got, &word, sizeof(got));
    return got;
}

inline uint32_t warp_add(uint32_t v, GCB_HERE)
{
    const unsigned first = threadIdx.x - lane();
    uint32_t sum = 0;

    gcb_host::meet(gcb_host::MEET_SHFL, v, file, line);
    for (unsigned i = 0; i < kWarp; i++)
        sum += static_cast<uint32_t>(gcb_host::brought_to_warp(first + i));
    return sum;
}

inline uint32_t warp_max(uint32_t v, GCB_HERE)
{
    const unsigned first = threadIdx.x - lane();
    uint32_t most = 0;

    gcb_host::meet(gcb_host::MEET_SHFL, v, file, line);
    for (unsigned i = 0; i < kWarp; i++) {
        const uint32_t other = static_cast<uint32_t>(gcb_host::brought_to_warp(first + i));

        most = other > most ? other : most;
    }
    return most;
}

template <typename T> T shfl(T v, unsigned from, GCB_HERE)
{
    return exchange(v, from, file, line);
}

template <typename T> T shfl_xor(T v, unsigned mask, GCB_HERE)
{
    return exchange(v, lane() ^ mask, file, line);
}

template <typename T> T shfl_down(T v, unsigned by, GCB_HERE)
{
    return exchange(v, lane() + by < kWarp ? lane() + by : lane(), file, line);
}

template <typename T> T shfl_up(T v, unsigned by, GCB_HERE)
{
    return exchange(v, lane() >= by ? lane() - by : lane(), file, line);
}

inline uint32_t add_byte(uint32_t word, unsigned i, uint32_t sum)
{
    return sum + (word >> 8 * i & 0xffu);
}

inline uint32_t low_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (a & 0xffu) | (b & 0xffu) << 8 | (c & 0xffu) << 16 | d << 24;
}

inline uint32_t half_or_infinite(float v)
{
    const uint32_t u = gcb_bits_of(v), m = u & GCB_MAGNITUDE_MASK;

    return m >= GCB_FP16_TOO_LARGE && m <= GCB_INF_BITS ? (u >> 16 & 0x8000u) | GCB_FP16_INF
                                                        : gcb_fp16_of_fp32(u);
}

inline uint32_t two_halves(float low, float high)
{
    return half_or_infinite(low) | half_or_infinite(high) << 16;
}

inline unsigned popc(uint32_t v)
{
    return static_cast<unsigned>(__builtin_popcount(v));
}

inline unsigned lowest_bit(uint32_t v)
{
    return static_cast<unsigned>(__builtin_ctz(v));
}

/* Only one thread runs at a time, so plain accesses are atomic. */
template <typename T> T swap_in(T *p, T v)
{
    const T old = *p;

    *p = v;
    return old;
}

inline uint32_t atomic_add(uint32_t *p, uint32_t v)
{
    return swap_in(p, *p + v);
}

inline uint64_t atomic_add(uint64_t *p, uint64_t v)
{
    return swap_in(p, *p + v);
}

inline uint32_t atomic_max(uint32_t *p, uint32_t v)
{
    return swap_in(p, v > *p ? v : *p);
}

inline uint64_t atomic_max(uint64_t *p, uint64_t v)
{
    return swap_in(p, v > *p ? v : *p);
}

inline uint32_t atomic_or(uint32_t *p, uint32_t v)
{
    return swap_in(p, *p | v);
}

inline void set_status(int32_t *p, int32_t v)
{
    *p = v;
}

} /* namespace gcb */

#undef GCB_HERE

#endif
