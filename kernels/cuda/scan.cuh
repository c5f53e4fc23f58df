#ifndef KERNELS_CUDA_SCAN_CUH
#define KERNELS_CUDA_SCAN_CUH

/* Sums of integers before each thread of a block, and tiles that warps take. */
#include "kernels/cuda/warp.cuh"

namespace gcb
{

/* Room of scan_block in shared memory: a number for each warp. */
template <typename T> struct scan_room_of {
    T warp[32];
};
using scan_room = scan_room_of<uint32_t>;

/* The sum of v over the lanes in front of this one. Every thread of the warp. */
template <typename T> __device__ __forceinline__ T scan_warp(T v)
{
    T up_to = v;

    for (unsigned by = 1; by < kWarp; by *= 2) {
        const T other = shfl_up(up_to, by);

        up_to += lane() >= by ? other : 0;
    }
    return up_to - v;
}

/* The sum of v over the threads in front of this one; *total: over all. Every thread of the block; room may be used
 * again at once. */
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

/* Lanes below this one, as a mask of a ballot. */
__device__ __forceinline__ uint32_t lanes_before()
{
    return (1u << lane()) - 1;
}

/* This warp among all of the grid, and how many there are. */
__device__ __forceinline__ uint64_t warp_of_grid()
{
    return (blockIdx.x * uint64_t{blockDim.x} + threadIdx.x) / kWarp;
}

__device__ __forceinline__ uint64_t warps_of_grid()
{
    return gridDim.x * uint64_t{blockDim.x} / kWarp;
}

} /* namespace gcb */

#endif
