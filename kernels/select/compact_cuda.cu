#include "kernels/select/select_cuda.cuh"
#include "kernels/select/values_cuda.h"

using namespace gcb;

namespace
{

/* The tiles [begin, end) of a block. Both kernels below give a block the same tiles. */
struct tile_range {
    uint64_t begin, end;
};

__device__ tile_range tiles_of_block(uint64_t tiles)
{
    const uint64_t each = pieces_of(tiles, gridDim.x), begin = lesser(blockIdx.x * each, tiles);

    return {begin, lesser(begin + each, tiles)};
}

/* True if an element is on the kept side. With keep.mask 0, all elements are. */
__device__ bool is_on_side(uint32_t bits, const kept_side &keep)
{
    return (bits & keep.mask) == keep.sign;
}

/* Puts two counts into one word, so that one sum adds up both: entries above the kept magnitude in
 * the low 32 bits, ties in the high 32 bits. */
__device__ uint64_t join_counts(uint32_t above, uint32_t ties)
{
    return above + (static_cast<uint64_t>(ties) << 32);
}

__device__ uint32_t ties_of(uint64_t counts)
{
    return static_cast<uint32_t>(counts >> 32);
}

/* The number of kept entries among those counted; at most `most` ties are kept. */
__device__ uint32_t kept_of(uint64_t counts, uint32_t most)
{
    return static_cast<uint32_t>(counts) + lesser(ties_of(counts), most);
}

using count_room = scan_room_of<uint64_t>;

/* Counts the entries above keep.prefix and those that equal it, in each tile of the block. *all
 * gets the counts of all these tiles (join_counts). Each warp handles one tile at a time. Called by
 * every thread of the block. */
__device__ void count_tiles_of(count_room &room, const slots &in, const kept_side &keep,
                               const tile_range &range, uint64_t *all)
{
    uint64_t sum = 0, total;

    for (uint64_t tile = range.begin + threadIdx.x / kWarp; tile < range.end;
         tile += kTileThreads / kWarp) {
        uint32_t above = 0, ties = 0;

        each_collected(in, tile, [&](uint32_t bits) {
            const bool mine = is_on_side(bits, keep);

            above += mine && (bits & GCB_MAGNITUDE_MASK) > keep.prefix;
            ties += mine && (bits & GCB_MAGNITUDE_MASK) == keep.prefix;
        });
        above = warp_add(above);
        ties = warp_add(ties);
        if (lane() == 0) {
            in.above[tile] = above;
            in.ties[tile] = ties;
            sum += join_counts(above, ties);
        }
    }
    scan_block(room, sum, &total);
    if (threadIdx.x == 0)
        *all = total;
}

__global__ void count_tiles(selection_state *c, list_set to, uint64_t tiles)
{
    for (unsigned i = 0; i < to.count; i++)
        count_tiles_of(shared<count_room>(), to.list[i].in, c->keep[to.list[i].which],
                       tiles_of_block(tiles), &c->counts[i][blockIdx.x]);
}

/* Computes the first entry of each tile of the block, and the number of ties before the tile.
 * Returns the counts of the entries of all blocks. Called by every thread of the block; a barrier
 * must follow. */
__device__ uint64_t place_tiles(count_room &room, const kept_list &to, uint32_t most,
                                const tile_range &range, const uint64_t *counts)
{
    uint64_t before = 0, all = 0, total;

    for (unsigned b = threadIdx.x; b < gridDim.x; b += kTileThreads) {
        before += b < blockIdx.x ? counts[b] : 0;
        all += counts[b];
    }
    scan_block(room, before, &before);
    scan_block(room, all, &all);
    for (uint64_t from = range.begin; from < range.end; from += kTileThreads) {
        const uint64_t tile = from + threadIdx.x;
        const bool mine = tile < range.end;
        const uint64_t own = mine ? join_counts(to.in.above[tile], to.in.ties[tile]) : 0;
        const uint64_t at = before + scan_block(room, own, &total);

        if (mine) {
            to.first[tile] = kept_of(at, most);
            to.in.ties[tile] = ties_of(at);
        }
        before += total;
    }
    return all;
}

/* Writes the kept entries of the block's tiles. Each warp handles one tile at a time. */
__device__ void write_tiles_of(const kept_list &to, uint32_t *pos, const kept_side &keep,
                               const tile_range &range)
{
    const slots &in = to.in;

    for (uint64_t tile = range.begin + threadIdx.x / kWarp; tile < range.end;
         tile += kTileThreads / kWarp) {
        const uint32_t count = in.count[tile], first = static_cast<uint32_t>(tile * kTile);
        uint32_t at = to.first[tile], ties = in.ties[tile];

        for (uint32_t from = 0; from < count; from += kEntriesAhead * kWarp) {
            uint32_t bits[kEntriesAhead], offset[kEntriesAhead];

            load_entries(bits, in.bits + tile * kTile, from, count);
            load_entries(offset, in.offset + tile * kTile, from, count);
#pragma unroll
            for (unsigned j = 0; j < kEntriesAhead; j++) {
                const uint32_t m = bits[j] & GCB_MAGNITUDE_MASK;
                const bool here = from + j * kWarp + lane() < count && is_on_side(bits[j], keep);
                const bool tie = here && m == keep.prefix;
                const uint32_t all_ties = gcb::ballot(tie);
                const bool kept = (here && m > keep.prefix) ||
                                  (tie && ties + popc(all_ties & lanes_before()) < keep.left);
                const uint32_t all_kept = gcb::ballot(kept);

                if (kept) {
                    const uint32_t mine = at + popc(all_kept & lanes_before());

                    pos[mine] = first + offset[j];
                    to.value[mine] = gcb_float_of(bits[j]);
                    if (to.residual)
                        to.residual[first + offset[j]] = 0.0f;
                }
                at += popc(all_kept);
                ties += popc(all_ties);
            }
        }
    }
}

/* Writes the number of kept entries and, if there is a message, its head and its length. Called by
 * one thread. */
__device__ void end_list(selection_state *c, const kept_list &to, uint64_t tiles, uint32_t kept,
                         bool single)
{
    to.first[tiles] = kept;
    c->kept[to.which % kSides] = kept;
    if (single)
        c->choice.kept = kept;
    if (!to.message.payload)
        return;
    put_u32(to.message.payload, kept);
    to.message.result->length = GCB_CUDA_KEPT_BYTES + 2 * sizeof(uint32_t) * uint64_t{kept};
}

/* Writes the lists, from what count_tiles has counted. */
__global__ void write_tiles(selection_state *c, list_set to, uint64_t tiles)
{
    const tile_range range = tiles_of_block(tiles);

    for (unsigned i = 0; i < to.count; i++) {
        const kept_list &list = to.list[i];
        const kept_side keep = c->keep[list.which];
        const uint64_t all =
            place_tiles(shared<count_room>(), list, keep.left, range, c->counts[i]);
        const uint32_t kept = kept_of(all, keep.left);
        uint32_t *const pos =
            list.message.payload ? reinterpret_cast<uint32_t *>(list.value + kept) : list.pos;

        sync_block();
        write_tiles_of(list, pos, keep, range);
        if (blockIdx.x == 0 && threadIdx.x == 0)
            end_list(c, list, tiles, kept, to.count == 1);
    }
}

} /* namespace */

int gcb::make_lists(gcb_device_stream *s, const selection &w, const list_set &to, uint64_t n)
{
    const uint64_t tiles = tile_count(n), grid = grid_over(warps_over(tiles));

    launch(count_tiles, grid, kTileThreads, sizeof(count_room), s, w.c, to, tiles);
    return launch(write_tiles, grid, kTileThreads, sizeof(count_room), s, w.c, to, tiles);
}

int gcb::compact_list(gcb_device_stream *s, const selection &w, const gcb_cuda_chosen &to,
                      unsigned which)
{
    kept_list list = {w.in, to.pos, to.value, to.first, which, to.message, nullptr};

    if (list.message.payload) {
        list.value = reinterpret_cast<float *>(list.message.payload + GCB_CUDA_KEPT_BYTES);
        list.residual = to.residual;
    }
    return make_lists(s, w, {{list}, 1}, to.n);
}
