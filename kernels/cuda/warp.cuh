#ifndef KERNELS_CUDA_WARP_CUH
#define KERNELS_CUDA_WARP_CUH

/*
 * Operations of the threads of a warp or a block, and atomics: CUDA's intrinsics under one set of
 * names. Tests replace this header by one of their own (docs/gpu.md). Functions of the block must
 * be called by all its threads, and functions of the warp by all 32 threads of the warp.
 */
#include <cuda_runtime.h>
#include <stdint.h>

namespace gcb
{

constexpr unsigned kWarp = 32;

__device__ __forceinline__ unsigned lane()
{
    return threadIdx.x % kWarp;
}

/* ---- barrier and count of a block ---- */

__device__ __forceinline__ void sync_block()
{
    __syncthreads();
}

/* The number of threads of the block for which p holds; also a barrier. */
__device__ __forceinline__ unsigned count_block(bool p)
{
    return static_cast<unsigned>(__syncthreads_count(p));
}

/* ---- barrier, exchanges, sums and maxima of a warp ---- */

__device__ __forceinline__ void sync_warp()
{
    __syncwarp();
}

/* Bit i of the result is the p of lane i. */
__device__ __forceinline__ uint32_t ballot(bool p)
{
    return __ballot_sync(0xffffffffu, p);
}

/* The shfl functions return the v of another lane. T is uint32_t, int, uint64_t, float or
 * double. */

/* The v of lane `from`. */
template <typename T> __device__ __forceinline__ T shfl(T v, unsigned from)
{
    return __shfl_sync(0xffffffffu, v, static_cast<int>(from));
}

/* The v of lane() ^ mask. */
template <typename T> __device__ __forceinline__ T shfl_xor(T v, unsigned mask)
{
    return __shfl_xor_sync(0xffffffffu, v, static_cast<int>(mask));
}

/* The v of lane() + by, or this lane's own v if there is no such lane. */
template <typename T> __device__ __forceinline__ T shfl_down(T v, unsigned by)
{
    return __shfl_down_sync(0xffffffffu, v, by);
}

/* The v of lane() - by, or this lane's own v if there is no such lane. */
template <typename T> __device__ __forceinline__ T shfl_up(T v, unsigned by)
{
    return __shfl_up_sync(0xffffffffu, v, by);
}

/* The sum and the maximum of the warp's values, in every lane. */
__device__ __forceinline__ uint32_t warp_add(uint32_t v)
{
    return __reduce_add_sync(0xffffffffu, v);
}

__device__ __forceinline__ uint32_t warp_max(uint32_t v)
{
    return __reduce_max_sync(0xffffffffu, v);
}

/* ---- bits, bytes and halves of a word ---- */

__device__ __forceinline__ unsigned popc(uint32_t v)
{
    return static_cast<unsigned>(__popc(v));
}

/* Index of the lowest bit set; v is not 0. */
__device__ __forceinline__ unsigned lowest_bit(uint32_t v)
{
    return static_cast<unsigned>(__ffs(static_cast<int>(v))) - 1;
}

/* Returns `sum` plus byte i of `word`; byte 0 is the lowest. */
__device__ __forceinline__ uint32_t add_byte(uint32_t word, unsigned i, uint32_t sum)
{
    return __dp4a(word, 1u << 8 * i, sum);
}

/* A word of the lowest bytes of a, b, c and d; the byte of a is the lowest. */
__device__ __forceinline__ uint32_t low_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

/* Two floats as fp16 in one word, `low` in the lower half: to nearest, ties to even, denormals
 * kept; values that are too large become infinite. The device does this in one instruction. */
__device__ __forceinline__ uint32_t two_halves(float low, float high)
{
    uint32_t word;

    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

/* ---- relaxed atomics; all except set_status return the previous value ---- */

__device__ __forceinline__ uint32_t atomic_add(uint32_t *p, uint32_t v)
{
    return atomicAdd(p, v);
}

__device__ __forceinline__ uint64_t atomic_add(uint64_t *p, uint64_t v)
{
    return atomicAdd(reinterpret_cast<unsigned long long *>(p), static_cast<unsigned long long>(v));
}

__device__ __forceinline__ uint32_t atomic_max(uint32_t *p, uint32_t v)
{
    return atomicMax(p, v);
}

__device__ __forceinline__ uint64_t atomic_max(uint64_t *p, uint64_t v)
{
    return atomicMax(reinterpret_cast<unsigned long long *>(p), static_cast<unsigned long long>(v));
}

__device__ __forceinline__ uint32_t atomic_or(uint32_t *p, uint32_t v)
{
    return atomicOr(p, v);
}

/* Sets a status. Several threads may set it, all to the same value. */
__device__ __forceinline__ void set_status(int32_t *p, int32_t v)
{
    atomicExch(p, v);
}

} /* namespace gcb */

#endif
