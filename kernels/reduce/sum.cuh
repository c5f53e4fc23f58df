#ifndef KERNELS_REDUCE_SUM_CUH
#define KERNELS_REDUCE_SUM_CUH

/*
 * The project's sum of floats (kernels/reduce/reduce.h) on the device. A warp sums a block of
 * GCB_SUM_BLOCK elements, and lane j is accumulator j. Lanes are joined by the fixed tree. The sums
 * of these blocks are added in index order: by one thread or, with the same result but faster, by
 * all threads of a thread block (chain_sums).
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

/* The number of lanes that sum n floats: n rounded up to a power of two, at least 1 and at most a
 * warp. The accumulators of further lanes would be +0.0, which changes no sum. */
__host__ __device__ inline unsigned sum_lanes(uint64_t n)
{
    unsigned lanes = 1;

    while (lanes < kWarp && lanes < n)
        lanes *= 2;
    return lanes;
}

/* Joins the accumulators of `lanes` neighbouring lanes by the tree of the project's sum. The first
 * of these lanes gets the sum. Called by every lane of the warp. */
__device__ __forceinline__ double join_lanes(double acc, unsigned lanes = kWarp)
{
    for (unsigned half = lanes / 2; half > 0; half /= 2)
        acc += shfl_down(acc, half);
    return acc;
}

/* The accumulator of lane `mine` of `lanes` lanes over x[0..n), n <= GCB_SUM_BLOCK. `lanes` is at
 * least sum_lanes(n). `term` maps a float to a double. */
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

/* ---- sums of many parts, in index order ----
 *
 * Each thread adds a run of parts from a guessed start. Then one thread goes from run to run, knows
 * the true start of each run, and corrects the run's end. Doubles with the same exponent are
 * multiples of a unit. If the true start differs from the guess by an even multiple of the largest
 * unit in the run, the true end differs from the guessed end by the same amount: ties are rounded
 * to even, so an even shift rounds every sum the same way. This holds only if the shift changes no
 * sum's exponent. So each thread adds its run from four starts: the guess, and one, two and three
 * units above it. Four starts are enough if no sum has an exponent more than 1 above the guess's.
 * Otherwise the one thread adds the run again.
 */
constexpr unsigned kRun = 64; /* parts of a run */
constexpr unsigned kMostRuns = 256;
constexpr unsigned kStarts = 4;
constexpr int64_t kNear = 1 << 20; /* a run is used if its guess is off by fewer units */

/* A run that was added from `start`, and from 1, 2 and 3 units above it. `steady` is 1 if the ends
 * give the true end for every true start less than kNear units off. */
struct chain_run {
    double start, unit, end[kStarts];
    uint32_t steady;
};

/* Shared memory of chain_sums. */
template <unsigned C> struct chain_room_of {
    scan_room_of<double> scan;
    double total[C];
    chain_run run[C][kMostRuns + 1]; /* one more than are used: join_runs reads ahead */
};
using chain_room = chain_room_of<1>;

__device__ __forceinline__ uint64_t pattern_of(double v)
{
    uint64_t u;

    memcpy(&u, &v, sizeof(u));
    return u;
}

__device__ __forceinline__ double double_of(uint64_t pattern)
{
    double v;

    memcpy(&v, &pattern, sizeof(v));
    return v;
}

/* Returns total + part[0] + part[1] + ..., in this order. */
__device__ __forceinline__ double add_parts(double total, const double *part, unsigned n)
{
#pragma unroll 32
    for (unsigned i = 0; i < n; i++)
        total += part[i];
    return total;
}

/* The run of n parts from this start. It is steady if each sum, and the start, is further than
 * 2^-20 of itself from a power of two, and no sum has an exponent more than 1 above or more than 11
 * below the start's. */
__device__ __forceinline__ chain_run guess_run(double start, const double *part, unsigned n)
{
    const uint32_t first = pattern_of(start) >> 32 & GCB_MAGNITUDE_MASK;
    uint32_t least = first, most = first, inner = (first + 1) & 0xfffff;
    chain_run r = {start, double_of(pattern_of(start) + 1) - start, {}, 0};

    for (unsigned k = 0; k < kStarts; k++)
        r.end[k] = double_of(pattern_of(start) + k);
#pragma unroll 8
    for (unsigned i = 0; i < n; i++) {
#pragma unroll
        for (unsigned k = 0; k < kStarts; k++)
            r.end[k] += part[i];
        const uint32_t high = pattern_of(r.end[0]) >> 32 & GCB_MAGNITUDE_MASK;

        least = lesser(least, high);
        most = larger(most, high);
        inner = lesser(inner, (high + 1) & 0xfffff);
    }
    r.steady = inner > 1 && most >> 20 <= (first >> 20) + 1 && (least >> 20) + 11 >= first >> 20;
    return r;
}

/* Returns total + part[0] + part[1] + ..., in this order, from the runs that guess_run made of the
 * n parts. Called by one thread. */
__device__ __forceinline__ double join_runs(const chain_run *run, double total, const double *part,
                                            unsigned n)
{
    chain_run next = run[0];

    for (unsigned i = 0; i < n; i += kRun) {
        const chain_run r = next;
        const int64_t off = static_cast<int64_t>(pattern_of(total) - pattern_of(r.start));
        const unsigned k = off & (kStarts - 1);
        const double even = k & 2 ? r.end[2] : r.end[0], odd = k & 2 ? r.end[3] : r.end[1];

        next = *++run;
        if (off == 0)
            total = r.end[0];
        else if (r.steady && off > -kNear && off < kNear)
            total = (k & 1 ? odd : even) + static_cast<double>(off - k) * r.unit;
        else
            total = add_parts(total, part + i, lesser(n - i, kRun));
    }
    return total;
}

/*
 * Computes C sums at once, each total + part[c][0] + part[c][1] + ... in this order, with `count`
 * parts. Lane 0 of warp c gives the start of sum c and gets the result. Called by every thread of
 * the block, which has at least C warps. `room` may be used again after the next barrier.
 */
template <unsigned C>
__device__ __forceinline__ double chain_sums(chain_room_of<C> &room, double total,
                                             const double *const (&part)[C], uint64_t count)
{
    const unsigned warp = threadIdx.x / kWarp, most = lesser(blockDim.x, kMostRuns) * kRun;
    const bool joins = warp < C && lane() == 0;
    const double *own = part[0];

#pragma unroll
    for (unsigned c = 1; c < C; c++)
        own = warp == c ? part[c] : own;
    for (uint64_t from = 0; from < count; from += most) {
        const unsigned n = elements_from(count, from, most), first = threadIdx.x * kRun;
        const unsigned here = first < n ? elements_from(n, first, kRun) : 0;

        if (joins)
            room.total[warp] = total;
        sync_block();
#pragma unroll
        for (unsigned c = 0; c < C; c++) {
            const double *const mine = part[c] + from + first;
            double all;
            const double before = scan_block(room.scan, add_parts(0.0, mine, here), &all);

            if (here)
                room.run[c][threadIdx.x] = guess_run(room.total[c] + before, mine, here);
        }
        sync_block();
        if (joins)
            total = join_runs(room.run[warp], total, own + from, n);
    }
    return total;
}

/* Like chain_sums, for one sum that starts at 0.0. Thread 0 gets the sum. */
__device__ __forceinline__ double chain_sum(chain_room &room, const double *part, uint64_t count)
{
    const double *const parts[] = {part};

    return chain_sums(room, 0.0, parts, count);
}

} /* namespace gcb */

#endif
