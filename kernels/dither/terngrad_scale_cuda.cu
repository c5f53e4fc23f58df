/* Computes TernGrad's scaler: the largest magnitude or, with clipping, a number of standard
 * deviations if that is smaller and not 0. */
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

/* Adds up `count` sum blocks; thread 0 gets the result. Called by every thread of the block. */
__device__ measurement add_up(add_room &s, const block_sums &in, uint64_t count, bool sums)
{
    measurement all = {};
    uint32_t most = 0;

    if (threadIdx.x == 0)
        s.max_bits = 0;
    sync_block();
#pragma unroll 8
    for (uint64_t i = threadIdx.x; i < count; i += blockDim.x)
        most = larger(most, in.max_bits[i]);
    raise_by_warp(&s.max_bits, most);
    if (sums) {
        const double *const parts[] = {in.sum, in.sum_sq};

        all.sum = chain_sums(s.chain, 0.0, parts, count);
        if (threadIdx.x == kWarp)
            s.sum_sq = all.sum;
    }
    sync_block();
    all.sum_sq = s.sum_sq;
    all.max_bits = s.max_bits;
    return all;
}

/* One block per message. Writes the scaler to the scratch and to the payload, and the measurement
 * to the scratch. */
template <class Where> __global__ void choose_scaler(Where where, double clip)
{
    const gcb_device_item item = find_item(where);
    const block_sums in = lay_out(item);
    const uint64_t n = item.in.n;
    const measurement all = add_up(shared<add_room>(), in, sum_blocks_of(n), clip != 0.0);
    const double limit = clip != 0.0 && n > 0
                             ? gcb_clip_of_sums(clip, all.sum, all.sum_sq, static_cast<double>(n))
                             : 0.0;

    if (threadIdx.x != 0)
        return;
    in.head->all = all;
    scale_of(item) = gcb_clipped_max(limit, all.max_bits);
    put_u32(item.payload, gcb_bits_of(scale_of(item)));
}

/* ---- launches ---- */

uint64_t measuring_blocks(uint64_t n)
{
    return blocks_over(sum_blocks_of(n), kWarps);
}

template <class Where>
int launch_scale(gcb_device_stream *s, double clip, const launch_part<Where> &measured,
                 uint64_t messages)
{
    launch(clip != 0.0 ? measure_sum_blocks<Where, true> : measure_sum_blocks<Where, false>,
           measured.grid, kTileThreads, 0, s, measured.where);
    return launch(choose_scaler<Where>, messages, kTileThreads, sizeof(add_room), s, measured.where,
                  clip);
}

} /* namespace */

int compute_scale(gcb_device_stream *s, const single &message, double clip)
{
    return launch_scale<single>(s, clip, {message, measuring_blocks(message.item.in.n)}, 1);
}

uint64_t cut_scale(const gcb_device_group *g)
{
    return cut_grid(g, 2, [](const gcb_device_item &i) { return measuring_blocks(i.in.n); });
}

int compute_scale(gcb_device_stream *s, const gcb_device_group *g, uint64_t blocks, double clip)
{
    return launch_scale<message_group>(s, clip, {grid_of(g, 2), blocks}, g->count);
}

} /* namespace gcb::terngrad */

uint64_t gcb_cuda_terngrad_scratch(const gcb_cuda_terngrad *how, uint64_t n)
{
    return gcb::terngrad::scratch_bytes(n);
}
