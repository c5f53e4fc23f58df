#include "kernels/dither/natural_elem.h"

#include "kernels/cuda/group.cuh"
#include "kernels/dither/draw.cuh"
#include "kernels/memory/feedback.cuh"
#include "kernels/slot/tiles.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kWidth = GCB_NATURAL_WIDTH;

/* The code of element `index`, which drew `byte`. */
__device__ __forceinline__ uint32_t round_to_power(float x, uint32_t byte, uint64_t index,
                                                   const gcb_cuda_draw &draw)
{
    const uint32_t chance = gcb_natural_chance(x);

    if (byte != chance >> 24)
        return gcb_natural_below(x) + (byte < chance >> 24);
    return gcb_natural_below(x) +
           (gcb_philox_24_by(&draw.keys, index, draw.fine) < (chance & 0xffffffu));
}

template <class Where>
__global__ void __launch_bounds__(kTileThreads, 3) encode(Where where, gcb_cuda_draw draw)
{
    tile_room &room = shared<tile_room>();
    const tile_work at = find_tile(where);
    const gcb_device_input &in = at.item.in;
    uint32_t code[kTileEach];
    float v[kTileEach];

    draw.coarse = at.item.coarse;
    draw.fine = at.item.fine;
    if (at.block == 0 && threadIdx.x == 0)
        at.item.result->length = (in.n * kWidth + 7) / 8;
    load_input(v, in, at.first);
    const gcb_philox_block bytes = gcb_philox_by(&draw.keys, at.first / kTileEach, draw.coarse);
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++)
        code[i] =
            round_to_power(v[i], bytes.word[i / 4] >> 8 * (i % 4) & 0xffu, at.first + i, draw);
    if (largest_of(v) > GCB_NATURAL_LARGEST)
        set_status(&at.item.result->status, GCB_E_SEND_RAW);
    if (in.residual) {
        float decoded[kTileEach];

        for (unsigned i = 0; i < kTileEach; i++)
            decoded[i] = gcb_natural_value(code[i]);
        store_residual(in, decoded, at.first);
    }
    for (unsigned i = 0; i < kTileEach; i++)
        code[i] &= (1u << kWidth) - 1; /* a NaN may carry; its payload is not sent */
    pack_codes(room, code, kWidth);
    sync_block();
    store_tile(at.item.payload + at.start / 8 * kWidth, room, (at.here * kWidth + 7) / 8);
}

/* Reads messages (kernels/slot/tiles.cuh). */
struct natural_tile {
    using room = tile_room;
    static constexpr unsigned size = kTile;

    __device__ bool operator()(float (&v)[kTileEach], room &codes, const tile_work &at) const
    {
        const unsigned skip =
            load_tile(codes, at.item.payload + at.start / 8 * kWidth, (at.here * kWidth + 7) / 8);
        uint32_t code[kTileEach], most = 0;

        sync_block();
        unpack_codes(code, codes, skip, kWidth);
        for (unsigned i = 0; i < kTileEach; i++) {
            v[i] = gcb_natural_value(code[i]);
            if (at.first + i < at.item.in.n)
                most = larger(most, gcb_magnitude(v[i]));
        }
        if (most >= GCB_INF_BITS)
            set_status(&at.item.result->status, GCB_E_CORRUPT);
        return true;
    }
};

} /* namespace */

int gcb_cuda_natural_encode(gcb_device_stream *s, uint8_t *out, const gcb_device_input *in,
                            const gcb_cuda_draw *draw, gcb_device_result *result)
{
    const single message = {{*in, out, result, nullptr, draw->coarse, draw->fine, 0}};

    return launch(encode<single>, tile_blocks(in->n), kTileThreads, sizeof(tile_room), s, message,
                  *draw);
}

int gcb_cuda_natural_decode(gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                            gcb_device_result *result)
{
    return launch_decode<single>(s, {single_decode(out, in, n, result), tile_blocks(n)},
                                 natural_tile{});
}

int gcb_cuda_natural_encode_group(gcb_device_stream *s, const gcb_device_group *g,
                                  const gcb_cuda_draw *draw)
{
    const uint64_t tiles = cut_tiles(g);

    send_table(s, g);
    return launch(encode<message_group>, tiles, kTileThreads, sizeof(tile_room), s, grid_of(g, 0),
                  *draw);
}

int gcb_cuda_natural_decode_group(gcb_device_stream *s, const gcb_device_group *g)
{
    const uint64_t tiles = cut_tiles(g);

    send_table(s, g);
    return launch_decode<message_group>(s, {grid_of(g, 0), tiles}, natural_tile{});
}

int gcb_cuda_natural_sum(gcb_device_stream *s, float *out, uint64_t n, const gcb_cuda_payloads *p)
{
    return launch_sum(s, {single_decode(out, nullptr, n, nullptr), tile_blocks(n)}, natural_tile{},
                      p);
}
