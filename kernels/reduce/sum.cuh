#ifndef KERNELS_REDUCE_SUM_CUH
#define KERNELS_REDUCE_SUM_CUH

/*
 * The project's sum of floats (kernels/reduce/reduce.h) on the device: a warp takes a block of GCB_SUM_BLOCK
 * elements, lane j being accumulator j; lanes join by the fixed tree; blocks are added in index order by one thread.
 */
#include "kernels/cuda/warp.cuh"
#include "kernels/reduce/reduce_elem.h"

namespace gcb
{

static_assert(GCB_SUM_LANES == kWarp, "a lane is an accumulator");

/* How many lanes have something to add of up to n floats; the others' accumulators would be +0.0, which changes no sum. A power
 * of two. */
__host__ __device__ inline unsigned sum_lanes(uint64_t n)
{
    unsigned lanes = 1;

    while (lanes < kWarp && lanes < n)
        lanes *= 2;
    return lanes;
}

/* a[j] += a[j + 16], then 8, 4, 2, 1: the sum is lane 0's. With fewer lanes, each so many of a warp have a sum of theirs. */
__device__ __forceinline__ double join_lanes(double acc, unsigned lanes = kWarp)
{
    for (unsigned half = lanes / 2; half > 0; half /= 2)
        acc += shfl_down(acc, half);
    return acc;
}

/* The accumulator of lane `mine` of `lanes`, which are sum_lanes(n), over x[0..n), n <= GCB_SUM_BLOCK. `term` takes a
 * float and gives a double. */
template <class Term>
__device__ __forceinline__ double lane_sum(const float *x, unsigned n, unsigned mine,
                                           unsigned lanes, Term term)
{
    double acc = 0.0;

#pragma unroll 8
    for (unsigned i = mine; i < n; i += lanes)
        acc += term(x[i]);
    return acc;
}

template <class Term>
__device__ __forceinline__ double lane_sum(const float *x, unsigned n, Term term)
{
    return lane_sum(x, n, lane(), kWarp, term);
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
 * C sums, each total + part[0] + part[1] + ... in this order, which one thread must do: lane 0 of warp c does sum c and
 * has it in the end, while the warps behind bring the next parts near. Every thread of the block, which has more than C
 * warps; the room may be in use until then, and is to be left alone until the next barrier.
 */
constexpr unsigned kChain = 512; /* parts that are near */
constexpr unsigned kChainAhead =
    32; /* of those, in registers: an addition waits for the one before it alone */

template <unsigned C> struct chain_room_of {
    double part[2][C][kChain];
};
using chain_room = chain_room_of<1>;

/* The parts from `from` on. Behind the last, +0 up to what is added whole: it changes no sum that began with +0. */
template <unsigned C>
__device__ __forceinline__ void bring_parts(double (&near)[C][kChain],
                                            const double *const (&part)[C], uint64_t from,
                                            uint64_t count, unsigned thread, unsigned threads)
{
    const uint64_t whole = (count + kChainAhead - 1) / kChainAhead * kChainAhead;

    for (unsigned i = thread; i < kChain && from + i < whole; i += threads)
#pragma unroll
        for (unsigned c = 0; c < C; c++)
            near[c][i] = from + i < count ? part[c][from + i] : 0.0;
}

/* total + near[0] + ... for at least the n first of them. One thread. */
__device__ __forceinline__ double add_parts(double total, const double (&near)[kChain], unsigned n)
{
    for (unsigned i = 0; i < n; i += kChainAhead) {
        double v[kChainAhead];

#pragma unroll
        for (unsigned j = 0; j < kChainAhead; j++)
            v[j] = near[i + j];
#pragma unroll
        for (unsigned j = 0; j < kChainAhead; j++)
            total += v[j];
    }
    return total;
}
static_assert(kChain % kChainAhead == 0, "what is near is added whole");

template <unsigned C>
__device__ __forceinline__ double chain_sums(chain_room_of<C> &room, double total,
                                             const double *const (&part)[C], uint64_t count)
{
    const unsigned warp = threadIdx.x / kWarp;
    unsigned now = 0;

    sync_block();
    bring_parts(room.part[0], part, 0, count, threadIdx.x, blockDim.x);
    for (uint64_t from = 0; from < count; from += kChain, now ^= 1) {
        const uint64_t left = count - from;

        sync_block();
        if (warp >= C)
            bring_parts(room.part[now ^ 1], part, from + kChain, count, threadIdx.x - C * kWarp,
                        blockDim.x - C * kWarp);
        else if (lane() == 0)
            total = add_parts(total, room.part[now][warp],
                              static_cast<unsigned>(left < kChain ? left : kChain));
    }
    return total;
}

/* One of them, from 0.0 on: thread 0 has it. */
__device__ __forceinline__ double chain_sum(chain_room &room, const double *part, uint64_t count)
{
    const double *const parts[] = {part};

    return chain_sums(room, 0.0, parts, count);
}

} /* namespace gcb */

#endif
