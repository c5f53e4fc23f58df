#include "kernels/compare/compare_cuda.h"

#include "kernels/compare/compare_elem.h"
#include "kernels/reduce/sum.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / kWarp;
constexpr unsigned kSums = 5; /* xx, yy, xy, dd, d */

enum { SAME_SIGN, ZEROS, ZEROS_KEPT, NONFINITE, NONFINITE_KEPT, COUNTS };

/* The counts and the maximum of one sum block. */
struct counts {
    uint32_t of[COUNTS];
    uint32_t pad;
    double max_abs;
};

/* Layout of the scratch: the partial sums of all sum blocks, then their counts, aligned to 16
 * bytes. */
struct parts {
    double *sum; /* kSums arrays of `blocks` elements */
    counts *count;
    uint64_t blocks;
};

parts lay_out(void *scratch, uint64_t n)
{
    const uint64_t blocks = sum_blocks_of(n);
    double *const sum = static_cast<double *>(scratch);

    return {sum, reinterpret_cast<counts *>(sum + (kSums * blocks + 1) / 2 * 2), blocks};
}

/* Joins the counts of a warp's lanes; every lane gets the result. */
__device__ counts join_counts(counts c)
{
    for (unsigned k = 0; k < COUNTS; k++)
        c.of[k] = warp_add(c.of[k]);
    c.max_abs = warp_largest(c.max_abs);
    return c;
}

/* Adds one pair. An x that is infinite or NaN is only counted. */
__device__ void add_pair(double (&sum)[kSums], counts &c, float x, float y)
{
    gcb_compare_terms t;

    if (gcb_magnitude(x) >= GCB_INF_BITS) {
        c.of[NONFINITE]++;
        c.of[NONFINITE_KEPT] += gcb_bits_of(x) == gcb_bits_of(y);
        return;
    }
    t = gcb_compare_terms_of(x, y);
    sum[0] += t.xx;
    sum[1] += t.yy;
    sum[2] += t.xy;
    sum[3] += t.dd;
    sum[4] += t.d;
    c.max_abs = larger(c.max_abs, t.size);
    c.of[SAME_SIGN] += gcb_compare_same_sign(x, y);
    c.of[ZEROS] += x == 0.0f;
    c.of[ZEROS_KEPT] += x == 0.0f && y == 0.0f;
}

/* Each warp handles one sum block. */
__global__ void compare_blocks(parts out, const float *__restrict__ x, const float *__restrict__ y,
                               uint64_t n)
{
    const uint64_t b = warp_of_grid(), from = b * GCB_SUM_BLOCK;
    const unsigned here = sum_block_size(n, b);
    double sum[kSums] = {};
    counts c = {};

#pragma unroll 4
    for (unsigned i = lane(); i < here; i += kWarp)
        add_pair(sum, c, x[from + i], y[from + i]);
    c = join_counts(c);
    for (unsigned k = 0; k < kSums; k++) {
        sum[k] = join_lanes(sum[k]);
        if (here && lane() == 0)
            out.sum[k * out.blocks + b] = sum[k];
    }
    if (here && lane() == 0)
        out.count[b] = c;
}

struct join_room {
    chain_room_of<kSums> chain;
    double sum[kSums], max_abs[kWarps];
    uint64_t count[COUNTS];
};

/* Joins the sum blocks, with one block of threads: the sums in index order; the counts need no
 * order. */
__global__ void compare_join(gcb_cuda_comparison *out, parts in)
{
    join_room &s = shared<join_room>();
    const unsigned warp = threadIdx.x / kWarp;
    const double *const sums[kSums] = {in.sum, in.sum + in.blocks, in.sum + 2 * in.blocks,
                                       in.sum + 3 * in.blocks, in.sum + 4 * in.blocks};
    const double total = chain_sums(s.chain, 0.0, sums, in.blocks);
    uint64_t mine[COUNTS] = {};
    double most = 0.0;

    if (threadIdx.x < COUNTS)
        s.count[threadIdx.x] = 0;
#pragma unroll 8
    for (uint64_t i = threadIdx.x; i < in.blocks; i += blockDim.x) {
        const counts c = in.count[i];

        for (unsigned k = 0; k < COUNTS; k++)
            mine[k] += c.of[k];
        most = larger(most, c.max_abs);
    }
    sync_block();
    for (unsigned k = 0; k < COUNTS; k++)
        atomic_add(&s.count[k], mine[k]);
    most = warp_largest(most);
    if (lane() == 0) {
        s.max_abs[warp] = most;
        if (warp < kSums)
            s.sum[warp] = total;
    }
    sync_block();
    if (threadIdx.x != 0)
        return;
    for (unsigned w = 0; w < kWarps; w++)
        most = larger(most, s.max_abs[w]);
    *out = {s.sum[0],   s.sum[1],   s.sum[2],   s.sum[3],   s.sum[4],  most,
            s.count[0], s.count[1], s.count[2], s.count[3], s.count[4]};
}

} /* namespace */

uint64_t gcb_cuda_compare_scratch(uint64_t n)
{
    return (kSums * sum_blocks_of(n) + 1) / 2 * 2 * sizeof(double) +
           sum_blocks_of(n) * sizeof(counts);
}

int gcb_cuda_compare(gcb_device_stream *s, gcb_cuda_comparison *out, const float *x, const float *y,
                     uint64_t n, void *scratch)
{
    const parts p = lay_out(scratch, n);

    launch(compare_blocks, blocks_over(p.blocks, kWarps), kThreads, 0, s, p, x, y, n);
    return launch(compare_join, 1, kThreads, sizeof(join_room), s, out, p);
}
