#ifndef KERNELS_SLOT_TILES_CUH
#define KERNELS_SLOT_TILES_CUH

/*
 * Kernels that decode messages tile by tile. A class `Tile` reads the messages of a codec:
 *
 *   room            the shared memory that it needs
 *   size            elements of a tile
 *   operator()      sets v to this thread's elements of a tile and returns true. If the message is
 *                   damaged, sets the status of its result; v is then unspecified, and the function
 *                   may return false, in all threads of the block. All threads call it.
 */
#include "kernels/base/accumulate_elem.h"
#include "kernels/cuda/group.cuh"
#include "kernels/slot/slot_cuda.h"

namespace gcb
{

/* Decodes each message to the x of its item; a block of threads decodes a tile. */
template <class Where, class Tile>
__global__ void __launch_bounds__(kTileThreads, 5) decode_tiles(Where where, Tile tile)
{
    const tile_work at = find_tile(where, Tile::size);
    float v[kTileEach];

    if (tile(v, shared<typename Tile::room>(), at))
        store_runs(at.item.in.x, v, at.first, at.start + at.here);
}

/* Writes the weighted sum of the messages `p` to where.item.in.x; if p.joins, adds it to what is
 * there. */
template <class Tile> __global__ void sum_tiles(single where, Tile tile, gcb_cuda_payloads p)
{
    tile_work at = find_tile(where, Tile::size);
    const uint64_t end = at.start + at.here;
    float sum[kTileEach] = {}, v[kTileEach];

    if (p.joins)
        load_floats(sum, at.item.in.x, at.first, end);
    for (unsigned i = 0; i < p.count; i++) {
        at.item.payload = const_cast<uint8_t *>(p.first) + i * p.apart;
        at.item.result = p.result + i;
        if (tile(v, shared<typename Tile::room>(), at))
            for (unsigned e = 0; e < kTileEach; e++)
                sum[e] = gcb_accumulated(sum[e], v[e], p.weight[i]);
        sync_block(); /* the next message uses the same room */
    }
    store_runs(at.item.in.x, sum, at.first, end);
}

template <class Where, class Tile>
int launch_decode(gcb_device_stream *s, const launch_part<Where> &part, const Tile &tile)
{
    return launch(decode_tiles<Where, Tile>, part.grid, kTileThreads, sizeof(typename Tile::room),
                  s, part.where, tile);
}

template <class Tile>
int launch_sum(gcb_device_stream *s, const launch_part<single> &part, const Tile &tile,
               const gcb_cuda_payloads *p)
{
    return launch(sum_tiles<Tile>, part.grid, kTileThreads, sizeof(typename Tile::room), s,
                  part.where, tile, *p);
}

} /* namespace gcb */

#endif
