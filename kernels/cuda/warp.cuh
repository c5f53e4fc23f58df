#ifndef KERNELS_CUDA_WARP_CUH
#define KERNELS_CUDA_WARP_CUH

/*
 * What threads of a warp and of a block do together, and atomics: CUDA's intrinsics under one set of names. Tests
 * put their own header of this name in front (docs/cuda.md). Every thread of the block calls sync_block and its
 * relatives, every thread of the warp the warp's: there are no partial warps here.
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

/* ---- the block ---- */

__device__ __forceinline__ void sync_block()
{
    __syncthreads();
}

/* How many threads of the block hold p; a barrier too. */
__device__ __forceinline__ unsigned count_block(bool p)
{
    return static_cast<unsigned>(__syncthreads_count(p));
}

/* ---- the warp ---- */

__device__ __forceinline__ void sync_warp()
{
    __syncwarp();
}

/* Bit i: p of lane i. */
__device__ __forceinline__ uint32_t ballot(bool p)
{
    return __ballot_sync(0xffffffffu, p);
}

/* v of another lane: of lane `from`, of lane ^ mask, of lane + by (own v beyond the last), of lane - by (own v
 * below the first). T is uint32_t, int, uint64_t, float or double. */
template <typename T> __device__ __forceinline__ T shfl(T v, unsigned from)
{
    return __shfl_sync(0xffffffffu, v, static_cast<int>(from));
}

template <typename T> __device__ __forceinline__ T shfl_xor(T v, unsigned mask)
{
    return __shfl_xor_sync(0xffffffffu, v, static_cast<int>(mask));
}

template <typename T> __device__ __forceinline__ T shfl_down(T v, unsigned by)
{
    return __shfl_down_sync(0xffffffffu, v, by);
}

template <typename T> __device__ __forceinline__ T shfl_up(T v, unsigned by)
{
    return __shfl_up_sync(0xffffffffu, v, by);
}

/* The sum, and the largest, of the warp's values, in every lane. */
__device__ __forceinline__ uint32_t warp_add(uint32_t v)
{
    return __reduce_add_sync(0xffffffffu, v);
}

__device__ __forceinline__ uint32_t warp_max(uint32_t v)
{
    return __reduce_max_sync(0xffffffffu, v);
}

/* ---- bits ---- */

__device__ __forceinline__ unsigned popc(uint32_t v)
{
    return static_cast<unsigned>(__popc(v));
}

/* Leading zeros; 32 or 64 for 0. */
__device__ __forceinline__ unsigned clz(uint32_t v)
{
    return static_cast<unsigned>(__clz(static_cast<int>(v)));
}

__device__ __forceinline__ unsigned clz64(uint64_t v)
{
    return static_cast<unsigned>(__clzll(static_cast<long long>(v)));
}

/* Index of the lowest bit set; v is not 0. */
__device__ __forceinline__ unsigned lowest_bit(uint32_t v)
{
    return static_cast<unsigned>(__ffs(static_cast<int>(v))) - 1;
}

/* sum + byte i of word, 0 being the lowest. */
__device__ __forceinline__ uint32_t add_byte(uint32_t word, unsigned i, uint32_t sum)
{
    return __dp4a(word, 1u << 8 * i, sum);
}

/* The lowest bytes of four words, a's lowest. */
__device__ __forceinline__ uint32_t low_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

/* Two floats as halves in one word, `low` in its lower part: to nearest, ties to even, denormals kept; what is too large
 * becomes infinite. The device has this as one instruction. */
__device__ __forceinline__ uint32_t two_halves(float low, float high)
{
    uint32_t word;

    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

/* ---- atomics, relaxed: each returns what was there before ---- */

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

__device__ __forceinline__ uint32_t atomic_min(uint32_t *p, uint32_t v)
{
    return atomicMin(p, v);
}

__device__ __forceinline__ uint32_t atomic_or(uint32_t *p, uint32_t v)
{
    return atomicOr(p, v);
}

__device__ __forceinline__ uint32_t atomic_exchange(uint32_t *p, uint32_t v)
{
    return atomicExch(p, v);
}

/* Sets a status that several threads may set, all to the same. */
__device__ __forceinline__ void set_status(int32_t *p, int32_t v)
{
    atomicExch(p, v);
}

/* What this thread wrote before is seen by the device before what it writes after. */
__device__ __forceinline__ void fence()
{
    __threadfence();
}

} /* namespace gcb */

#endif
