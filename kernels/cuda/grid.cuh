#ifndef KERNELS_CUDA_GRID_CUH
#define KERNELS_CUDA_GRID_CUH

/* How work is cut into pieces, a thread's place in the grid, and what the threads of a warp or
 * block compute together: sums, maxima, counts and prefix sums. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/warp.cuh"

namespace gcb
{

/* ---- sizes of pieces, and a search ---- */

template <typename T> __host__ __device__ constexpr T lesser(T a, T b)
{
    return a < b ? a : b;
}

template <typename T> __host__ __device__ constexpr T larger(T a, T b)
{
    return b > a ? b : a;
}

/* The number of pieces of `each` elements that n elements fill; the last piece may be shorter. */
template <typename N, typename E> __host__ __device__ constexpr auto pieces_of(N n, E each)
{
    return (n + each - 1) / each;
}

/* The number of blocks for n elements if each block handles `each` elements; at least one. */
__host__ __device__ constexpr uint64_t blocks_over(uint64_t n, uint64_t each)
{
    return n ? pieces_of(n, each) : 1;
}

/* The number of elements from index `from` to the end of n elements, at most `most`. from <= n. */
template <typename N, typename F>
__host__ __device__ constexpr unsigned elements_from(N n, F from, unsigned most)
{
    return n - from < most ? static_cast<unsigned>(n - from) : most;
}

/* The number of values in v[0..n) below `bound`. v must be ascending; if it is not, the result is
 * some number up to n. n < 2^32. */
__device__ inline uint32_t count_below(const uint32_t *v, uint64_t n, uint64_t bound)
{
    uint64_t low = 0, high = n;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (v[middle] < bound)
            low = middle + 1;
        else
            high = middle;
    }
    return static_cast<uint32_t>(low);
}

/* ---- a thread's place in the grid and in its warp ---- */

/* The number of this thread in the grid, and the grid's number of threads. */
__device__ __forceinline__ uint64_t thread_of_grid()
{
    return blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
}

__device__ __forceinline__ uint64_t threads_of_grid()
{
    return uint64_t{gridDim.x} * blockDim.x;
}

/* The number of this warp in the grid, and the grid's number of warps. */
__device__ __forceinline__ uint64_t warp_of_grid()
{
    return thread_of_grid() / kWarp;
}

__device__ __forceinline__ uint64_t warps_of_grid()
{
    return threads_of_grid() / kWarp;
}

/* A mask of the lanes below this one. */
__device__ __forceinline__ uint32_t lanes_before()
{
    return (1u << lane()) - 1;
}

/* ---- sums, maxima and counts; every thread of the warp or block calls the function ---- */

/* The sum of v over the warp, in every lane. For types that warp_add does not take. */
template <typename T> __device__ __forceinline__ T warp_sum(T v)
{
    for (unsigned by = kWarp / 2; by > 0; by /= 2)
        v += shfl_xor(v, by);
    return v;
}

/* The largest v of the warp, in every lane. For types that warp_max does not take. */
template <typename T> __device__ __forceinline__ T warp_largest(T v)
{
    for (unsigned by = kWarp / 2; by > 0; by /= 2)
        v = larger(v, shfl_xor(v, by));
    return v;
}

/* Raises *to to the largest v of the warp, with at most one atomic operation. */
__device__ __forceinline__ void raise_by_warp(uint32_t *to, uint32_t v)
{
    v = warp_max(v);
    if (lane() == 0 && v)
        atomic_max(to, v);
}

/* Adds each v of the warp to *to, with at most one atomic operation. The sum over the warp must be
 * below 2^32. */
template <typename T> __device__ __forceinline__ void add_by_warp(T *to, uint32_t v)
{
    v = warp_add(v);
    if (lane() == 0 && v)
        atomic_add(to, T{v});
}

/* Sets an array in shared or device memory to zero. Called by every thread of the block; a barrier
 * must follow before the block uses the array. */
template <unsigned N> __device__ __forceinline__ void clear_counts(uint32_t (&count)[N])
{
    for (unsigned i = threadIdx.x; i < N; i += blockDim.x)
        count[i] = 0;
}

/* Adds counts in shared memory to an array in device memory. Called by every thread of the block,
 * after a barrier. */
template <typename T, unsigned N>
__device__ __forceinline__ void add_counts(T *to, const uint32_t (&count)[N])
{
    for (unsigned i = threadIdx.x; i < N; i += blockDim.x)
        if (count[i])
            atomic_add(&to[i], T{count[i]});
}

/* ---- prefix sums ---- */

/* Shared memory of scan_block: one number per warp. A block has at most 32 warps. */
template <typename T> struct scan_room_of {
    T warp[32];
};
using scan_room = scan_room_of<uint32_t>;

/* The sum of v over the lanes before this one. Called by every thread of the warp. */
template <typename T> __device__ __forceinline__ T scan_warp(T v)
{
    T up_to = v;

    for (unsigned by = 1; by < kWarp; by *= 2) {
        const T other = shfl_up(up_to, by);

        up_to += lane() >= by ? other : 0;
    }
    return up_to - v;
}

/* The sum of v over the threads before this one; *total is the sum over all. Called by every thread
 * of the block. `room` may be used again as soon as the function returns. */
template <typename T> __device__ __forceinline__ T scan_block(scan_room_of<T> &room, T v, T *total)
{
    const unsigned mine = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    const T in_warp = scan_warp(v);
    T before = 0, sum = 0;

    if (lane() == kWarp - 1)
        room.warp[mine] = in_warp + v;
    sync_block();
    for (unsigned w = 0; w < warps; w++) {
        before += w < mine ? room.warp[w] : 0;
        sum += room.warp[w];
    }
    sync_block();
    *total = sum;
    return before + in_warp;
}

/* Prefix sums of `count` numbers, with one block of threads. Calls put(i, before, value) for each i
 * < count: value is value_of(i), and before is `start` plus the sum of the values before it.
 * Returns `start` plus the sum of all values. T must have room for the sum of blockDim.x values.
 * Called by every thread of the block. */
template <typename T, class ValueOf, class Put>
__device__ __forceinline__ uint64_t scan_all(scan_room_of<T> &room, uint64_t count, uint64_t start,
                                             const ValueOf &value_of, const Put &put)
{
    uint64_t before = start;

    for (uint64_t from = 0; from < count; from += blockDim.x) {
        const uint64_t i = from + threadIdx.x;
        const T value = i < count ? value_of(i) : 0;
        T total;
        const T mine = scan_block(room, value, &total);

        if (i < count)
            put(i, before + mine, value);
        before += total;
    }
    return before;
}

} /* namespace gcb */

#endif
