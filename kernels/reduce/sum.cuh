#ifndef KERNELS_REDUCE_SUM_CUH
#define KERNELS_REDUCE_SUM_CUH

/*
 * The project's sum of floats (kernels/reduce/reduce.h) on the device. A warp sums a block of
 * GCB_SUM_BLOCK elements, and lane j is accumulator j. Lanes are joined by the fixed tree. One
 * thread adds the blocks in index order.
 */
#include "kernels/cuda/grid.cuh"
#include "kernels/reduce/reduce_elem.h"

namespace gcb
{

static_assert(GCB_SUM_LANES == kWarp, "each lane must be an accumulator");

/* The number of sum blocks of n elements. */
__host__ __device__ constexpr uint64_t sum_blocks_of(uint64_t n)
{
    return pieces_of(n, GCB_SUM_BLOCK);
}

/* The number of elements in sum block b; 0 if b is after the last block. */
__device__ __forceinline__ unsigned sum_block_size(uint64_t n, uint64_t b)
{
    const uint64_t from = b * GCB_SUM_BLOCK;

    return from < n ? elements_from(n, from, GCB_SUM_BLOCK) : 0;
}

/* The number of lanes that sum n floats, rounded up to a power of two, at most a warp. The
 * accumulators of further lanes would be +0.0, which changes no sum. */
__host__ __device__ inline unsigned sum_lanes(uint64_t n)
{
    unsigned lanes = 1;

    while (lanes < kWarp && lanes < n)
        lanes *= 2;
    return lanes;
}

/* Joins the accumulators of `lanes` neighbouring lanes by the tree of the project's sum. The first
 * of these lanes gets the sum. */
__device__ __forceinline__ double join_lanes(double acc, unsigned lanes = kWarp)
{
    for (unsigned half = lanes / 2; half > 0; half /= 2)
        acc += shfl_down(acc, half);
    return acc;
}

/* The accumulator of lane `mine` of `lanes` lanes over x[0..n), n <= GCB_SUM_BLOCK. `lanes` is
 * sum_lanes(n). `term` maps a float to a double. */
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

/* The accumulator of this lane over x[0..n), if all lanes of the warp share the sum. */
template <class Term>
__device__ __forceinline__ double lane_sum(const float *x, unsigned n, Term term)
{
    return lane_sum(x, n, lane(), kWarp, term);
}

/* The term of a sum of squares, for lane_sum. */
struct square_term {
    __device__ double operator()(float x) const
    {
        return gcb_reduce_square(x);
    }
};

/* ---- sums of many parts, in index order ---- */

constexpr unsigned kChain = 512; /* parts in shared memory at a time */
/* Parts in registers at a time, so that an addition waits only for the addition before it. */
constexpr unsigned kChainAhead = 32;

/* Shared memory of chain_sums: while one half of `part` is added up, the other half is filled. */
template <unsigned C> struct chain_room_of {
    double part[2][C][kChain];
};
using chain_room = chain_room_of<1>;

/* For each sum, copies up to kChain parts to `near`, from part number `from` on. Pads the last
 * parts with +0 to a multiple of kChainAhead, which does not change a sum that began with +0.
 * `threads` threads share the work; this is number `thread`. */
template <unsigned C>
__device__ __forceinline__ void copy_parts(double (&near)[C][kChain],
                                           const double *const (&part)[C], uint64_t from,
                                           uint64_t count, unsigned thread, unsigned threads)
{
    const uint64_t whole = pieces_of(count, kChainAhead) * kChainAhead;

    for (unsigned i = thread; i < kChain && from + i < whole; i += threads)
#pragma unroll
        for (unsigned c = 0; c < C; c++)
            near[c][i] = from + i < count ? part[c][from + i] : 0.0;
}

/* Returns total + near[0] + near[1] + ..., for n parts and the padding after them. Called by one
 * thread. */
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
static_assert(kChain % kChainAhead == 0, "add_parts must add whole runs of kChainAhead parts");

/*
 * Computes C sums at once, each total + part[c][0] + part[c][1] + ... in this order, with `count`
 * parts. Lane 0 of warp c adds up sum c and gets the result. Meanwhile the warps after the first C
 * copy the next parts to shared memory. Called by every thread of the block, which has more than C
 * warps. `room` may be used again after the next barrier.
 */
template <unsigned C>
__device__ __forceinline__ double chain_sums(chain_room_of<C> &room, double total,
                                             const double *const (&part)[C], uint64_t count)
{
    const unsigned warp = threadIdx.x / kWarp;
    unsigned now = 0;

    sync_block();
    copy_parts(room.part[0], part, 0, count, threadIdx.x, blockDim.x);
    for (uint64_t from = 0; from < count; from += kChain, now ^= 1) {
        sync_block();
        if (warp >= C)
            copy_parts(room.part[now ^ 1], part, from + kChain, count, threadIdx.x - C * kWarp,
                       blockDim.x - C * kWarp);
        else if (lane() == 0)
            total = add_parts(total, room.part[now][warp], elements_from(count, from, kChain));
    }
    return total;
}

/* Computes one sum, starting at 0.0; thread 0 gets it. */
__device__ __forceinline__ double chain_sum(chain_room &room, const double *part, uint64_t count)
{
    const double *const parts[] = {part};

    return chain_sums(room, 0.0, parts, count);
}

} /* namespace gcb */

#endif
