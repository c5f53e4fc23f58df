#include "kernels/reduce/sum.cuh"
#include "kernels/select/select_cuda.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kSumThreads = kOneBlock;
constexpr unsigned kSumEach = 8; /* tiles of a thread of sum_tiles at a time */

/* Returns the magnitude of an entry. *mine becomes true if the entry has the sign that is kept. */
__device__ uint32_t load_entry(const slots &in, uint64_t tile, uint32_t i, const kept_side &keep,
                               bool *mine)
{
    const uint32_t bits = in.bits[tile * kTile + i];

    *mine = (bits & keep.mask) == keep.sign;
    return bits & GCB_MAGNITUDE_MASK;
}

/* Counts each tile's entries above keep.prefix, and those that equal it. Each warp handles one tile
 * at a time. */
__device__ void count_tiles_of(const slots &in, const kept_side &keep, uint64_t tiles)
{
    for (uint64_t tile = warp_of_grid(); tile < tiles; tile += warps_of_grid()) {
        const uint32_t count = in.count[tile];
        uint32_t above = 0, ties = 0;

        for (uint32_t i = lane(); i < count; i += kWarp) {
            bool mine;
            const uint32_t m = load_entry(in, tile, i, keep, &mine);

            above += mine && m > keep.prefix;
            ties += mine && m == keep.prefix;
        }
        above = warp_add(above);
        ties = warp_add(ties);
        if (lane() == 0) {
            in.above[tile] = above;
            in.ties[tile] = ties;
        }
    }
}

__global__ void count_tiles(const selection_state *c, list_set to, uint64_t tiles)
{
    for (unsigned i = 0; i < to.count; i++)
        count_tiles_of(to.list[i].in, c->keep[to.list[i].which], tiles);
}

using sum_room = scan_room_of<uint64_t>;

/* Computes from the counts the first entry of each tile, and the number of ties before each tile,
 * with one block of threads per list. Each thread first loads all its counts, so that the loads
 * overlap; it adds them up; and it writes results when the sums of earlier threads are known. */
__global__ __launch_bounds__(kSumThreads) void sum_tiles(selection_state *c, list_set to,
                                                         uint64_t tiles)
{
    sum_room &room = shared<sum_room>();
    const slots in = to.list[blockIdx.x].in;
    uint32_t *const first = to.list[blockIdx.x].first;
    const uint32_t most = c->keep[to.list[blockIdx.x].which].left;
    uint32_t above = 0, ties = 0;

    for (uint64_t from = 0; from < tiles; from += kSumThreads * kSumEach) {
        const uint64_t start = from + threadIdx.x * kSumEach;
        uint32_t tile_above[kSumEach], tile_ties[kSumEach], a, t;
        uint64_t mine = 0, all, before; /* low 32 bits: number above; high 32 bits: ties */

#pragma unroll
        for (unsigned i = 0; i < kSumEach; i++) {
            tile_above[i] = start + i < tiles ? in.above[start + i] : 0;
            tile_ties[i] = start + i < tiles ? in.ties[start + i] : 0;
        }
#pragma unroll
        for (unsigned i = 0; i < kSumEach; i++)
            mine += tile_above[i] + (static_cast<uint64_t>(tile_ties[i]) << 32);
        before = scan_block(room, mine, &all);
        a = above + static_cast<uint32_t>(before);
        t = ties + static_cast<uint32_t>(before >> 32);
#pragma unroll
        for (unsigned i = 0; i < kSumEach; i++) {
            if (start + i < tiles) {
                first[start + i] = a + lesser(t, most);
                in.ties[start + i] = t;
            }
            a += tile_above[i];
            t += tile_ties[i];
        }
        above += static_cast<uint32_t>(all);
        ties += static_cast<uint32_t>(all >> 32);
    }
    if (threadIdx.x == 0) {
        first[tiles] = above + lesser(ties, most);
        c->kept[blockIdx.x] = first[tiles];
        if (to.count == 1)
            c->choice.kept = first[tiles];
    }
}

/* Writes the kept entries of all tiles. Each warp handles one tile at a time. */
__device__ void write_tiles_of(const kept_list &to, const kept_side &keep, uint64_t tiles)
{
    const slots &in = to.in;

    for (uint64_t tile = warp_of_grid(); tile < tiles; tile += warps_of_grid()) {
        const uint32_t count = in.count[tile];
        uint32_t at = to.first[tile], ties = in.ties[tile];

        for (uint32_t from = 0; from < count; from += kWarp) {
            const uint32_t i = from + lane();
            bool here = false;
            const uint32_t m = i < count ? load_entry(in, tile, i, keep, &here) : 0;
            const bool tie = here && m == keep.prefix;
            const uint32_t all_ties = gcb::ballot(tie);
            const bool kept = (here && m > keep.prefix) ||
                              (tie && ties + popc(all_ties & lanes_before()) < keep.left);
            const uint32_t all_kept = gcb::ballot(kept);

            if (kept) {
                const uint32_t mine = at + popc(all_kept & lanes_before());

                to.pos[mine] = static_cast<uint32_t>(tile * kTile) + in.offset[tile * kTile + i];
                to.value[mine] = gcb_float_of(in.bits[tile * kTile + i]);
            }
            at += popc(all_kept);
            ties += popc(all_ties);
        }
    }
}

__global__ void write_tiles(const selection_state *c, list_set to, uint64_t tiles)
{
    for (unsigned i = 0; i < to.count; i++)
        write_tiles_of(to.list[i], c->keep[to.list[i].which], tiles);
}

} /* namespace */

int gcb::make_lists(gcb_device_stream *s, const selection &w, const list_set &to, uint64_t n)
{
    const uint64_t tiles = tile_count(n), grid = grid_over(warps_over(tiles));

    launch(count_tiles, grid, kTileThreads, 0, s, w.c, to, tiles);
    launch(sum_tiles, to.count, kSumThreads, sizeof(sum_room), s, w.c, to, tiles);
    return launch(write_tiles, grid, kTileThreads, 0, s, w.c, to, tiles);
}

int gcb::compact_list(gcb_device_stream *s, const selection &w, const gcb_cuda_chosen &to,
                      unsigned which)
{
    return make_lists(s, w, {{{w.in, to.pos, to.value, to.first, which}}, 1}, to.n);
}
