#ifndef KERNELS_DITHER_LEVELS_CUH
#define KERNELS_DITHER_LEVELS_CUH

/*
 * Loads and stores of a thread's 16 signed levels in an all-reduce, each an int8_t or int16_t, in
 * 16-byte accesses if the whole run lies inside the array (kernels/cuda/vector.cuh).
 */
#include "kernels/cuda/tile.cuh"

namespace gcb
{

template <class Level> constexpr unsigned kLevelsPerWord = sizeof(uint32_t) / sizeof(Level);
template <class Level> constexpr unsigned kLevelWords = kTileEach / kLevelsPerWord<Level>;

/* Bit at which level i begins in its word. */
template <class Level> __host__ __device__ constexpr unsigned level_bit(unsigned i)
{
    return i % kLevelsPerWord<Level> * 8 * sizeof(Level);
}

/* Stores a thread's levels `first` to `first` + 15 of n. Levels from n on are not written. */
template <class Level>
__device__ __forceinline__ void store_levels(void *levels, const int32_t (&level)[kTileEach],
                                             uint64_t first, uint64_t n)
{
    Level *const out = static_cast<Level *>(levels) + first;
    uint32_t word[kLevelWords<Level>] = {};

    if (first + kTileEach > n) {
#pragma unroll
        for (unsigned i = 0; i < kTileEach; i++)
            if (first + i < n)
                out[i] = static_cast<Level>(level[i]);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++)
        word[i / kLevelsPerWord<Level>] |=
            (static_cast<uint32_t>(level[i]) & ((1u << 8 * sizeof(Level)) - 1))
            << level_bit<Level>(i);
#pragma unroll
    for (unsigned i = 0; i < kLevelWords<Level>; i += 4)
        reinterpret_cast<uint4 *>(out)[i / 4] =
            make_uint4(word[i], word[i + 1], word[i + 2], word[i + 3]);
}

/* Loads a thread's levels `first` to `first` + 15 of n. Levels from n on are read as 0. */
template <class Level>
__device__ __forceinline__ void load_levels(int32_t (&level)[kTileEach], const void *levels,
                                            uint64_t first, uint64_t n)
{
    const Level *const in = static_cast<const Level *>(levels) + first;
    uint32_t word[kLevelWords<Level>];

    if (first + kTileEach > n) {
#pragma unroll
        for (unsigned i = 0; i < kTileEach; i++)
            level[i] = first + i < n ? in[i] : 0;
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < kLevelWords<Level>; i += 4) {
        const uint4 four = reinterpret_cast<const uint4 *>(in)[i / 4];

        word[i] = four.x;
        word[i + 1] = four.y;
        word[i + 2] = four.z;
        word[i + 3] = four.w;
    }
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++)
        level[i] = static_cast<Level>(word[i / kLevelsPerWord<Level>] >> level_bit<Level>(i));
}

} /* namespace gcb */

#endif
