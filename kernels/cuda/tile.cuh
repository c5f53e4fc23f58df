#ifndef KERNELS_CUDA_TILE_CUH
#define KERNELS_CUDA_TILE_CUH

/*
 * Codes of fixed width (kernels/bitpack/bitpack.h) in tiles of 4096 elements. A block of 256
 * threads handles a tile, 16 elements per thread. The 16 codes of a thread fill whole 16-bit units,
 * whatever the width. Codes are assembled in shared memory and copied to the payload, which may
 * begin at any byte, in 16-byte accesses.
 */
#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/cuda/warp.cuh"

namespace gcb
{

constexpr unsigned kTileThreads = 256;
constexpr unsigned kTileEach = 16;
constexpr unsigned kTile = kTileThreads * kTileEach;
constexpr unsigned kTileBytes = kTile * 2; /* at the greatest width, 16 */

/* Shared memory for the codes of a tile, with 32 bytes more. load_tile may put the codes up to 15
 * bytes after the start, and reads go past the last code. */
struct alignas(16) tile_room {
    uint32_t word[kTileBytes / 4 + 8];
};

/* Tiles of n elements; 0 for n = 0. */
__host__ __device__ inline uint64_t tile_count(uint64_t n)
{
    return pieces_of(n, kTile);
}

/* Calls op.at<w>() for w = `given`, or for w = 16 if `given` is not 1 to 15. So the compiler knows
 * the position of each code. */
template <unsigned width = 1, class Op>
__device__ __forceinline__ void by_width(unsigned given, const Op &op)
{
    if constexpr (width == 16)
        op.template at<16>();
    else if (given == width)
        op.template at<width>();
    else
        by_width<width + 1>(given, op);
}

/* Packs a thread's codes, for pack_codes. Each width is compiled separately. */
struct packing {
    uint8_t *tile;
    const uint32_t (&code)[kTileEach];

    template <unsigned width> __device__ __forceinline__ void at() const
    {
        /* The largest power of two that divides a thread's 2 * width bytes, at most 16. */
        constexpr unsigned aligned = lesser(2 * width & -(2 * width), 16u);
        uint32_t word[(width + 1) / 2] = {};

#pragma unroll
        for (unsigned i = 0; i < kTileEach; i++) {
            const unsigned in = i * width / 32, bit = i * width % 32;

            word[in] += code[i] << bit;
            if (bit + width > 32)
                word[in + 1] += code[i] >> (32 - bit);
        }
        memcpy(__builtin_assume_aligned(tile + threadIdx.x * (2 * width), aligned), word,
               2 * width);
    }
};

/* Unpacks a thread's codes, for unpack_codes. Each width is compiled separately. */
struct unpacking {
    const uint32_t *tile;
    unsigned skip; /* bytes before the codes */
    uint32_t (&code)[kTileEach];

    template <unsigned width> __device__ __forceinline__ void at() const
    {
        constexpr unsigned words = (width + 1) / 2;
        const unsigned first = skip + threadIdx.x * (2 * width);
        const uint32_t *const from = tile + first / 4;
        uint32_t word[words], low = from[0];

#pragma unroll
        for (unsigned i = 0; i < words; i++) {
            const uint32_t high = from[i + 1];

            word[i] =
                static_cast<uint32_t>((low | static_cast<uint64_t>(high) << 32) >> 8 * (first % 4));
            low = high;
        }
#pragma unroll
        for (unsigned i = 0; i < kTileEach; i++) {
            const unsigned in = i * width / 32, bit = i * width % 32;

            code[i] = word[in] >> bit;
            if (bit + width > 32)
                code[i] |= word[in + 1] << (32 - bit);
            code[i] &= (1u << width) - 1;
        }
    }
};

/* Writes this thread's codes, each below 2^width, to their place in the tile. */
__device__ __forceinline__ void pack_codes(tile_room &room, const uint32_t (&code)[kTileEach],
                                           unsigned width)
{
    by_width(width, packing{reinterpret_cast<uint8_t *>(room.word), code});
}

/* Inverse of pack_codes: reads this thread's codes. The tile's codes begin `skip` bytes after the
 * start of room.word. */
__device__ __forceinline__ void unpack_codes(uint32_t (&code)[kTileEach], const tile_room &room,
                                             unsigned skip, unsigned width)
{
    by_width(width, unpacking{room.word, skip, code});
}

/* The 32-bit word at byte `at` of room.word, assembled from the two aligned words that it may
 * span. */
__device__ __forceinline__ uint32_t straddling_word(const tile_room &room, unsigned at)
{
    const uint64_t pair = room.word[at / 4] | static_cast<uint64_t>(room.word[at / 4 + 1]) << 32;

    return static_cast<uint32_t>(pair >> 8 * (at % 4));
}

/* One of the two steps (by = 1, 2) that transpose the 4 x 4 quarters of four threads' runs. Lane t
 * exchanges quarters with lane t ^ by. The lane whose number lacks the bit `by` gives the quarters
 * whose numbers have this bit, and gets the other lane's quarters whose numbers lack it. */
template <unsigned by> __device__ __forceinline__ void swap_quarters(float (&v)[kTileEach])
{
    const bool upper = lane() & by;

#pragma unroll
    for (unsigned q = 0; q < 4; q++) {
        if (q & by)
            continue;
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            float &low = v[4 * q + i], &high = v[4 * (q ^ by) + i];
            const float got = shfl_xor(upper ? low : high, by);

            (upper ? low : high) = got;
        }
    }
}

/*
 * Like store_floats, for the runs of a warp's threads, which follow each other. Called by every
 * thread of the warp. May overwrite v. If all runs of the warp lie inside the array, four threads
 * first exchange quarters of their runs, so that in each access they write 64 bytes that follow
 * each other. Without the exchange, each thread would write 16 bytes of its own run, but memory is
 * written in sectors of 32 bytes.
 */
__device__ __forceinline__ void store_runs(float *x, float (&v)[kTileEach], uint64_t first,
                                           uint64_t n)
{
    const unsigned t = lane() % 4;

    if (ballot(first + kTileEach <= n) != ~0u) {
        store_floats(x, v, first, n);
        return;
    }
    swap_quarters<1>(v);
    swap_quarters<2>(v);
    x += first - kTileEach * t + 4 * t;
#pragma unroll
    for (unsigned q = 0; q < 4; q++)
        *reinterpret_cast<float4 *>(x + kTileEach * q) =
            make_float4(v[4 * q], v[4 * q + 1], v[4 * q + 2], v[4 * q + 3]);
}

/* Copies bytes [0, bytes) of room.word to `to`, of any alignment. Called by all threads of the
 * block after a barrier. */
__device__ __forceinline__ void store_tile(uint8_t *to, const tile_room &room, unsigned bytes)
{
    const uint8_t *from = reinterpret_cast<const uint8_t *>(room.word);
    const unsigned odd = static_cast<unsigned>(-reinterpret_cast<uintptr_t>(to) % 16);
    const unsigned front = lesser(odd, bytes), vectors = (bytes - front) / 16;

    if (threadIdx.x < front)
        to[threadIdx.x] = from[threadIdx.x];
    for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) {
        const unsigned at = front + 16 * i;

        *reinterpret_cast<uint4 *>(to + at) =
            make_uint4(straddling_word(room, at), straddling_word(room, at + 4),
                       straddling_word(room, at + 8), straddling_word(room, at + 12));
    }
    for (unsigned i = front + 16 * vectors + threadIdx.x; i < bytes; i += blockDim.x)
        to[i] = from[i];
}

/* Inverse of store_tile: copies bytes [0, bytes) at `from` to room.word. They begin at byte `from`
 * mod 16 of room.word, so that the 16-byte accesses are aligned. Returns `from` mod 16. Called by
 * all threads of the block; a barrier must follow. */
__device__ __forceinline__ unsigned load_tile(tile_room &room, const uint8_t *from, unsigned bytes)
{
    uint8_t *to = reinterpret_cast<uint8_t *>(room.word);
    const unsigned skip = static_cast<unsigned>(reinterpret_cast<uintptr_t>(from) % 16);
    const unsigned odd = (16 - skip) % 16, front = lesser(odd, bytes);
    const unsigned vectors = (bytes - front) / 16;

    if (threadIdx.x < front)
        to[skip + threadIdx.x] = from[threadIdx.x];
    for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x)
        *reinterpret_cast<uint4 *>(to + skip + front + 16 * i) =
            *reinterpret_cast<const uint4 *>(from + front + 16 * i);
    for (unsigned i = front + 16 * vectors + threadIdx.x; i < bytes; i += blockDim.x)
        to[skip + i] = from[i];
    return skip;
}

} /* namespace gcb */

#endif
