#ifndef KERNELS_CUDA_VECTOR_CUH
#define KERNELS_CUDA_VECTOR_CUH

/*
 * Loads and stores of a thread's run of elements: N elements starting at `first`, in 16-byte
 * accesses if the whole run lies inside the array. N is a multiple of 4 (floats) or 8 (halves);
 * `first` is a multiple of N; arrays are aligned to 16.
 */
#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/base/hd.h"

namespace gcb
{

/* Loads a run that lies inside the array. */
template <unsigned N>
__device__ __forceinline__ void load_inside(float (&v)[N], const float *x, uint64_t first)
{
    static_assert(N % 4 == 0, "N must be a multiple of 4");
#pragma unroll
    for (unsigned i = 0; i < N; i += 4) {
        const float4 four = *reinterpret_cast<const float4 *>(x + first + i);

        v[i] = four.x;
        v[i + 1] = four.y;
        v[i + 2] = four.z;
        v[i + 3] = four.w;
    }
}

/* Stores a run that lies inside the array. */
template <unsigned N>
__device__ __forceinline__ void store_inside(float *x, const float (&v)[N], uint64_t first)
{
    static_assert(N % 4 == 0, "N must be a multiple of 4");
#pragma unroll
    for (unsigned i = 0; i < N; i += 4)
        *reinterpret_cast<float4 *>(x + first + i) =
            make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
}

/* Loads a run of an array of n elements. Elements from n on are read as 0. */
template <unsigned N>
__device__ __forceinline__ void load_floats(float (&v)[N], const float *x, uint64_t first,
                                            uint64_t n)
{
    if (first + N <= n) {
        load_inside(v, x, first);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        v[i] = first + i < n ? x[first + i] : 0.0f;
}

/* Stores a run to an array of n elements. Elements from n on are not written. */
template <unsigned N>
__device__ __forceinline__ void store_floats(float *x, const float (&v)[N], uint64_t first,
                                             uint64_t n)
{
    if (first + N <= n) {
        store_inside(x, v, first);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        if (first + i < n)
            x[first + i] = v[i];
}

/* Like load_floats and store_floats, for 16-bit elements: two to a word, the first in the low
 * half. */
template <unsigned W>
__device__ __forceinline__ void load_halves(uint32_t (&word)[W], const uint8_t *in, uint64_t first,
                                            uint64_t n)
{
    const uint16_t *half = reinterpret_cast<const uint16_t *>(in);

    static_assert(W % 4 == 0, "W must be a multiple of 4");
    if (first + 2 * W <= n) {
#pragma unroll
        for (unsigned i = 0; i < W; i += 4) {
            const uint4 four = *reinterpret_cast<const uint4 *>(half + first + 2 * i);

            word[i] = four.x;
            word[i + 1] = four.y;
            word[i + 2] = four.z;
            word[i + 3] = four.w;
        }
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < W; i++) {
        const uint64_t at = first + 2 * i;

        word[i] = at < n ? half[at] : 0u;
        word[i] |= at + 1 < n ? static_cast<uint32_t>(half[at + 1]) << 16 : 0u;
    }
}

template <unsigned W>
__device__ __forceinline__ void store_halves(uint8_t *out, const uint32_t (&word)[W],
                                             uint64_t first, uint64_t n)
{
    uint16_t *half = reinterpret_cast<uint16_t *>(out);

    static_assert(W % 4 == 0, "W must be a multiple of 4");
    if (first + 2 * W <= n) {
#pragma unroll
        for (unsigned i = 0; i < W; i += 4)
            *reinterpret_cast<uint4 *>(half + first + 2 * i) =
                make_uint4(word[i], word[i + 1], word[i + 2], word[i + 3]);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < 2 * W; i++)
        if (first + i < n)
            half[first + i] = static_cast<uint16_t>(word[i / 2] >> (16 * (i % 2)));
}

/* The largest sign-cleared bit pattern of a run. */
template <unsigned N> __device__ __forceinline__ uint32_t largest_of(const float (&v)[N])
{
    uint32_t most = 0;

    for (unsigned i = 0; i < N; i++) {
        const uint32_t m = gcb_magnitude(v[i]);

        most = m > most ? m : most;
    }
    return most;
}

/* Write and read a number at any address, its lowest byte first. */
__device__ __forceinline__ void put_u32(uint8_t *out, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = static_cast<uint8_t>(v >> 8 * i);
}

__device__ __forceinline__ uint32_t get_u32(const uint8_t *in)
{
    uint32_t v = 0;

    if (reinterpret_cast<uintptr_t>(in) % 4 == 0)
        return *reinterpret_cast<const uint32_t *>(in);
    for (unsigned i = 0; i < 4; i++)
        v |= static_cast<uint32_t>(in[i]) << 8 * i;
    return v;
}

} /* namespace gcb */

#endif
