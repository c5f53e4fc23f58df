#include "kernels/convert/convert_elem.h"
#include "kernels/select/payload.cuh"
#include "kernels/select/select.cuh"
#include "src/base/status.h"

namespace
{

using gcb::kTile;
using gcb::kTileEach;
using gcb::kTileThreads;

constexpr unsigned kSumThreads = 1024;

/* What a payload's head says. Nothing of a damaged one is used: kept is 0 then. */
struct opened {
    uint64_t kept;
    uint64_t index; /* where the positions begin */
    struct gcb_cuda_scale scale;
};

/* In scratch. */
struct filling {
    opened *head;
    uint32_t *pos;   /* positions, where they came as numbers; any may be wrong */
    uint32_t *first; /* for each tile the first of its positions; one more behind */
};

__device__ void refuse(opened *head, gcb_device_result *result)
{
    head->kept = 0;
    gcb::set_status(&result->status, GCB_E_CORRUPT);
}

/* Scales; false if no encoder writes them. */
__device__ bool get_scale(struct gcb_cuda_scale *to, const uint8_t *in,
                          const struct gcb_cuda_values &how)
{
    const uint32_t up = how.scale ? gcb::get_u32(in) : 0;
    const uint32_t down = how.kind == GCB_CUDA_MEANS ? gcb::get_u32(in + 4) : up;

    to->up = gcb_float_of(up);
    to->down = how.kind == GCB_CUDA_SIGN_MEAN ? -to->up : gcb_float_of(down);
    if (how.kind != GCB_CUDA_RANGE)
        return (up & GCB_MAGNITUDE_MASK) < GCB_INF_BITS &&
               (down & GCB_MAGNITUDE_MASK) < GCB_INF_BITS;
    if (up >= GCB_INF_BITS || !gcb_range_valid(how.bits, in[4]))
        return false;
    gcb_range_format(&to->format, how.bits, in[4], to->up, GCB_ROUND_TRUNCATE);
    return true;
}

/* One thread. */
__global__ void open_payload(opened *head, const uint8_t *in, uint64_t length, uint64_t n,
                             struct gcb_cuda_values how, enum gcb_cuda_index_kind kind,
                             gcb_device_result *result)
{
    const uint64_t at = gcb::values_at(n, how);
    uint64_t kept, end;

    if (threadIdx.x != 0)
        return;
    if (length < at) {
        refuse(head, result);
        return;
    }
    kept = n ? gcb::get_u32(in) : 0;
    head->kept = kept;
    head->index = gcb::index_at(n, kept, how);
    end = head->index + (kind == GCB_CUDA_U32 ? kept * sizeof(uint32_t) : kept ? (n + 7) / 8 : 0);
    if (kept > n || end != length || !get_scale(&head->scale, in + at - how.scale, how))
        refuse(head, result);
}

/* ---- positions: u32 ---- */

__global__ void get_words(filling f, const uint8_t *__restrict__ in, uint64_t n,
                          gcb_device_result *result)
{
    const uint64_t kept = f.head->kept;

    in += f.head->index;
    for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < kept;
         i += uint64_t{gridDim.x} * blockDim.x) {
        const uint32_t pos = gcb::get_u32(in + 4 * i);

        f.pos[i] = pos;
        if (pos >= n || (i && pos <= gcb::get_u32(in + 4 * i - 4)))
            gcb::set_status(&result->status, GCB_E_CORRUPT);
    }
}

/* How many positions lie below `bound`, if they ascend; some number up to `kept` if they do not. */
__device__ uint32_t count_below(const uint32_t *pos, uint64_t kept, uint64_t bound)
{
    uint64_t low = 0, high = kept;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (pos[middle] < bound)
            low = middle + 1;
        else
            high = middle;
    }
    return static_cast<uint32_t>(low);
}

__global__ void find_tiles(filling f, uint64_t tiles)
{
    const uint64_t tile = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;

    if (tile <= tiles)
        f.first[tile] = count_below(f.pos, f.head->kept, tile * kTile);
}

/* ---- positions: bitmap ---- */

/* This thread's 16 flags of a tile; those of positions that there are not are set in *extra. Every thread of the
 * block. */
__device__ uint32_t flags_of(gcb::tile_room &room, const uint8_t *in, uint64_t n, uint64_t tile,
                             uint32_t *extra)
{
    const uint64_t left = n - tile * kTile, first = threadIdx.x * kTileEach;
    const unsigned bytes = static_cast<unsigned>(((left < kTile ? left : kTile) + 7) / 8);
    const uint64_t mine = left < first ? 0 : left - first; /* positions there are, from here on */
    const uint32_t mask = mine >= kTileEach ? 0xffffu : (1u << mine) - 1;
    const unsigned skip = gcb::load_tile(room, in + tile * (kTile / 8), bytes);
    const uint8_t *at = reinterpret_cast<const uint8_t *>(room.word) + skip + 2 * threadIdx.x;
    uint32_t flags = 0;

    gcb::sync_block();
    if (2 * threadIdx.x < bytes)
        flags |= at[0];
    if (2 * threadIdx.x + 1 < bytes)
        flags |= static_cast<uint32_t>(at[1]) << 8;
    gcb::sync_block();
    *extra = flags & ~mask;
    return flags & mask;
}

struct flag_room {
    gcb::tile_room tile;
    gcb::scan_room scan;
};

__global__ void count_flags(filling f, const uint8_t *__restrict__ in, uint64_t n,
                            gcb_device_result *result)
{
    flag_room &room = gcb::shared<flag_room>();
    const uint64_t kept = f.head->kept;

    for (uint64_t tile = blockIdx.x; tile * kTile < n; tile += gridDim.x) {
        uint32_t flags = 0, extra = 0, total;

        if (kept)
            flags = flags_of(room.tile, in + f.head->index, n, tile, &extra);
        gcb::scan_block(room.scan, gcb::popc(flags), &total);
        if (extra)
            gcb::set_status(&result->status, GCB_E_CORRUPT);
        if (threadIdx.x == 0)
            f.first[tile] = total;
    }
}

/* One block: counts become where each tile begins. */
__global__ void sum_flags(filling f, uint64_t tiles, gcb_device_result *result)
{
    gcb::scan_room &room = gcb::shared<gcb::scan_room>();
    uint64_t before = 0;

    for (uint64_t from = 0; from < tiles; from += kSumThreads) {
        const uint64_t tile = from + threadIdx.x;
        uint32_t total;
        const uint32_t mine = gcb::scan_block(room, tile < tiles ? f.first[tile] : 0, &total);

        if (tile < tiles)
            f.first[tile] = static_cast<uint32_t>(before) + mine;
        before += total;
    }
    if (threadIdx.x == 0) {
        f.first[tiles] = static_cast<uint32_t>(before);
        if (before != f.head->kept)
            refuse(f.head, result);
    }
}

__global__ void get_flags(filling f, const uint8_t *__restrict__ in, uint64_t n)
{
    flag_room &room = gcb::shared<flag_room>();

    if (f.head->kept == 0)
        return;
    for (uint64_t tile = blockIdx.x; tile * kTile < n; tile += gridDim.x) {
        uint32_t extra, total, flags = flags_of(room.tile, in + f.head->index, n, tile, &extra);
        uint32_t at = f.first[tile] + gcb::scan_block(room.scan, gcb::popc(flags), &total);

        for (; flags; flags &= flags - 1)
            f.pos[at++] = static_cast<uint32_t>(tile * kTile) + threadIdx.x * kTileEach +
                          gcb::lowest_bit(flags);
    }
}

/* ---- values ---- */

/* Code i of a run of codes of `bits` <= 16. */
__device__ uint32_t code_at(const uint8_t *in, uint64_t i, unsigned bits)
{
    const uint64_t bit = i * bits, last = (bit + bits - 1) / 8;
    uint32_t v = 0;

    in += bit / 8;
    for (unsigned b = 0; b <= last - bit / 8; b++)
        v |= static_cast<uint32_t>(in[b]) << 8 * b;
    return v >> bit % 8 & ((1u << bits) - 1);
}

__device__ float value_at(const uint8_t *in, uint64_t i, const struct gcb_cuda_values &how,
                          const struct gcb_cuda_scale &scale)
{
    switch (how.kind) {
    case GCB_CUDA_FP32:
        return gcb_float_of(gcb::get_u32(in + 4 * i));
    case GCB_CUDA_FP16:
        return gcb_float_of(gcb_fp32_of_fp16(code_at(in, i, 16)));
    case GCB_CUDA_RANGE:
        return gcb_range_decode(code_at(in, i, how.bits), &scale.format);
    case GCB_CUDA_MEAN:
        return scale.up;
    default:
        return code_at(in, i, 1) ? scale.up : scale.down;
    }
}

struct canvas {
    uint32_t bits[kTile];
};

/* Each tile is zeroed, filled and written once. Ranges and positions may be anything. */
__global__ void fill(float *__restrict__ out, filling f, uint64_t n, const uint8_t *__restrict__ in,
                     struct gcb_cuda_values how)
{
    canvas &room = gcb::shared<canvas>();
    const uint64_t kept = f.head->kept;
    const struct gcb_cuda_scale scale = f.head->scale;

    in += gcb::values_at(n, how);
    for (uint64_t tile = blockIdx.x; tile * kTile < n; tile += gridDim.x) {
        const uint64_t from = f.first[tile], to = f.first[tile + 1];
        const uint64_t most = from + kTile < kept ? from + kTile : kept;
        const uint64_t end = to < most ? to : most;
        float v[kTileEach];

        for (unsigned i = threadIdx.x; i < kTile; i += blockDim.x)
            room.bits[i] = 0;
        gcb::sync_block();
        for (uint64_t j = from + threadIdx.x; j < end; j += blockDim.x)
            if (f.pos[j] / kTile == tile)
                room.bits[f.pos[j] % kTile] = gcb_bits_of(value_at(in, j, how, scale));
        gcb::sync_block();
        for (unsigned i = 0; i < kTileEach; i++)
            v[i] = gcb_float_of(room.bits[threadIdx.x * kTileEach + i]);
        gcb::store_floats(out, v, tile * kTile + threadIdx.x * kTileEach, n);
        gcb::sync_block();
    }
}

uint64_t lay_out(void *scratch, uint64_t n, filling *f)
{
    const uint64_t tiles = gcb::tiles_for(n), head = (sizeof(opened) + 15) / 16 * 16;
    uint8_t *at = static_cast<uint8_t *>(scratch);

    f->head = reinterpret_cast<opened *>(at);
    f->first = at ? reinterpret_cast<uint32_t *>(at + head) : nullptr;
    f->pos = at ? f->first + tiles + 1 : nullptr;
    return head + (tiles + 1 + n) * sizeof(uint32_t);
}

int get_positions(struct gcb_device_stream *s, const filling &f, uint64_t n, const uint8_t *in,
                  enum gcb_cuda_index_kind index, struct gcb_device_result *result)
{
    const uint64_t tiles = gcb::tiles_for(n), grid = gcb::blocks_for(tiles);
    int err;

    if (index == GCB_CUDA_U32) {
        err = gcb::launch(get_words, grid, kTileThreads, 0, s, f, in, n, result);
        return err ? err
                   : gcb::launch(find_tiles, tiles / kTileThreads + 1, kTileThreads, 0, s, f,
                                 tiles);
    }
    err = gcb::launch(count_flags, grid, kTileThreads, sizeof(flag_room), s, f, in, n, result);
    if (!err)
        err = gcb::launch(sum_flags, 1, kSumThreads, sizeof(gcb::scan_room), s, f, tiles, result);
    return err ? err : gcb::launch(get_flags, grid, kTileThreads, sizeof(flag_room), s, f, in, n);
}

} /* namespace */

uint64_t gcb_cuda_fill_scratch(uint64_t n)
{
    filling f;

    return lay_out(nullptr, n, &f);
}

int gcb_cuda_fill(struct gcb_device_stream *s, float *out, uint64_t n, const uint8_t *in,
                  uint64_t length, const struct gcb_cuda_values *how,
                  enum gcb_cuda_index_kind index, void *scratch, struct gcb_device_result *result)
{
    const uint64_t grid = gcb::blocks_for(gcb::tiles_for(n));
    filling f;
    int err;

    lay_out(scratch, n, &f);
    err =
        gcb::launch(open_payload, 1, gcb::kWarp, 0, s, f.head, in, length, n, *how, index, result);
    if (!err)
        err = get_positions(s, f, n, in, index, result);
    return err ? err
               : gcb::launch(fill, grid, kTileThreads, sizeof(canvas), s, out, f, n, in, *how);
}
