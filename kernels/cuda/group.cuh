#ifndef KERNELS_CUDA_GROUP_CUH
#define KERNELS_CUDA_GROUP_CUH

/*
 * Kernels that run for one message or for a group (kernels/cuda/group.h): they are templates of `Where`, and ask
 * find(where) which message their block is of. For `one` that is what stood in the arguments before, at no cost.
 */
#include "kernels/cuda/group.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/warp.cuh"

namespace gcb
{

/* A message by itself. */
struct one {
    struct gcb_device_item item;
};

/* A group, cut into blocks in one way. */
struct many {
    const struct gcb_device_item *items;
    const uint32_t *first;
    unsigned count;
};

/* The message of a block, which is the `block`th of its `blocks`. */
struct place {
    struct gcb_device_item item;
    uint32_t block, blocks;
};

__device__ __forceinline__ place find(const one &where)
{
    return {where.item, blockIdx.x, gridDim.x};
}

/* The last message that begins at this block or before it: those that have no blocks begin where another does. Every
 * thread of the block; each warp looks at 32 messages at a time, so that two steps do for a thousand. */
__device__ __forceinline__ place find(const many &where)
{
    unsigned from = 0, left = where.count;

    while (left > 1) {
        const unsigned step = (left + kWarp - 1) / kWarp, mine = lane() * step;
        const bool begun = mine < left && where.first[from + mine] <= blockIdx.x;
        const unsigned skip = (popc(ballot(begun)) - 1) * step;

        from += skip;
        left = left - skip < step ? left - skip : step;
    }
    const uint32_t end = from + 1 < where.count ? where.first[from + 1] : gridDim.x;

    return {where.items[from], blockIdx.x - where.first[from], end - where.first[from]};
}

/* The same in a grid of one block a message. */
__device__ __forceinline__ const struct gcb_device_item &find_whole(const one &where)
{
    return where.item;
}

__device__ __forceinline__ const struct gcb_device_item &find_whole(const many &where)
{
    return where.items[blockIdx.x];
}

/* ---- on the host ---- */

/* Messages as one of a launcher's steps cuts them, and its blocks. */
template <class Where> struct step {
    Where where;
    uint64_t grid;
};

/* Cuts grid `grid`: `blocks_of` gives the blocks of an item. Returns how many there are. */
template <class BlocksOf>
uint64_t cut(const struct gcb_device_group *g, unsigned grid, BlocksOf blocks_of)
{
    uint32_t *first = g->first + grid * static_cast<size_t>(g->count);
    uint64_t blocks = 0;

    for (unsigned i = 0; i < g->count; i++) {
        first[i] = static_cast<uint32_t>(blocks);
        blocks += blocks_of(g->items[i]);
    }
    return blocks;
}

inline many grid_of(const struct gcb_device_group *g, unsigned grid)
{
    return {g->items_dev, g->first_dev + grid * static_cast<size_t>(g->count), g->count};
}

/* Blocks that take a tile each of an item: one at least. */
inline uint64_t tile_grid(uint64_t n)
{
    return n ? tile_count(n) : 1;
}

/* Cuts grid 0, which every launcher of a group does, in tiles. */
inline uint64_t cut_tiles(const struct gcb_device_group *g)
{
    return cut(g, 0, [](const struct gcb_device_item &item) { return tile_grid(item.in.n); });
}

/* A message by itself, of an encoder without draws; and of a decoder. */
inline one encoded(uint8_t *out, const struct gcb_device_input *in, void *scratch,
                   struct gcb_device_result *result)
{
    return {{*in, out, result, scratch, 0, 0, 0}};
}

inline one decoded(float *out, const uint8_t *in, uint64_t n, struct gcb_device_result *result)
{
    return {{{out, n, nullptr, 0.0f, 0}, const_cast<uint8_t *>(in), result, nullptr, 0, 0, 0}};
}

/* Queues the copy of the table, its grids all cut. */
inline int send(struct gcb_device_stream *s, const struct gcb_device_group *g)
{
    return GCB_CUDA(&s->fault, cudaMemcpyAsync(const_cast<struct gcb_device_item *>(g->items_dev),
                                               g->items, gcb_device_group_bytes(g->count),
                                               cudaMemcpyHostToDevice, s->handle));
}

} /* namespace gcb */

#endif
