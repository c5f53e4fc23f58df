#include "kernels/reduce/reduce_cuda.h"

#include "kernels/cuda/group.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/cuda/warp.cuh"

namespace
{

using gcb::kTile;
using gcb::kTileEach;
using gcb::kTileThreads;

template <class Where> __global__ void max_bits(Where where)
{
    const gcb::block_work at = gcb::find_work(where);
    uint32_t most = 0;

    for (uint64_t tile = at.block; tile * kTile < at.item.in.n; tile += at.blocks) {
        float v[kTileEach];
        uint32_t m;

        gcb::load_floats(v, at.item.in.x, tile * kTile + threadIdx.x * kTileEach, at.item.in.n);
        m = gcb::largest_of(v);
        most = m > most ? m : most;
    }
    most = gcb::warp_max(most);
    if (gcb::lane() == 0 && most)
        gcb::atomic_max(&at.item.result->max_bits, most);
}

} /* namespace */

int gcb_cuda_max_bits(struct gcb_device_stream *s, const float *x, uint64_t n,
                      struct gcb_device_result *result)
{
    const gcb::single message = {{gcb_device_plain(x, n), nullptr, result, nullptr, 0, 0, 0}};

    return gcb::launch(max_bits<gcb::single>, gcb::grid_over(gcb::tile_count(n)), kTileThreads, 0,
                       s, message);
}

int gcb_cuda_max_bits_group(struct gcb_device_stream *s, const struct gcb_device_group *g)
{
    uint64_t tiles = 0;

    for (unsigned i = 0; i < g->count; i++)
        tiles += gcb::tile_blocks(g->items[i].in.n);
    return gcb::launch(max_bits<gcb::message_group>, tiles, kTileThreads, 0, s, gcb::grid_of(g, 0));
}
