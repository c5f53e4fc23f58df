#ifndef KERNELS_CUDA_SCAN_CUH
#define KERNELS_CUDA_SCAN_CUH

/* Prefix sums over the threads of a warp or block, and the number of a warp in the grid. */
#include "kernels/cuda/warp.cuh"

namespace gcb
{

/* Shared memory of scan_block: one number per warp. */
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
 * of the block. `room` may be used again at once. */
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

/* A mask of the lanes below this one. */
__device__ __forceinline__ uint32_t lanes_before()
{
    return (1u << lane()) - 1;
}

/* The number of this warp in the grid, and the number of warps. */
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
