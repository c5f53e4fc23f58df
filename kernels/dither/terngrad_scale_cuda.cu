/* Computes TernGrad's scaler: the largest magnitude, or a number of standard deviations. */
#include "kernels/dither/terngrad.cuh"

#include "kernels/memory/feedback.cuh"
#include "kernels/reduce/norm_elem.h"
#include "kernels/reduce/sum.cuh"

namespace gcb::terngrad
{
namespace
{
constexpr unsigned kWarps = kTileThreads / kWarp;

/* Layout of the scratch: the head, then the sums and the maximum of each sum block. */
struct block_sums {
    struct head *head;
    double *sum, *sum_sq;
    uint32_t *max_bits;
};

__device__ block_sums lay_out(const gcb_device_item &item)
{
    const uint64_t count = sum_blocks_of(item.in.n);
    uint8_t *const scratch = static_cast<uint8_t *>(item.scratch);
    double *const sum = reinterpret_cast<double *>(scratch + sizeof(struct head));

    return {reinterpret_cast<struct head *>(scratch), sum, sum + count,
            reinterpret_cast<uint32_t *>(sum + 2 * count)};
}

/* Measures one sum block with a warp. Adds error feedback to x. Reads each element once. */
template <bool sums> __device__ void measure_block(const gcb_device_item &item, uint64_t b)
{
    const gcb_device_input &in = item.in;
    const block_sums out = lay_out(item);
    const uint64_t from = b * GCB_SUM_BLOCK;
    const unsigned here = sum_block_size(in.n, b);
    double sum = 0.0, sum_sq = 0.0;
    uint32_t most = 0;

#pragma unroll 8
    for (unsigned i = lane(); i < here; i += kWarp) {
        const float v = needs_feedback(in) ? compensate(in, from + i) : in.x[from + i];

        if (needs_feedback(in))
            in.x[from + i] = v;
        most = larger(most, gcb_magnitude(v));
        if (sums) {
            sum += gcb_reduce_plain(v);
            sum_sq += gcb_reduce_square(v);
        }
    }
    most = warp_max(most);
    if (sums) {
        sum = join_lanes(sum);
        sum_sq = join_lanes(sum_sq);
    }
    if (here == 0 || lane() != 0)
        return;
    out.max_bits[b] = most;
    if (sums) {
        out.sum[b] = sum;
        out.sum_sq[b] = sum_sq;
    }
}

template <class Where, bool sums> __global__ void measure_sum_blocks(Where where)
{
    const block_work at = find_work(where);

    measure_block<sums>(at.item, at.block * uint64_t{kWarps} + threadIdx.x / kWarp);
}

struct add_room {
    chain_room_of<2> chain;
    double sum_sq;
    uint32_t max_bits;
};

/* Adds sum blocks [from, end) to the sums over the blocks before `from`; thread 0 gets the result.
 * Called by every thread of the block. */
__device__ measurement add_up(add_room &s, const block_sums &in, uint64_t from, uint64_t end,
                              bool sums)
{
    measurement all = from ? in.head->so_far : measurement{};
    uint32_t most = 0;

    if (threadIdx.x == 0)
        s.max_bits = all.max_bits;
    sync_block();
    for (uint64_t i = from + threadIdx.x; i < end; i += blockDim.x)
        most = larger(most, in.max_bits[i]);
    raise_by_warp(&s.max_bits, most);
    if (sums) {
        const double *const parts[] = {in.sum + from, in.sum_sq + from};
        const double before = threadIdx.x < kWarp ? all.sum : all.sum_sq;

        all.sum = chain_sums(s.chain, before, parts, end - from);
        if (threadIdx.x == kWarp)
            s.sum_sq = all.sum;
    }
    sync_block();
    all.sum_sq = s.sum_sq;
    all.max_bits = s.max_bits;
    return all;
}

/* For a long message. Block 0 adds up the sum blocks from `before` to `first`, which the previous
 * launch measured; the other blocks measure the sum blocks from `first` on. */
__global__ void measure_next(single where, uint64_t before, uint64_t first)
{
    if (blockIdx.x) {
        const uint64_t block = blockIdx.x - 1;

        measure_block<true>(where.item, first + block * kWarps + threadIdx.x / kWarp);
    } else {
        const block_sums in = lay_out(where.item);
        const measurement all = add_up(shared<add_room>(), in, before, first, true);

        if (threadIdx.x == 0)
            in.head->so_far = all;
    }
}

/* One block per message. Writes the scaler to the scratch and to the payload. The sum blocks before
 * `from` have already been added up. */
template <class Where> __global__ void choose_scaler(Where where, double clip, uint64_t from)
{
    const gcb_device_item item = find_item(where);
    const block_sums in = lay_out(item);
    const uint64_t n = item.in.n;
    const measurement all = add_up(shared<add_room>(), in, from, sum_blocks_of(n), clip != 0.0);
    const double limit = clip != 0.0 && n > 0
                             ? gcb_clip_of_sums(clip, all.sum, all.sum_sq, static_cast<double>(n))
                             : 0.0;

    if (threadIdx.x != 0)
        return;
    in.head->so_far = all;
    scale_of(item) = gcb_clipped_max(limit, all.max_bits);
    put_u32(item.payload, gcb_bits_of(scale_of(item)));
}

/* ---- launches ---- */

uint64_t measuring_blocks(uint64_t n)
{
    return blocks_over(sum_blocks_of(n), kWarps);
}

template <class Where>
int measure_all(gcb_device_stream *s, double clip, const launch_part<Where> &all)
{
    return launch(clip != 0.0 ? measure_sum_blocks<Where, true> : measure_sum_blocks<Where, false>,
                  all.grid, kTileThreads, 0, s, all.where);
}

/* The most measuring blocks of one launch; together they read 2^25 elements. While they do, one
 * thread block adds up the sums of the 2^25 elements before, in about the same time. */
constexpr uint64_t kMeasuring = 1024;

/* Measures the sum blocks of one message, and adds up all but the last launch's. Sets *added to the
 * number of sum blocks that were added up. */
void measure_long(gcb_device_stream *s, double clip, const launch_part<single> &all,
                  uint64_t *added)
{
    const uint64_t each = clip != 0.0 ? grid_over(all.grid, kMeasuring) : all.grid;

    measure_all<single>(s, clip, {all.where, each});
    *added = 0;
    for (uint64_t done = each; done < all.grid; done += each) {
        const uint64_t blocks = lesser(all.grid - done, each);

        launch(measure_next, 1 + blocks, kTileThreads, sizeof(add_room), s, all.where, *added,
               done * kWarps);
        *added = done * kWarps;
    }
}

template <class Where>
int launch_choose_scaler(gcb_device_stream *s, double clip, const launch_part<Where> &chosen,
                         uint64_t added)
{
    return launch(choose_scaler<Where>, chosen.grid, kTileThreads, sizeof(add_room), s,
                  chosen.where, clip, added);
}

} /* namespace */

int compute_scale(gcb_device_stream *s, const single &message, double clip)
{
    uint64_t added;

    measure_long(s, clip, {message, measuring_blocks(message.item.in.n)}, &added);
    return launch_choose_scaler<single>(s, clip, {message, 1}, added);
}

uint64_t cut_scale(const gcb_device_group *g)
{
    return cut_grid(g, 2, [](const gcb_device_item &i) { return measuring_blocks(i.in.n); });
}

int compute_scale(gcb_device_stream *s, const gcb_device_group *g, uint64_t blocks, double clip)
{
    measure_all<message_group>(s, clip, {grid_of(g, 2), blocks});
    return launch_choose_scaler<message_group>(s, clip, {grid_of(g, 2), g->count}, 0);
}

} /* namespace gcb::terngrad */

uint64_t gcb_cuda_terngrad_scratch(const gcb_cuda_terngrad *how, uint64_t n)
{
    return gcb::terngrad::scratch_bytes(n);
}
