/* Computes the norms of a message whose tiles do not hold whole buckets, and writes them to the
 * payload. */
#include "kernels/dither/qsgd.cuh"
#include "kernels/memory/feedback.cuh"

namespace gcb::qsgd
{

namespace
{

constexpr unsigned kNormThreads = 128;
/* One thread adds a bucket's partial sums if there are at most this many; else a block of threads
 * does. */
constexpr unsigned kFewSums = 32;

__host__ __device__ uint64_t norms_per_block(uint64_t bucket)
{
    return sums_per_bucket(bucket) <= kFewSums ? kNormThreads : 1;
}

__device__ uint32_t *norms_of(const block_work &at)
{
    return reinterpret_cast<uint32_t *>(at.item.payload);
}

/* ---- largest magnitudes ---- */

/* Sets the norms to 0 in those messages of a group whose norms bucket_maxima computes. */
__global__ void clear_norms(message_group where)
{
    const gcb_device_item &item = find_item(where);
    const uint64_t buckets = tiles_hold_buckets(item.bucket, item.in.n) ? 0 : bucket_count(item);

    for (uint64_t b = threadIdx.x; b < buckets; b += blockDim.x)
        reinterpret_cast<uint32_t *>(item.payload)[b] = 0;
}

/* True if all elements of the warp belong to the first lane's bucket. Called by every thread of
 * the warp. */
__device__ bool warp_has_one_norm(const norm_run &r)
{
    const uint64_t norm = reinterpret_cast<uintptr_t>(r.norm);
    const uint64_t first = shfl(norm, 0);

    return ballot(r.count && (!r.has_one_norm() || norm != first)) == 0;
}

/* Raises norms, which were set to 0 before, to the maxima of their buckets. Adds error feedback to
 * x. If a whole warp shares a bucket, one thread does one atomic operation, because atomic
 * operations on the same norm wait for each other. */
template <class Where> __global__ void bucket_maxima(Where where)
{
    const block_work at = find_work(where);
    const gcb_device_input &in = at.item.in;
    const uint64_t first = at.block * uint64_t{kTile} + threadIdx.x * kTileEach;
    const norm_run r = run_of_message(first, in.n, at.item.bucket, norms_of(at));
    uint32_t *norm = const_cast<uint32_t *>(r.norm);
    unsigned end = r.end;
    uint32_t most = 0;
    float v[kTileEach];

    load_input(v, in, first);
    if (warp_has_one_norm(r)) {
        most = warp_max(largest_of(v));
        if (lane() == 0 && r.count)
            atomic_max(norm, most);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        if (i == end && i < r.count) {
            atomic_max(norm++, most);
            end += r.each;
            most = 0;
        }
        most = larger(most, gcb_magnitude(v[i])); /* missing elements are +0 */
    }
    if (r.count)
        atomic_max(norm, most);
}

/* ---- L2 norms ---- */

/* Computes the sum of squares of each sum block (kernels/reduce/sum.cuh) of every bucket; `lanes`
 * lanes share a sum block. Adds error feedback to x. */
template <class Where> __global__ void bucket_squares(Where where)
{
    const block_work at = find_work(where);
    const gcb_device_input &in = at.item.in;
    const uint64_t bucket = at.item.bucket, per_bucket = sums_per_bucket(bucket);
    const unsigned lanes = sum_lanes(bucket), mine = threadIdx.x % lanes;
    const uint64_t i = (at.block * uint64_t{kTileThreads} + threadIdx.x) / lanes;
    const uint64_t b = i / per_bucket, start = b * bucket;
    const uint64_t from = start + i % per_bucket * GCB_SUM_BLOCK;
    const uint64_t end = lesser(start + bucket, in.n);
    double sum = 0.0;

    if (from < end) {
        const unsigned here = elements_from(end, from, GCB_SUM_BLOCK);

        if (needs_feedback(in)) /* no barrier: lane_sum makes each lane read what it writes here */
            for (unsigned k = mine; k < here; k += lanes)
                in.x[from + k] = compensate(in, from + k);
        sum = lane_sum(in.x + from, here, mine, lanes, square_term());
    }
    sum = join_lanes(sum, lanes);
    if (start < in.n && mine == 0) /* in a short last bucket, sums without elements are 0 */
        static_cast<double *>(at.item.scratch)[i] = sum;
}

/* Computes the norms from the sums: one thread per bucket or, if a bucket has many sums, one block
 * per bucket. */
template <class Where> __global__ void bucket_norms(Where where)
{
    const block_work at = find_work(where);
    const uint64_t per_bucket = sums_per_bucket(at.item.bucket), buckets = bucket_count(at.item);
    const double *const part = static_cast<const double *>(at.item.scratch);
    const uint64_t each = norms_per_block(at.item.bucket);

    for (uint64_t from = at.block * each; from < buckets; from += at.blocks * each) {
        const uint64_t b = each == 1 ? from : from + threadIdx.x;
        double sum = 0.0;

        if (each == 1)
            sum = chain_sum(shared<chain_room>(), part + b * per_bucket, per_bucket);
        else if (b < buckets)
            for (uint64_t i = 0; i < per_bucket; i++)
                sum += part[b * per_bucket + i];
        if (each == 1 ? threadIdx.x == 0 : b < buckets)
            norms_of(at)[b] = gcb_bits_of(gcb_norm_of_squares(sum));
    }
}

/* ---- launches ---- */

uint64_t blocks_of_sums(const gcb_device_item &item)
{
    return pieces_of(bucket_count(item.bucket, item.in.n) * sums_per_bucket(item.bucket),
                     kTileThreads / sum_lanes(item.bucket));
}

uint64_t blocks_of_norms(const gcb_device_item &item)
{
    return pieces_of(bucket_count(item.bucket, item.in.n), norms_per_block(item.bucket));
}

template <class Where>
int launch_l2(gcb_device_stream *s, const launch_part<Where> &squares,
              const launch_part<Where> &norms)
{
    launch(bucket_squares<Where>, squares.grid, kTileThreads, 0, s, squares.where);
    return launch(bucket_norms<Where>, norms.grid, kNormThreads, sizeof(chain_room), s,
                  norms.where);
}

/* Divides a grid among the messages whose norms are computed here. */
template <class BlocksOf>
uint64_t cut_separate(const gcb_device_group *g, unsigned grid, BlocksOf blocks_of)
{
    return cut_grid(g, grid, [&](const gcb_device_item &item) {
        return tiles_hold_buckets(item.bucket, item.in.n) ? 0 : blocks_of(item);
    });
}

} /* namespace */

int compute_norms(gcb_device_stream *s, const single &message, bool l2)
{
    const gcb_device_item &item = message.item;

    if (l2)
        return launch_l2<single>(s, {message, blocks_of_sums(item)},
                                 {message, grid_over(blocks_of_norms(item), kManyBlocks)});
    clear(s, item.payload, bucket_count(item.bucket, item.in.n) * sizeof(float));
    return launch(bucket_maxima<single>, tile_blocks(item.in.n), kTileThreads, 0, s, message);
}

norm_grids cut_norms(const gcb_device_group *g, bool l2)
{
    if (l2)
        return {cut_separate(g, 1, blocks_of_sums), cut_separate(g, 2, blocks_of_norms)};
    return {cut_separate(g, 1, [](const gcb_device_item &item) { return tile_blocks(item.in.n); }),
            0};
}

int compute_norms(gcb_device_stream *s, const gcb_device_group *g, const norm_grids &grids, bool l2)
{
    if (!grids.blocks)
        return 0;
    if (l2)
        return launch_l2<message_group>(s, {grid_of(g, 1), grids.blocks},
                                        {grid_of(g, 2), grids.norms});
    launch(clear_norms, g->count, kTileThreads, 0, s, grid_of(g, 0));
    return launch(bucket_maxima<message_group>, grids.blocks, kTileThreads, 0, s, grid_of(g, 1));
}

} /* namespace gcb::qsgd */
