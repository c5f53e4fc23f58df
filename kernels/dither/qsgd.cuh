#ifndef KERNELS_DITHER_QSGD_CUH
#define KERNELS_DITHER_QSGD_CUH

/*
 * QSGD's buckets on the device: which elements share a norm, and who finds it. A tile that holds whole buckets, or the
 * whole message, finds the norms as it encodes (qsgd_cuda.cu); others have theirs from kernels in front of it
 * (qsgd_norms_cuda.cu).
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

__host__ __device__ inline bool tiles_hold_buckets(uint64_t bucket, uint64_t n)
{
    return n <= kTile || (bucket <= kTile && is_power_of_two(bucket));
}

inline uint64_t bucket_count(uint64_t bucket, uint64_t n)
{
    return (n + bucket - 1) / bucket;
}

/* floor(log2(v)), v not being 0. */
__device__ __forceinline__ unsigned log2_floor(uint32_t v)
{
    return 31 - clz(v);
}

/* How many buckets so many elements fill: most are a power of two, and a division takes as long as an element does. */
template <typename T> __device__ __forceinline__ T buckets_in(T count, T bucket)
{
    return is_power_of_two(bucket) ? count >> log2_floor(static_cast<uint32_t>(bucket))
                                   : count / bucket;
}

__device__ __forceinline__ uint64_t bucket_count(const struct gcb_device_item &item)
{
    return buckets_in(item.in.n + item.bucket - 1, item.bucket);
}

/* Where tiles hold whole buckets: those in front of tile `block`; if its bucket is no power of two, it is the only one. */
__device__ __forceinline__ uint64_t buckets_before(uint32_t block, unsigned bucket)
{
    return block * uint64_t{kTile >> log2_floor(bucket)};
}

/* ---- where a thread's elements stand among buckets ---- */

__device__ __forceinline__ unsigned at_most_each(uint64_t count)
{
    return count < kTileEach ? static_cast<unsigned>(count) : kTileEach;
}

struct run {
    uint64_t first;
    unsigned count;       /* elements that there are */
    unsigned end;         /* how many are of the first one's bucket */
    unsigned each;        /* of each bucket from there on; all three kTileEach at most */
    const uint32_t *norm; /* of the first one's bucket */

    /* Have all of them one norm? */
    __device__ __forceinline__ bool alike() const
    {
        return end >= count;
    }

    __device__ __forceinline__ float norm_of(unsigned i) const
    {
        const uint32_t *p = norm;

        for (unsigned next = end; next <= i; next += each)
            p++;
        return gcb_float_of(*p);
    }
};

/* `before` elements of the first one's bucket stand in front of it. */
__device__ __forceinline__ run run_of(uint64_t first, uint64_t n, uint64_t bucket, uint64_t before,
                                      const uint32_t *norm)
{
    return {first, first < n ? at_most_each(n - first) : 0, at_most_each(bucket - before),
            at_most_each(bucket), norm};
}

/* norm[0] is that of the message's first bucket. */
__device__ __forceinline__ run run_of_message(uint64_t first, uint64_t n, uint64_t bucket,
                                              const uint32_t *norm)
{
    const uint64_t b = buckets_in(first, bucket);

    return run_of(first, n, bucket, first - b * bucket, norm + b);
}

/* norm[0] is that of the tile's first bucket, which begins where the tile does. */
__device__ __forceinline__ run run_of_tile(uint64_t first, uint64_t n, unsigned bucket,
                                           const uint32_t *norm)
{
    const unsigned at = threadIdx.x * kTileEach, b = buckets_in(at, bucket);

    return run_of(first, n, bucket, at - b * bucket, norm + b);
}

/* Goes over a run's norms. */
struct walk {
    const uint32_t *norm;
    unsigned end, each;

    __device__ __forceinline__ explicit walk(const run &r) : norm(r.norm), end(r.end), each(r.each)
    {
    }

    /* Does another norm begin with element i, which is the next? */
    __device__ __forceinline__ bool turns(unsigned i)
    {
        if (i != end)
            return false;
        norm++;
        end += each;
        return true;
    }
};

/* ---- norms found in front of the encoder (qsgd_norms_cuda.cu) ---- */

/* Sums of squares of a bucket, in scratch. */
__host__ __device__ inline uint64_t sums_per_bucket(uint64_t bucket)
{
    return (bucket + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
}

int find_norms(struct gcb_device_stream *s, const one &message, bool l2);

/* Of a group, whose grids 1 and 2 are cut before its table is sent. */
struct norm_grids {
    uint64_t blocks; /* of maxima or sums of squares */
    uint64_t norms;  /* of norms from sums */
};

norm_grids cut_norms(const struct gcb_device_group *g, bool l2);
int find_norms(struct gcb_device_stream *s, const struct gcb_device_group *g,
               const norm_grids &grids, bool l2);

} /* namespace gcb::qsgd */

#endif
