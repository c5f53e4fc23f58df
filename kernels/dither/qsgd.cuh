#ifndef KERNELS_DITHER_QSGD_CUH
#define KERNELS_DITHER_QSGD_CUH

/*
 * QSGD's buckets on the device: which elements share a norm, and which kernel computes it. If tiles
 * hold whole buckets, or the whole message, the encoder computes the norms itself (qsgd_cuda.cu).
 * Otherwise separate kernels run before it (qsgd_norms_cuda.cu).
 */
#include "kernels/cuda/group.cuh"
#include "kernels/dither/dither_cuda.h"
#include "kernels/reduce/norm_elem.h"
#include "kernels/reduce/sum.cuh"

namespace gcb::qsgd
{

__host__ __device__ inline bool is_power_of_two(uint64_t v)
{
    return (v & (v - 1)) == 0;
}

/* True if every tile of a message of n elements has whole buckets, or the whole message. */
__host__ __device__ inline bool tiles_hold_buckets(uint64_t bucket, uint64_t n)
{
    return n <= kTile || (bucket <= kTile && is_power_of_two(bucket));
}

inline uint64_t bucket_count(uint64_t bucket, uint64_t n)
{
    return pieces_of(n, bucket);
}

/* count / bucket, rounded down. Most bucket sizes are powers of two, for which a shift is enough. A
 * division would take as long as the rest of the work on an element. */
template <typename T> __device__ __forceinline__ T buckets_in(T count, T bucket)
{
    return is_power_of_two(bucket) ? count >> gcb_log2_floor(static_cast<uint32_t>(bucket))
                                   : count / bucket;
}

__device__ __forceinline__ uint64_t bucket_count(const gcb_device_item &item)
{
    return buckets_in(item.in.n + item.bucket - 1, item.bucket);
}

/* The number of buckets before tile `block` of a message whose tiles hold whole buckets. If the
 * bucket size is not a power of two, such a message has only one tile, and the result is 0. */
__device__ __forceinline__ uint64_t buckets_before(uint32_t block, unsigned bucket)
{
    return block * uint64_t{kTile >> gcb_log2_floor(bucket)};
}

/* ---- how a thread's elements lie among the buckets ---- */

__device__ __forceinline__ unsigned at_most_each(uint64_t count)
{
    return static_cast<unsigned>(lesser<uint64_t>(count, kTileEach));
}

/* A thread's run of elements, and the norms of their buckets. */
struct norm_run {
    uint64_t first;
    unsigned count;       /* elements of the message in this run */
    unsigned end;         /* elements that belong to the first element's bucket */
    unsigned each;        /* elements per bucket after that; all three are at most kTileEach */
    const uint32_t *norm; /* norm of the first element's bucket */

    /* True if all elements share one norm. */
    __device__ __forceinline__ bool has_one_norm() const
    {
        return end >= count;
    }

    /* The norm of element i of the run. */
    __device__ __forceinline__ float norm_of(unsigned i) const
    {
        const uint32_t *p = norm;

        for (unsigned next = end; next <= i; next += each)
            p++;
        return gcb_float_of(*p);
    }
};

/* The run that begins at `first`. `before` is the number of elements before it in the same bucket,
 * and `norm` points to the norm of this bucket. */
__device__ __forceinline__ norm_run run_of(uint64_t first, uint64_t n, uint64_t bucket,
                                           uint64_t before, const uint32_t *norm)
{
    return {first, first < n ? at_most_each(n - first) : 0, at_most_each(bucket - before),
            at_most_each(bucket), norm};
}

/* The run that begins at `first`; norm[0] belongs to the message's first bucket. */
__device__ __forceinline__ norm_run run_of_message(uint64_t first, uint64_t n, uint64_t bucket,
                                                   const uint32_t *norm)
{
    const uint64_t b = buckets_in(first, bucket);

    return run_of(first, n, bucket, first - b * bucket, norm + b);
}

/* This thread's run of a tile; norm[0] belongs to the tile's first bucket, which begins where the
 * tile does. */
__device__ __forceinline__ norm_run run_of_tile(uint64_t first, uint64_t n, unsigned bucket,
                                                const uint32_t *norm)
{
    const unsigned at = threadIdx.x * kTileEach, b = buckets_in(at, bucket);

    return run_of(first, n, bucket, at - b * bucket, norm + b);
}

/* Steps through the norms of a run's buckets; `norm` points to the norm of the current bucket. */
struct norm_walk {
    const uint32_t *norm;
    unsigned end, each;

    __device__ __forceinline__ explicit norm_walk(const norm_run &r)
        : norm(r.norm), end(r.end), each(r.each)
    {
    }

    /* Moves to the next bucket if it begins with element i, and returns true then. Called for all
     * elements of the run, in order. */
    __device__ __forceinline__ bool next_bucket(unsigned i)
    {
        if (i != end)
            return false;
        norm++;
        end += each;
        return true;
    }
};

/* ---- norms computed before the encoder runs (qsgd_norms_cuda.cu) ---- */

/* The number of partial sums of squares of a bucket, in scratch. */
__host__ __device__ inline uint64_t sums_per_bucket(uint64_t bucket)
{
    return sum_blocks_of(bucket);
}

/* Writes the norms of a message's buckets to its payload: L2 norms, or largest magnitudes. Adds
 * error feedback to x. Used only if tiles do not hold whole buckets. */
int compute_norms(gcb_device_stream *s, const single &message, bool l2);

/* The sizes of grids 1 and 2 of a group of messages. cut_norms divides these grids among the
 * messages, before the group's table is copied to the device; compute_norms launches them. Messages
 * whose tiles hold whole buckets get no blocks, so their norms and x are left as they are. */
struct norm_grids {
    uint64_t blocks; /* blocks for maxima or sums of squares */
    uint64_t norms;  /* blocks for computing L2 norms from the sums; else 0 */
};

norm_grids cut_norms(const gcb_device_group *g, bool l2);
int compute_norms(gcb_device_stream *s, const gcb_device_group *g, const norm_grids &grids,
                  bool l2);

} /* namespace gcb::qsgd */

#endif
