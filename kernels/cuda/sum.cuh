#ifndef KERNELS_CUDA_SUM_CUH
#define KERNELS_CUDA_SUM_CUH

/*
 * The project's sum of floats (kernels/reduce/reduce.h) on the device: a warp takes a block of GCB_SUM_BLOCK
 * elements, lane j being accumulator j; lanes join by the fixed tree; blocks are added in index order by one thread.
 */
#include "kernels/cuda/warp.cuh"
#include "kernels/reduce/reduce_elem.h"

namespace gcb
{

static_assert(GCB_SUM_LANES == kWarp, "a lane is an accumulator");

/* a[j] += a[j + 16], then 8, 4, 2, 1: the sum is lane 0's. */
__device__ __forceinline__ double join_lanes(double acc)
{
    for (unsigned half = kWarp / 2; half > 0; half /= 2)
        acc += shfl_down(acc, half);
    return acc;
}

/* Lane j's accumulator over x[0..n), n <= GCB_SUM_BLOCK. `term` takes a float and gives a double. */
template <class Term>
__device__ __forceinline__ double lane_sum(const float *x, unsigned n, Term term)
{
    double acc = 0.0;

#pragma unroll 8
    for (unsigned i = lane(); i < n; i += kWarp)
        acc += term(x[i]);
    return acc;
}

/* The terms, as types that a template can take. */
struct plain_term {
    __device__ double operator()(float x) const
    {
        return gcb_reduce_plain(x);
    }
};

struct abs_term {
    __device__ double operator()(float x) const
    {
        return gcb_reduce_abs(x);
    }
};

struct square_term {
    __device__ double operator()(float x) const
    {
        return gcb_reduce_square(x);
    }
};

/*
 * 0.0 + part[0] + part[1] + ... in this order, which one thread must do; the block only brings the parts near. Every
 * thread of the block calls it with room for kChain doubles in shared memory; the sum is thread 0's.
 */
constexpr unsigned kChain = 1024;

__device__ __forceinline__ double chain_sum(const double *part, uint64_t count, double *room)
{
    double total = 0.0;

    for (uint64_t from = 0; from < count; from += kChain) {
        const unsigned n = static_cast<unsigned>(count - from < kChain ? count - from : kChain);

        sync_block();
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
            room[i] = part[from + i];
        sync_block();
        for (unsigned i = 0; threadIdx.x == 0 && i < n; i++)
            total += room[i];
    }
    return total;
}

} /* namespace gcb */

#endif
