#include "kernels/block/blocks_cuda.h"

#include "kernels/cuda/group.cuh"
#include "kernels/memory/feedback.cuh"
#include "kernels/slot/tiles.cuh"

using namespace gcb;

namespace
{

struct block_room {
    tile_room codes;
    uint32_t most[kTileThreads], least[kTileThreads];
};

/* The number of threads that share a block's scale. */
__device__ __forceinline__ unsigned sharers(const gcb_cuda_blocks &how)
{
    return 1u << (how.log2 - 4);
}

/* The largest v of the threads that share a scale. Called by all threads of the block, with a
 * `room` of its own for each call. */
__device__ __forceinline__ uint32_t largest_shared(uint32_t (&room)[kTileThreads], uint32_t v,
                                                   unsigned threads)
{
    const unsigned first = threadIdx.x / threads * threads, step = lesser(threads, kWarp);
    uint32_t most = 0;

    if (threads >= kWarp)
        v = warp_max(v);
    room[threadIdx.x] = v;
    sync_block();
    for (unsigned i = 0; i < threads; i += threads < kWarp ? 1 : step)
        most = larger(most, room[first + i]);
    return most;
}

/* An integer that grows with x and is at least 1 for finite numbers, and its inverse. */
__device__ __forceinline__ uint32_t rank_of(float x)
{
    const uint32_t u = gcb_bits_of(x);

    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

__device__ __forceinline__ float value_of_rank(uint32_t rank)
{
    return gcb_float_of(rank & 0x80000000u ? rank & GCB_MAGNITUDE_MASK : ~rank);
}

/* Where the scale of the element `first`, and the codes, are in a payload of n elements. */
__device__ __forceinline__ uint64_t scale_at(const gcb_cuda_blocks &how, uint64_t first)
{
    return how.head + (first >> how.log2) * how.scale;
}

__device__ __forceinline__ uint64_t codes_at(const gcb_cuda_blocks &how, uint64_t n)
{
    return how.scale && n ? scale_at(how, n - 1) + how.scale : how.head;
}

template <class Where> __global__ void measure_largest(Where where)
{
    const tile_work at = find_tile(where);
    float v[kTileEach];

    load_input(v, at.item.in, at.first);
    raise_by_warp(&at.item.result->max_bits, largest_of(v));
}

/* What a thread's elements share. */
struct sharing {
    struct gcb_scaling scaling; /* of this message */
    struct gcb_affine affine;
    float factor, scale;
};

__device__ __forceinline__ uint32_t small_code(float x, const sharing &s, uint32_t number,
                                               const gcb_cuda_blocks &how, uint32_t *clamped)
{
    const struct gcb_small_float &f = s.scaling.f;
    const uint32_t u = gcb_bits_of(x * s.factor), a = u & GCB_MAGNITUDE_MASK;
    const uint32_t code = how.drawn ? gcb_small_drawn(a, number, &f) : gcb_small_nearest(a, &f);

    *clamped += how.drawn ? a > gcb_bits_of(f.largest) : code > f.top;
    return gcb_small_signed(code, u, &f);
}

__device__ __forceinline__ uint32_t integer_code(float x, const sharing &s, uint32_t number,
                                                 const gcb_cuda_blocks &how)
{
    if (!how.drawn)
        return gcb_affine_nearest(x, &s.affine, how.top, how.minimum);
    return gcb_draw_integer(gcb_affine_t(x, &s.affine, how.top, how.minimum), number);
}

/* Finds the scales of this thread's elements v, of which `mine` exist. */
__device__ __forceinline__ sharing share_floats(block_room &room, const tile_work &at,
                                                const float (&v)[kTileEach],
                                                const gcb_cuda_blocks &how)
{
    sharing s = {};
    uint32_t most = largest_of(v), code;

    s.scaling = how.scaling;
    s.factor = s.scale = 1.0f;
    if (how.head) {
        const uint32_t all = at.item.result->max_bits;

        s.factor = how.scale ? gcb_scale_tensor(all, &s.scaling.f)
                             : gcb_float_of(gcb_scale_code(all, &s.scaling));
        s.scaling.tensor = s.scale = s.factor;
        if (at.block == 0 && threadIdx.x == 0)
            put_u32(at.item.payload, gcb_bits_of(s.factor));
    }
    if (how.scale) {
        most = largest_shared(room.most, most, sharers(how));
        code = gcb_scale_code(most, &s.scaling);
        s.factor = gcb_scale_factor(code, &s.scaling);
        s.scale = gcb_scale_value(code, &s.scaling);
        if (threadIdx.x % sharers(how) == 0 && at.first < at.item.in.n) {
            uint8_t *const to = at.item.payload + scale_at(how, at.first);

            if (how.scale == 1)
                *to = static_cast<uint8_t>(code);
            else
                put_u32(to, code);
        }
    }
    return s;
}

__device__ __forceinline__ sharing share_integers(block_room &room, const tile_work &at,
                                                  const float (&v)[kTileEach],
                                                  const gcb_cuda_blocks &how)
{
    sharing s = {};
    uint32_t greatest = 0, least = 0;
    float lo, hi;

    for (unsigned i = 0; i < kTileEach; i++)
        if (at.first + i < at.item.in.n) {
            greatest = larger(greatest, rank_of(v[i]));
            least = larger(least, ~rank_of(v[i]));
        }
    greatest = largest_shared(room.most, greatest, sharers(how));
    least = largest_shared(room.least, least, sharers(how));
    hi = value_of_rank(greatest);
    lo = value_of_rank(~least);
    s.affine = gcb_affine_of(lo, hi, how.top, how.minimum);
    if (threadIdx.x % sharers(how) == 0 && at.first < at.item.in.n) {
        uint8_t *const to = at.item.payload + scale_at(how, at.first);

        put_u32(to, gcb_bits_of(s.affine.step));
        if (how.minimum)
            put_u32(to + 4, gcb_bits_of(s.affine.base));
        else
            to[4] = static_cast<uint8_t>(s.affine.base);
    }
    return s;
}

/* The value of a code. */
__device__ __forceinline__ float decoded_value(uint32_t code, const sharing &s,
                                               const gcb_cuda_blocks &how)
{
    if (how.integers)
        return gcb_affine_value(code, &s.affine, how.minimum);
    const float v = gcb_small_value(code, &s.scaling.f);

    return how.divides ? v / s.scale : v * s.scale;
}

template <class Where>
__global__ void __launch_bounds__(kTileThreads) encode_blocks(Where where, gcb_cuda_blocks how)
{
    block_room &room = shared<block_room>();
    const tile_work at = find_tile(where);
    gcb_device_input in = at.item.in;
    uint32_t code[kTileEach], clamped = 0;
    float v[kTileEach], decoded[kTileEach];
    gcb_tile_draw draw = {};

    in.compensated |= how.head != 0;
    if (how.drawn)
        draw = gcb_tile_draw_of(gcb_philox_by(&how.keys, at.first / kTile, at.item.coarse));
    if (at.item.result && at.block == 0 && threadIdx.x == 0)
        at.item.result->length = codes_at(how, in.n) + (in.n * how.width + 7) / 8;
    load_input(v, in, at.first);
    for (unsigned i = 0; i < kTileEach; i++)
        v[i] *= how.weight;
    const sharing s =
        how.integers ? share_integers(room, at, v, how) : share_floats(room, at, v, how);
    if (at.item.result && largest_of(v) >= how.too_much)
        set_status(&at.item.result->status, GCB_E_SEND_RAW);
    for (unsigned i = 0; i < kTileEach; i++) {
        const uint32_t number = gcb_tile_number(&draw, at.first % kTile + i);

        code[i] = how.integers ? integer_code(v[i], s, number, how)
                               : small_code(v[i], s, number, how, &clamped);
        code[i] = at.first + i < in.n ? code[i] : 0;
        decoded[i] = decoded_value(code[i], s, how);
    }
    if (in.residual)
        store_residual(in, v, decoded, at.first);
    pack_codes(room.codes, code, how.width);
    if (at.item.result)
        add_by_warp(&at.item.result->clamped, clamped);
    sync_block();
    store_tile(at.item.payload + codes_at(how, in.n) + at.start / 8 * how.width, room.codes,
               (at.here * how.width + 7) / 8);
}

/* Reads messages (kernels/slot/tiles.cuh). */
struct block_tile {
    using room = tile_room;
    static constexpr unsigned size = kTile;
    gcb_cuda_blocks how;

    /* Reads what the elements of this thread share. Returns false if it is invalid. */
    __device__ bool read_sharing(sharing &s, const tile_work &at) const
    {
        const uint8_t *const from = at.item.payload + scale_at(how, at.first);
        const bool exists = how.scale && at.first < at.item.in.n;

        s.scaling = how.scaling;
        s.scale = 1.0f;
        if (how.integers) {
            if (exists)
                s.affine = {gcb_float_of(get_u32(from)),
                            how.minimum ? gcb_float_of(get_u32(from + 4)) : from[4]};
            return gcb_affine_valid(&s.affine, how.top, how.minimum);
        }
        if (how.head) {
            const uint32_t head = get_u32(at.item.payload);
            const float most = gcb_float_of(head) * (448.0f * s.scaling.f.largest);

            s.scaling.tensor = s.scale = gcb_float_of(head);
            if (how.scale ? head >= GCB_INF_BITS || gcb_bits_of(most) >= GCB_INF_BITS
                          : !gcb_scale_valid(head, &s.scaling))
                return false;
        }
        if (exists) {
            const uint32_t code = how.scale == 1 ? from[0] : get_u32(from);

            s.scale = gcb_scale_value(code, &s.scaling);
            return gcb_scale_valid(code, &s.scaling);
        }
        return true;
    }

    __device__ bool operator()(float (&v)[kTileEach], room &codes, const tile_work &at) const
    {
        const unsigned skip = load_tile(
            codes, at.item.payload + codes_at(how, at.item.in.n) + at.start / 8 * how.width,
            (at.here * how.width + 7) / 8);
        const uint32_t top = how.integers ? 0xffu : how.scaling.f.top;
        uint32_t code[kTileEach];
        sharing s = {};
        bool valid = read_sharing(s, at);

        sync_block();
        unpack_codes(code, codes, skip, how.width);
        for (unsigned i = 0; i < kTileEach; i++) {
            const bool here = at.first + i < at.item.in.n;
            const uint32_t magnitude = how.integers ? code[i] : code[i] & (how.scaling.f.sign - 1);

            valid &= !here || magnitude <= top;
            v[i] = decoded_value(code[i], s, how);
        }
        if (!valid)
            set_status(&at.item.result->status, GCB_E_CORRUPT);
        return true;
    }
};

template <class Where>
int launch_encode(gcb_device_stream *s, const gcb_cuda_blocks *how, const launch_part<Where> &part)
{
    if (how->head)
        launch(measure_largest<Where>, part.grid, kTileThreads, 0, s, part.where);
    return launch(encode_blocks<Where>, part.grid, kTileThreads, sizeof(block_room), s, part.where,
                  *how);
}

} /* namespace */

int gcb_cuda_blocks_encode(gcb_device_stream *s, uint8_t *out, const gcb_device_input *in,
                           const gcb_cuda_blocks *how, uint64_t stream, gcb_device_result *result)
{
    const single message = {{*in, out, result, nullptr, stream, 0, 0}};

    return launch_encode<single>(s, how, {message, tile_blocks(in->n)});
}

int gcb_cuda_blocks_decode(gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                           const gcb_cuda_blocks *how, gcb_device_result *result)
{
    return launch_decode<single>(s, {single_decode(out, in, n, result), tile_blocks(n)},
                                 block_tile{*how});
}

int gcb_cuda_blocks_sum(gcb_device_stream *s, float *out, uint64_t n, const gcb_cuda_blocks *how,
                        const gcb_cuda_payloads *p)
{
    return launch_sum(s, {single_decode(out, nullptr, n, nullptr), tile_blocks(n)},
                      block_tile{*how}, p);
}

int gcb_cuda_blocks_encode_group(gcb_device_stream *s, const gcb_device_group *g,
                                 const gcb_cuda_blocks *how)
{
    const uint64_t tiles = cut_tiles(g);

    send_table(s, g);
    return launch_encode<message_group>(s, how, {grid_of(g, 0), tiles});
}

int gcb_cuda_blocks_decode_group(gcb_device_stream *s, const gcb_device_group *g,
                                 const gcb_cuda_blocks *how)
{
    const uint64_t tiles = cut_tiles(g);

    send_table(s, g);
    return launch_decode<message_group>(s, {grid_of(g, 0), tiles}, block_tile{*how});
}
