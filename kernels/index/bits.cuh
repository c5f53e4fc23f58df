#ifndef KERNELS_INDEX_BITS_CUH
#define KERNELS_INDEX_BITS_CUH

/*
 * Bit streams (src/lib/wire/bits.h) on the device. A thread block writes a stream in windows of
 * kTileBytes. For each window, the threads put the parts of their codes that lie in it into shared
 * memory (a tile_room). Then the window is stored in 16-byte accesses. Reads may begin at any bit.
 */
#include "kernels/cuda/tile.cuh"

namespace gcb
{

/* ---- writing ---- */

constexpr uint32_t kWindowBits = kTileBytes * 8;

/* A window of kWindowBits bits of a stream, in shared memory. */
struct bit_window {
    uint32_t *word;
    uint64_t from; /* number of the window's first bit, a multiple of kWindowBits */
};

/* Sets the window in shared memory to zero. A barrier must follow. */
__device__ __forceinline__ void clear_room(tile_room &room)
{
    for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += blockDim.x)
        room.word[i] = 0;
}

/* Writes the n <= 64 low bits of v as bits [at, at + n) of the stream, as far as they lie in the
 * window, where they must be 0 before. The other bits of v must be 0. */
__device__ __forceinline__ void put_bits(const bit_window &w, uint64_t at, uint64_t v, unsigned n)
{
    while (n) {
        const unsigned shift = at % 32, here = n < 32 - shift ? n : 32 - shift;

        if (at >= w.from && at - w.from < kWindowBits)
            atomic_or(&w.word[(at - w.from) / 32], static_cast<uint32_t>(v << shift));
        v >>= here;
        at += here;
        n -= here;
    }
}

/* Runs of ones longer than this are written by a whole warp. */
constexpr unsigned kShortRun = 32;

/* Sets bits [at, at + n) of the stream to one, as far as they lie in the window. The lanes share
 * the words. Called by every thread of the warp with the same arguments. */
__device__ __forceinline__ void put_long_run(const bit_window &w, uint64_t at, uint64_t n)
{
    const uint64_t from = larger(at, w.from), end = lesser(at + n, w.from + kWindowBits);

    for (uint64_t word = from / 32 + lane(); word * 32 < end; word += kWarp) {
        const unsigned low = word * 32 < from ? from % 32 : 0;
        const unsigned high = (word + 1) * 32 > end ? end % 32 : 32;

        atomic_or(&w.word[word - w.from / 32], (0xffffffffu >> (32 - (high - low))) << low);
    }
}

/* Writes a run of n ones for each lane; n may be 0. Called by every thread of the warp. */
__device__ __forceinline__ void put_ones(const bit_window &w, uint64_t at, uint32_t n)
{
    uint32_t lanes = ballot(n > kShortRun);

    if (n <= kShortRun)
        put_bits(w, at, (uint64_t{1} << n) - 1, n);
    for (; lanes; lanes &= lanes - 1) {
        const unsigned from = lowest_bit(lanes);
        const uint64_t start = shfl(at, from);
        const uint32_t ones = shfl(n, from);

        put_long_run(w, start, ones);
    }
}

/*
 * Writes a stream of `bits` bits to `out`, window by window. write(w) puts those bits of the stream
 * that lie in window w into shared memory. Called by every thread of the block.
 */
template <class Write>
__device__ __forceinline__ void put_windows(tile_room &room, uint8_t *out, uint64_t bits,
                                            const Write &write)
{
    for (uint64_t from = 0; from < bits; from += kWindowBits) {
        const unsigned here = elements_from(bits, from, kWindowBits);

        clear_room(room);
        sync_block();
        write(bit_window{room.word, from});
        sync_block();
        store_tile(out + from / 8, room, (here + 7) / 8);
        sync_block();
    }
}

/* ---- reading ---- */

/* Word i of `in`, which has `bytes` bytes and is aligned to 4. Bytes after the end are read as
 * 0. */
__device__ __forceinline__ uint32_t load_word(const uint8_t *in, uint64_t bytes, uint64_t i)
{
    uint32_t v = 0;

    if (4 * i + 4 <= bytes)
        return reinterpret_cast<const uint32_t *>(in)[i];
    for (uint64_t at = 4 * i; at < bytes; at++)
        v |= static_cast<uint32_t>(in[at]) << 8 * (at % 4);
    return v;
}

/* A part of a payload's bits. The functions below read nothing after its end. */
struct bit_source {
    const uint8_t *in;  /* the payload, aligned to 4 */
    uint64_t from, end; /* bit numbers in the payload, multiples of 8 */
};

/* 32 bits from `at` on; bits after the end are 0. */
__device__ __forceinline__ uint32_t peek_bits(const bit_source &s, uint64_t at)
{
    const uint64_t low = load_word(s.in, s.end / 8, at / 32);
    const uint64_t high = load_word(s.in, s.end / 8, at / 32 + 1);

    return static_cast<uint32_t>((low | high << 32) >> at % 32);
}

/* n <= 31 bits from `at` on. */
__device__ __forceinline__ uint32_t get_bits(const bit_source &s, uint64_t at, unsigned n)
{
    return peek_bits(s, at) & ((1u << n) - 1);
}

/* The number of ones below the lowest zero; 32 if there is no zero. */
__device__ __forceinline__ unsigned trailing_ones(uint32_t v)
{
    return ~v ? lowest_bit(~v) : 32;
}

/* True if fewer than 8 bits follow from `at` on, and all of them are 0. A valid block ends so. */
__device__ __forceinline__ bool is_block_end(const bit_source &s, uint64_t at)
{
    return at <= s.end && s.end - at < 8 && peek_bits(s, at) == 0;
}

} /* namespace gcb */

#endif
