#include "kernels/reduce/reduce_cuda.h"

#include "kernels/cuda/group.cuh"

using namespace gcb;

namespace
{

/* Raises result->max_bits of each message to the largest magnitude of its elements. */
template <class Where> __global__ void max_bits(Where where)
{
    const block_work at = find_work(where);
    uint32_t most = 0;

    for (uint64_t tile = at.block; tile * kTile < at.item.in.n; tile += at.blocks) {
        float v[kTileEach];

        load_floats(v, at.item.in.x, tile * kTile + threadIdx.x * kTileEach, at.item.in.n);
        most = larger(most, largest_of(v));
    }
    raise_by_warp(&at.item.result->max_bits, most);
}

} /* namespace */

int gcb_cuda_max_bits(gcb_device_stream *s, const float *x, uint64_t n, gcb_device_result *result)
{
    const single message = {{gcb_device_plain(x, n), nullptr, result, nullptr, 0, 0, 0}};

    return launch(max_bits<single>, grid_over(tile_count(n)), kTileThreads, 0, s, message);
}

int gcb_cuda_max_bits_group(gcb_device_stream *s, const gcb_device_group *g)
{
    uint64_t tiles = 0;

    /* The number of blocks in grid 0, which cut_tiles returned earlier. cut_tiles cannot be called
     * again, because it writes to the table while the stream may be copying it. */
    for (unsigned i = 0; i < g->count; i++)
        tiles += tile_blocks(g->items[i].in.n);
    return launch(max_bits<message_group>, tiles, kTileThreads, 0, s, grid_of(g, 0));
}
