#include <math.h>

#include "kernels/dither/draw.cuh"
#include "kernels/dither/terngrad.cuh"
#include "kernels/memory/feedback.cuh"
#include "kernels/slot/tiles.cuh"

using namespace gcb;
using namespace gcb::terngrad;

namespace
{

/* Elements of a tile in base 3: a multiple of 5 and of 16, at most kTile. They take 816 bytes. */
constexpr unsigned kTile3 = 4080;

/* ---- codes ---- */

/* The same rounding parameters for every element, for decide_draws. */
struct same_rounder {
    const gcb_dither &d;

    __device__ const gcb_dither &operator()(unsigned) const
    {
        return d;
    }
};

/* Adds the elements' random bytes to their t in 256ths (gcb_dither_256ths). */
__device__ void draw_levels(uint32_t (&drawn)[kTileEach], const float (&v)[kTileEach],
                            const gcb_philox_block &bytes, const gcb_dither &d)
{
    const float inv = 256.0f * d.inv;

    if (d.factor == 1.0f) {
#pragma unroll
        for (unsigned i = 0; i < kTileEach; i++)
            drawn[i] = add_draw(gcb_dither_256ths(fabsf(v[i]), inv, 256.0f), v[i], bytes, i);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++)
        drawn[i] = add_draw(gcb_dither_256ths(fabsf(v[i]) * d.factor, inv, 256.0f), v[i], bytes, i);
}

/* Computes the codes 0, 1, 2 of this thread's elements v. Elements from index `end` on get code 0.
 * value_of(i) returns the value of element i of the tensor. */
template <class ValueOf>
__device__ __forceinline__ void draw_codes(uint32_t (&code)[kTileEach], const float (&v)[kTileEach],
                                           const ValueOf &value_of, uint64_t first, uint64_t end,
                                           float scale, const gcb_cuda_draw &draw)
{
    const unsigned here = first >= end ? 0 : elements_from(end, first, kTileEach);
    const gcb_dither d = make_rounder(1, scale);
    uint32_t drawn[kTileEach];

    draw_levels(drawn, v, draw_bytes(draw, first), d);
    decide_draws(drawn, draw, value_of, first, here, same_rounder{d});
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++)
        code[i] = i < here ? gcb_dither_trit_of(level_of(drawn[i]), gcb_float_of(drawn[i])) : 0u;
}

/* Computes the codes of this thread's elements of a message, and writes their residual if the input
 * has one. Returns the number of clamped elements. */
__device__ uint32_t quantise(uint32_t (&code)[kTileEach], const gcb_device_item &item,
                             uint64_t first, uint64_t end, gcb_cuda_terngrad how)
{
    const float scale = scale_of(item);
    float v[kTileEach];
    uint32_t clamped = 0;

    how.draw.coarse = item.coarse;
    how.draw.fine = item.fine;
    load_floats(v, item.in.x, first, end);
    if (how.clip != 0.0)
        for (unsigned i = 0; i < kTileEach; i++)
            clamped += gcb_magnitude(v[i]) > gcb_bits_of(scale); /* a missing element is 0 */
    draw_codes(code, v, plain_values{item.in.x}, first, end, scale, how.draw);
    if (item.in.residual) {
        gcb_device_input in = item.in;
        float decoded[kTileEach];

        in.n = end;
        for (unsigned i = 0; i < kTileEach; i++)
            decoded[i] = gcb_dither_trit_value(code[i], scale);
        store_residual(in, decoded, first);
    }
    return clamped;
}

template <class Where>
__global__ void __launch_bounds__(kTileThreads, 5 - Where::fewer)
    encode_2bit(Where where, gcb_cuda_terngrad how)
{
    tile_room &room = shared<tile_room>();
    const tile_work at = find_tile(where);
    const uint64_t n = at.item.in.n;
    uint32_t code[kTileEach];

    if (at.block == 0 && threadIdx.x == 0)
        at.item.result->length = kHead + (n + 3) / 4;
    add_by_warp(&at.item.result->clamped, quantise(code, at.item, at.first, n, how));
    pack_codes(room, code, 2);
    sync_block();
    store_tile(at.item.payload + kHead + at.start / 4, room, (at.here + 3) / 4);
}

struct base3_room {
    tile_room room;
    uint8_t code[kTile]; /* threads after the first 255 write zeros */
};

template <class Where> __global__ void encode_base3(Where where, gcb_cuda_terngrad how)
{
    base3_room &s = shared<base3_room>();
    const tile_work at = find_tile(where, kTile3);
    const uint64_t n = at.item.in.n;
    const unsigned bytes = (at.here + 4) / 5;
    uint8_t *const packed = reinterpret_cast<uint8_t *>(s.room.word);
    uint32_t code[kTileEach];

    if (at.block == 0 && threadIdx.x == 0)
        at.item.result->length = kHead + (n + 4) / 5;
    add_by_warp(&at.item.result->clamped,
                quantise(code, at.item, at.first, at.start + at.here, how));
    for (unsigned i = 0; i < kTileEach; i++)
        s.code[threadIdx.x * kTileEach + i] = static_cast<uint8_t>(code[i]);
    sync_block();
    for (unsigned j = threadIdx.x; j < bytes; j += blockDim.x) {
        const uint8_t *c = s.code + 5 * j;

        packed[j] = static_cast<uint8_t>(c[0] + 3 * c[1] + 9 * c[2] + 27 * c[3] + 81 * c[4]);
    }
    sync_block();
    store_tile(at.item.payload + kHead + at.start / 5, s.room, bytes);
}

/* ---- decoding ---- */

/* Reads the scaler of a payload. If the scaler is negative, infinite or NaN, sets the status to
 * GCB_E_CORRUPT and returns false in all threads. */
__device__ bool get_scale(float *scale, const uint8_t *in, gcb_device_result *result)
{
    const uint32_t bits = *reinterpret_cast<const uint32_t *>(in);

    if (bits >= GCB_INF_BITS) {
        if (threadIdx.x == 0)
            set_status(&result->status, GCB_E_CORRUPT);
        return false;
    }
    *scale = gcb_float_of(bits);
    return true;
}

/* tile_2bit and tile_base3 read messages (kernels/slot/tiles.cuh). */
struct tile_2bit {
    using room = tile_room;
    static constexpr unsigned size = kTile;

    __device__ bool operator()(float (&v)[kTileEach], room &codes, const tile_work &at) const
    {
        const uint8_t *__restrict__ const in = at.item.payload;
        uint32_t code[kTileEach];
        unsigned skip;
        float scale;

        if (!get_scale(&scale, in, at.item.result))
            return false;
        skip = load_tile(codes, in + kHead + at.start / 4, (at.here + 3) / 4);
        sync_block();
        unpack_codes(code, codes, skip, 2);
        for (unsigned i = 0; i < kTileEach; i++)
            v[i] = gcb_dither_trit_value(code[i], scale);
        return true;
    }
};

struct tile_base3 {
    using room = tile_room;
    static constexpr unsigned size = kTile3;

    __device__ bool operator()(float (&v)[kTileEach], room &codes, const tile_work &at) const
    {
        const uint8_t *__restrict__ const in = at.item.payload;
        const unsigned mine = threadIdx.x * kTileEach;
        const uint8_t *packed = reinterpret_cast<const uint8_t *>(codes.word) + mine / 5;
        unsigned digit = mine % 5;
        uint32_t byte;
        float scale;

        if (!get_scale(&scale, in, at.item.result))
            return false;
        packed += load_tile(codes, in + kHead + at.start / 5, (at.here + 4) / 5);
        sync_block();
        byte = *packed++;
        for (unsigned i = 0; i < digit; i++)
            byte /= 3;
        for (unsigned i = 0; i < kTileEach; i++) {
            if (digit == 5) {
                byte = *packed++;
                digit = 0;
            }
            v[i] = gcb_dither_trit_value(byte % 3, scale);
            byte /= 3;
            digit++;
        }
        return true;
    }
};

/* ---- launches ---- */

uint64_t tile3_grid(uint64_t n)
{
    return blocks_over(n, kTile3);
}

template <class Where>
int launch_encode(gcb_device_stream *s, const gcb_cuda_terngrad *how,
                  const launch_part<Where> &coded)
{
    return how->base3 ? launch(encode_base3<Where>, coded.grid, kTileThreads, sizeof(base3_room), s,
                               coded.where, *how)
                      : launch(encode_2bit<Where>, coded.grid, kTileThreads, sizeof(tile_room), s,
                               coded.where, *how);
}

template <class Where>
int launch_trits(gcb_device_stream *s, const gcb_cuda_terngrad *how,
                 const launch_part<Where> &coded)
{
    return how->base3 ? launch_decode(s, coded, tile_base3{})
                      : launch_decode(s, coded, tile_2bit{});
}

/* Divides the grid of the codes among the messages: grid 0, or grid 1 for base 3. Also divides grid
 * 0 for base 3, because gcb_cuda_max_bits_group uses it (cut_tiles). */
launch_part<message_group> cut_codes(const gcb_device_group *g, const gcb_cuda_terngrad *how)
{
    const uint64_t tiles = cut_tiles(g);

    if (!how->base3)
        return {grid_of(g, 0), tiles};
    return {grid_of(g, 1),
            cut_grid(g, 1, [](const gcb_device_item &i) { return tile3_grid(i.in.n); })};
}

} /* namespace */

int gcb_cuda_terngrad_encode(gcb_device_stream *s, uint8_t *out, const gcb_device_input *in,
                             const gcb_cuda_terngrad *how, void *scratch, gcb_device_result *result)
{
    const single message = {{*in, out, result, scratch, how->draw.coarse, how->draw.fine, 0}};

    compute_scale(s, message, how->clip);
    return launch_encode<single>(s, how,
                                 {message, how->base3 ? tile3_grid(in->n) : tile_blocks(in->n)});
}

int gcb_cuda_terngrad_encode_group(gcb_device_stream *s, const gcb_device_group *g,
                                   const gcb_cuda_terngrad *how)
{
    const launch_part<message_group> codes = cut_codes(g, how);
    const uint64_t blocks = cut_scale(g);

    send_table(s, g);
    compute_scale(s, g, blocks, how->clip);
    return launch_encode<message_group>(s, how, codes);
}

int gcb_cuda_terngrad_decode(gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                             const gcb_cuda_terngrad *how, gcb_device_result *result)
{
    return launch_trits<single>(
        s, how, {single_decode(out, in, n, result), how->base3 ? tile3_grid(n) : tile_blocks(n)});
}

int gcb_cuda_terngrad_decode_group(gcb_device_stream *s, const gcb_device_group *g,
                                   const gcb_cuda_terngrad *how)
{
    const launch_part<message_group> codes = cut_codes(g, how);

    send_table(s, g);
    return launch_trits<message_group>(s, how, codes);
}

int gcb_cuda_terngrad_sum(gcb_device_stream *s, float *out, uint64_t n,
                          const gcb_cuda_terngrad *how, const gcb_cuda_payloads *p)
{
    const single message = single_decode(out, nullptr, n, nullptr);

    return how->base3 ? launch_sum(s, {message, tile3_grid(n)}, tile_base3{}, p)
                      : launch_sum(s, {message, tile_blocks(n)}, tile_2bit{}, p);
}
