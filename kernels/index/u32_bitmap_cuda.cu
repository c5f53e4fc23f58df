#include "kernels/index/index_cuda.h"

#include "kernels/select/select_cuda.cuh"
#include "kernels/select/values_cuda.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kWords = kTile / 2;      /* u32 positions that a tile_room holds */
constexpr unsigned kFlagWords = kTile / 32; /* words of a tile's flags */
constexpr unsigned kSumThreads = 1024;

/* ---- writing ---- */

/* Writes positions as 32-bit words. */
__global__ void put_words(uint8_t *out, gcb_cuda_chosen c, gcb_cuda_values how,
                          gcb_device_result *result)
{
    tile_room &room = shared<tile_room>();
    const uint64_t kept = c.choice->kept, at = index_at(c.n, kept, how);

    if (blockIdx.x == 0 && threadIdx.x == 0)
        result->length = at + kept * sizeof(uint32_t);
    for (uint64_t start = blockIdx.x * uint64_t{kWords}; start < kept;
         start += uint64_t{gridDim.x} * kWords) {
        const unsigned here = elements_from(kept, start, kWords);

        for (unsigned i = threadIdx.x; i < here; i += blockDim.x)
            room.word[i] = c.pos[start + i];
        sync_block();
        store_tile(out + at + start * sizeof(uint32_t), room, here * 4);
        sync_block();
    }
}

/* Bytes of a tile's flags. */
__device__ unsigned flag_bytes(uint64_t n, uint64_t tile)
{
    return (elements_from(n, tile * kTile, kTile) + 7) / 8;
}

/* Writes a bit for each position: 1 if it is kept. Writes no bits if no position is kept. */
__global__ void put_flags(uint8_t *out, gcb_cuda_chosen c, gcb_cuda_values how,
                          gcb_device_result *result)
{
    tile_room &room = shared<tile_room>();
    const uint64_t kept = c.choice->kept, at = index_at(c.n, kept, how);

    if (blockIdx.x == 0 && threadIdx.x == 0)
        result->length = at + (kept ? (c.n + 7) / 8 : 0);
    for (uint64_t tile = blockIdx.x; kept && tile * kTile < c.n; tile += gridDim.x) {
        for (unsigned i = threadIdx.x; i < kFlagWords; i += blockDim.x)
            room.word[i] = 0;
        sync_block();
        for (uint32_t j = c.first[tile] + threadIdx.x; j < c.first[tile + 1]; j += blockDim.x) {
            const uint32_t bit = c.pos[j] % kTile;

            atomic_or(&room.word[bit / 32], 1u << bit % 32);
        }
        sync_block();
        store_tile(out + at + tile * (kTile / 8), room, flag_bytes(c.n, tile));
        sync_block();
    }
}

/* ---- reading: u32 ---- */

/* Reads positions, and checks that they ascend and are below n. The thread of a position also sets
 * f.first of the tiles that begin after the position before, up to the position's own tile.
 * Position number `kept` stands for the end of the last tile. After damage, f.first may be wrong or
 * unset. */
__global__ void get_words(gcb_cuda_decoding f, const uint8_t *__restrict__ in, uint64_t n,
                          gcb_device_result *result)
{
    const uint64_t kept = f.head->kept, tiles = tile_count(n);

    in += f.head->index;
    for (uint64_t i = thread_of_grid(); i <= kept; i += threads_of_grid()) {
        const uint64_t pos = i < kept ? get_u32(in + 4 * i) : tiles * kTile;
        const uint64_t next = i ? get_u32(in + 4 * i - 4) + uint64_t{1} : 0;

        if (i < kept)
            f.pos[i] = static_cast<uint32_t>(pos);
        if (pos < next || (i < kept && pos >= n)) {
            damage(f.head, result);
            continue;
        }
        for (uint64_t tile = tile_count(next); tile * kTile <= pos; tile++)
            f.first[tile] = static_cast<uint32_t>(i);
    }
}

/* ---- the first entry of each tile, for the formats of other files ---- */

/* Sets f.first[t] to the number of positions before tile t, for each tile and for the end. After
 * damage, these numbers are 0. */
__global__ void search_tiles(gcb_cuda_decoding f, uint64_t tiles)
{
    const uint64_t tile = thread_of_grid();

    if (tile <= tiles)
        f.first[tile] = count_below(f.pos, sound_kept(f.head), tile * kTile);
}

/* ---- reading: bitmap ---- */

/* Returns this thread's 16 flags of a tile. *extra gets the flags of positions that do not exist.
 * Called by every thread of the block. */
__device__ uint32_t flags_of(tile_room &room, const uint8_t *in, uint64_t n, uint64_t tile,
                             uint32_t *extra)
{
    const uint64_t left = n - tile * kTile, first = threadIdx.x * kTileEach;
    const unsigned bytes = flag_bytes(n, tile);
    const uint64_t mine = left < first ? 0 : left - first; /* existing positions from here on */
    const uint32_t mask = mine >= kTileEach ? 0xffffu : (1u << mine) - 1;
    const unsigned skip = load_tile(room, in + tile * (kTile / 8), bytes);
    const uint8_t *at = reinterpret_cast<const uint8_t *>(room.word) + skip + 2 * threadIdx.x;
    uint32_t flags = 0;

    sync_block();
    if (2 * threadIdx.x < bytes)
        flags |= at[0];
    if (2 * threadIdx.x + 1 < bytes)
        flags |= static_cast<uint32_t>(at[1]) << 8;
    sync_block();
    *extra = flags & ~mask;
    return flags & mask;
}

struct flag_room {
    tile_room tile;
    scan_room scan;
};

/* Sets f.first[t] to the number of flags of tile t. Marks the payload as damaged if a position that
 * does not exist has a flag. */
__global__ void count_flags(gcb_cuda_decoding f, const uint8_t *__restrict__ in, uint64_t n,
                            gcb_device_result *result)
{
    flag_room &room = shared<flag_room>();
    const uint64_t kept = f.head->kept;

    for (uint64_t tile = blockIdx.x; tile * kTile < n; tile += gridDim.x) {
        uint32_t flags = 0, extra = 0, total;

        if (kept)
            flags = flags_of(room.tile, in + f.head->index, n, tile, &extra);
        scan_block(room.scan, popc(flags), &total);
        if (extra)
            damage(f.head, result);
        if (threadIdx.x == 0)
            f.first[tile] = total;
    }
}

/* Replaces each tile's number of flags in f.first by the sum of the numbers before it, and appends
 * the sum of all. Runs in one block. Refuses the payload if the sum of all is not the number of
 * kept positions. */
__global__ __launch_bounds__(kSumThreads) void sum_flags(gcb_cuda_decoding f, uint64_t tiles,
                                                         gcb_device_result *result)
{
    const auto flags_in = [&](uint64_t tile) { return f.first[tile]; };
    const auto place = [&](uint64_t tile, uint64_t before, uint32_t) {
        f.first[tile] = static_cast<uint32_t>(before);
    };
    const uint64_t all = scan_all(shared<scan_room>(), tiles, 0, flags_in, place);

    if (threadIdx.x == 0) {
        f.first[tiles] = static_cast<uint32_t>(all);
        if (all != f.head->kept)
            refuse(f.head, result);
    }
}

/* Turns flags into positions. */
__global__ void get_flags(gcb_cuda_decoding f, const uint8_t *__restrict__ in, uint64_t n)
{
    flag_room &room = shared<flag_room>();

    if (f.head->kept == 0)
        return;
    for (uint64_t tile = blockIdx.x; tile * kTile < n; tile += gridDim.x) {
        uint32_t extra, total, flags = flags_of(room.tile, in + f.head->index, n, tile, &extra);
        uint32_t at = f.first[tile] + scan_block(room.scan, popc(flags), &total);

        for (; flags; flags &= flags - 1)
            f.pos[at++] =
                static_cast<uint32_t>(tile * kTile) + threadIdx.x * kTileEach + lowest_bit(flags);
    }
}

} /* namespace */

int gcb::find_tiles(gcb_device_stream *s, const gcb_cuda_decoding &f, uint64_t n)
{
    const uint64_t tiles = tile_count(n);

    return launch(search_tiles, tiles / kTileThreads + 1, kTileThreads, 0, s, f, tiles);
}

int gcb_cuda_put_u32(gcb_device_stream *s, uint8_t *out, const gcb_cuda_chosen *chosen,
                     const gcb_cuda_values *how, void *scratch, gcb_device_result *result)
{
    return launch(put_words, grid_over(pieces_of(chosen->most, kWords)), kTileThreads,
                  sizeof(tile_room), s, out, *chosen, *how, result);
}

int gcb_cuda_get_u32(gcb_device_stream *s, const gcb_cuda_payload *p, const gcb_cuda_decoding *f,
                     gcb_device_result *result)
{
    return launch(get_words, grid_over(tile_count(p->n)), kTileThreads, 0, s, *f, p->in, p->n,
                  result);
}

int gcb_cuda_put_bitmap(gcb_device_stream *s, uint8_t *out, const gcb_cuda_chosen *chosen,
                        const gcb_cuda_values *how, void *scratch, gcb_device_result *result)
{
    return launch(put_flags, grid_over(tile_count(chosen->n)), kTileThreads, sizeof(tile_room), s,
                  out, *chosen, *how, result);
}

int gcb_cuda_get_bitmap(gcb_device_stream *s, const gcb_cuda_payload *p, const gcb_cuda_decoding *f,
                        gcb_device_result *result)
{
    const uint64_t tiles = tile_count(p->n), grid = grid_over(tiles);

    launch(count_flags, grid, kTileThreads, sizeof(flag_room), s, *f, p->in, p->n, result);
    launch(sum_flags, 1, kSumThreads, sizeof(scan_room), s, *f, tiles, result);
    return launch(get_flags, grid, kTileThreads, sizeof(flag_room), s, *f, p->in, p->n);
}
