#ifndef KERNELS_CUDA_GROUP_CUH
#define KERNELS_CUDA_GROUP_CUH

/*
 * For kernels that serve one message or a group of messages (kernels/cuda/group.h). Such a kernel
 * is a template of `Where`. It calls find_work, find_tile or find_item to get the message of its
 * block. If Where is `single`, the message is in the kernel's arguments, so there is nothing to
 * search.
 */
#include "kernels/cuda/group.h"
#include "kernels/cuda/tile.cuh"

namespace gcb
{

/* A message by itself. Kernels that use many registers subtract `fewer` from the number of blocks
 * per multiprocessor in their launch bound. For a group `fewer` is 1, because the same kernels then
 * use more registers. */
struct single {
    static constexpr unsigned fewer = 0;
    gcb_device_item item;
};

/* A group of messages, and one way to cut it into blocks: first[i] is the first block of message
 * i. */
struct message_group {
    static constexpr unsigned fewer = 1;
    const gcb_device_item *items;
    const uint32_t *first;
    unsigned count;
};

/* The message of a thread block. The block is number `block` of the message's `blocks`. */
struct block_work {
    gcb_device_item item;
    uint32_t block, blocks;
};

__device__ __forceinline__ block_work find_work(const single &where)
{
    return {where.item, blockIdx.x, gridDim.x};
}

/* Searches for the last message whose first block is at or before this block. A message without
 * blocks is not found: a later message has the same first block, or the grid ends there. Called by
 * every thread of the block. Each warp compares 32 messages at a time, so two steps are enough for
 * a thousand messages. */
__device__ __forceinline__ block_work find_work(const message_group &where)
{
    unsigned from = 0, left = where.count;

    while (left > 1) {
        const unsigned step = pieces_of(left, kWarp), mine = lane() * step;
        const bool begun = mine < left && where.first[from + mine] <= blockIdx.x;
        const unsigned skip = (popc(ballot(begun)) - 1) * step;

        from += skip;
        left = lesser(left - skip, step);
    }
    const uint32_t end = from + 1 < where.count ? where.first[from + 1] : gridDim.x;

    return {where.items[from], blockIdx.x - where.first[from], end - where.first[from]};
}

/* A block's part of a message: `here` elements from `start` on. This thread's elements, up to 16 of
 * them, begin at `first`. */
struct tile_work : block_work {
    uint64_t start, first;
    unsigned here;
};

/* This block's part, if each block handles `size` elements: a multiple of 16, at most kTile. */
template <class Where>
__device__ __forceinline__ tile_work find_tile(const Where &where, unsigned size = kTile)
{
    const block_work at = find_work(where);
    const uint64_t start = at.block * uint64_t{size};

    return {at, start, start + threadIdx.x * kTileEach, elements_from(at.item.in.n, start, size)};
}

/* Finds the message of a block in a grid with one block per message. */
__device__ __forceinline__ const gcb_device_item &find_item(const single &where)
{
    return where.item;
}

__device__ __forceinline__ const gcb_device_item &find_item(const message_group &where)
{
    return where.items[blockIdx.x];
}

/* ---- launches, on the host ---- */

/* The messages of one launch, and its number of blocks. */
template <class Where> struct launch_part {
    Where where;
    uint64_t grid;
};

/* Divides grid `grid` among the messages: `blocks_of` gives the number of blocks of an item. Writes
 * the first block of each message to the table. Returns the number of blocks of the grid. */
template <class BlocksOf>
uint64_t cut_grid(const gcb_device_group *g, unsigned grid, BlocksOf blocks_of)
{
    uint32_t *first = g->first + grid * static_cast<size_t>(g->count);
    uint64_t blocks = 0;

    for (unsigned i = 0; i < g->count; i++) {
        first[i] = static_cast<uint32_t>(blocks);
        blocks += blocks_of(g->items[i]);
    }
    return blocks;
}

/* The group, cut into blocks by grid `grid`: the argument of a kernel. */
inline message_group grid_of(const gcb_device_group *g, unsigned grid)
{
    return {g->items_dev, g->first_dev + grid * static_cast<size_t>(g->count), g->count};
}

/* Blocks of a message of n elements if each block handles one tile; at least one. */
inline uint64_t tile_blocks(uint64_t n)
{
    return blocks_over(n, kTile);
}

/* Divides grid 0 among the messages, one block per tile. Returns the number of blocks. Every
 * launcher that sends a group's table calls this function, because gcb_cuda_max_bits_group, which
 * runs after an encoder, uses grid 0 of the same table. */
inline uint64_t cut_tiles(const gcb_device_group *g)
{
    return cut_grid(g, 0, [](const gcb_device_item &item) { return tile_blocks(item.in.n); });
}

/* One message as the argument of a kernel: single_encode is for encoders that draw no random
 * numbers, single_decode for decoders without scratch. */
inline single single_encode(uint8_t *out, const gcb_device_input *in, void *scratch,
                            gcb_device_result *result)
{
    return {{*in, out, result, scratch, 0, 0, 0}};
}

inline single single_decode(float *out, const uint8_t *in, uint64_t n, gcb_device_result *result)
{
    return {{{out, n, nullptr, 0.0f, 0}, const_cast<uint8_t *>(in), result, nullptr, 0, 0, 0}};
}

/* Queues the copy of the group's table to the device. The caller has divided all grids that its
 * kernels use among the messages (cut_grid). Returns 0, GCB_E_DEVICE or GCB_E_NOMEM. */
inline int send_table(gcb_device_stream *s, const gcb_device_group *g)
{
    return GCB_CUDA(&s->fault, cudaMemcpyAsync(const_cast<gcb_device_item *>(g->items_dev),
                                               g->items, gcb_device_group_bytes(g->count),
                                               cudaMemcpyHostToDevice, s->handle));
}

} /* namespace gcb */

#endif
