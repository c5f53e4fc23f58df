#include "kernels/range/range_cuda.h"

#include "kernels/cuda/group.cuh"
#include "kernels/memory/feedback.cuh"
#include "kernels/range/range_choose.cuh"
#include "kernels/reduce/sum.cuh"
#include "kernels/slot/tiles.cuh"

using namespace gcb;

namespace
{

struct tuning {
    static constexpr uint64_t measuring_blocks =
        528; /* four for each of an H100's 132 multiprocessors */
    static constexpr unsigned choosers = 4 * kExponents; /* threads that choose a format */
};

/* Counts of exponents (unset if only the maximum is needed) and the maximum of the elements that
 * one block has read. */
struct block_measurement {
    uint32_t exponents[kExponents];
    uint32_t max_bits;
    uint32_t pad[3];
};

/* Layout of the scratch: the chosen format, then the `block_measurement` of each block. */
struct scratch_head {
    struct gcb_range_format format;
    uint32_t pad[7]; /* aligns what follows to 16 bytes */
};

/* ---- measuring: counts of exponents, and the maximum ---- */

/* Counts exponents for measure_tiles, which computes max_bits itself. Each exponent has one counter
 * per lane, so that the lanes of a warp never update the same counter. The functions are called by
 * every thread of the block. add counts v[i] for i < left. */
struct counters {
    uint32_t count[kExponents][kWarp];
    uint32_t max_bits;

    __device__ void clear()
    {
        for (unsigned i = threadIdx.x; i < kExponents * kWarp; i += blockDim.x)
            count[i / kWarp][i % kWarp] = 0;
    }
    __device__ void add(const float (&v)[kTileEach], uint64_t left)
    {
        for (unsigned i = 0; i < kTileEach; i++)
            if (i < left)
                atomic_add(&count[gcb_magnitude(v[i]) >> 23][lane()], 1u);
    }
    __device__ void put(block_measurement *to) const
    {
        for (unsigned e = threadIdx.x; e < kExponents; e += blockDim.x) {
            uint32_t sum = 0;

            for (unsigned i = 0; i < kWarp; i++)
                sum += count[e][(e + i) % kWarp]; /* each lane reads a bank of its own */
            to->exponents[e] = sum;
        }
    }
};

/* Takes the place of struct counters if only the maximum is needed. */
struct only_maximum {
    uint32_t max_bits;

    __device__ void clear()
    {
    }
    __device__ void add(const float (&)[kTileEach], uint64_t)
    {
    }
    __device__ void put(block_measurement *) const
    {
    }
};

/* The measurements of a message's blocks: they follow the format in the message's scratch. */
__device__ block_measurement *measurements_in(void *scratch)
{
    return reinterpret_cast<block_measurement *>(static_cast<scratch_head *>(scratch) + 1);
}

/* Measures tiles. Each block writes one block_measurement. */
template <class Where, class Room> __global__ void measure_tiles(Where where)
{
    Room &s = shared<Room>();
    const block_work at = find_work(where);
    const gcb_device_input &in = at.item.in;
    block_measurement *const out = measurements_in(at.item.scratch) + at.block;
    uint32_t most = 0;

    s.clear();
    s.max_bits = 0;
    sync_block();
    for (uint64_t tile = at.block; tile * kTile < in.n; tile += at.blocks) {
        const uint64_t first = tile * kTile + threadIdx.x * kTileEach;
        float v[kTileEach];

        load_input(v, in, first);
        s.add(v, first < in.n ? in.n - first : 0);
        most = larger(most, largest_of(v));
    }
    raise_by_warp(&s.max_bits, most);
    sync_block();
    s.put(out);
    if (threadIdx.x == 0)
        out->max_bits = s.max_bits;
}

struct choose_room {
    range_room range;
    uint32_t max_bits;
};

/* The number of blocks that measure n elements. */
__host__ __device__ unsigned parts_of(uint64_t n)
{
    return static_cast<unsigned>(grid_over(tile_count(n), tuning::measuring_blocks));
}

/* ---- choosing a format ---- */

/* Joins a message's measurements and chooses its format, with one block of threads per message. */
template <class Where>
__global__ __launch_bounds__(tuning::choosers) void choose_format(Where where, gcb_cuda_range how)
{
    choose_room &s = shared<choose_room>();
    const gcb_device_item item = find_item(where);
    const block_measurement *__restrict__ const part = measurements_in(item.scratch);
    const unsigned parts = parts_of(item.in.n);
    unsigned mantissa = how.mantissa;
    uint32_t most = 0;
    float max;

    if (threadIdx.x == 0)
        s.max_bits = 0;
    if (threadIdx.x < kExponents)
        s.range.exponents[threadIdx.x] = 0;
    sync_block();
    for (unsigned i = threadIdx.x; i < parts; i += blockDim.x)
        most = larger(most, part[i].max_bits);
    raise_by_warp(&s.max_bits, most);
    if (how.mantissa == 0) {
        uint64_t sum = 0;

        /* A thread reads at most 132 measurements, in four rounds of 33. */
#pragma unroll 33
        for (unsigned i = threadIdx.x / kExponents; i < parts; i += tuning::choosers / kExponents)
            sum += part[i].exponents[threadIdx.x % kExponents];
        atomic_add(&s.range.exponents[threadIdx.x % kExponents], sum);
    }
    sync_block();
    max = how.max_given ? how.max : gcb_float_of(s.max_bits);
    if (how.mantissa == 0)
        mantissa = best_mantissa(s.range, max, how.bits, how.rounding);
    if (threadIdx.x == 0) {
        gcb_range_format(&static_cast<scratch_head *>(item.scratch)->format, how.bits, mantissa,
                         max, how.rounding);
        if (!how.max_given)
            atomic_max(&item.result->max_bits, s.max_bits);
    }
}

/* ---- encoding and decoding ---- */

/* Writes GCB_CUDA_RANGE_HEAD bytes: the topmost value and the mantissa width. */
__device__ void put_head(uint8_t *out, const struct gcb_range_format &f)
{
    put_u32(out, gcb_bits_of(gcb_range_decode(f.top, &f)));
    out[4] = static_cast<uint8_t>(f.mantissa);
}

/* Encodes a tile. The format is `given` or, if `measured`, was chosen on the device after a first
 * read of the tensor. */
template <class Where>
__global__ void __launch_bounds__(kTileThreads, 5 - Where::fewer)
    encode(Where where, bool measured, struct gcb_range_format given)
{
    tile_room &room = shared<tile_room>();
    const tile_work at = find_tile(where);
    gcb_device_input in = at.item.in;
    const struct gcb_range_format f =
        measured ? static_cast<const scratch_head *>(at.item.scratch)->format : given;
    uint32_t code[kTileEach], clamped = 0;
    float v[kTileEach];

    in.compensated |= measured;
    if (at.block == 0 && threadIdx.x == 0) {
        put_head(at.item.payload, f);
        at.item.result->length = GCB_CUDA_RANGE_HEAD + (in.n * f.bits + 7) / 8;
    }
    load_input(v, in, at.first);
    for (unsigned i = 0; i < kTileEach; i++) {
        code[i] = gcb_range_encode(v[i], &f); /* 0 for a missing element, which is +0 */
        clamped += gcb_magnitude(v[i]) > f.clamp;
    }
    if (in.residual) {
        float decoded[kTileEach];

        for (unsigned i = 0; i < kTileEach; i++)
            decoded[i] = gcb_range_decode(code[i], &f);
        store_residual(in, decoded, at.first);
    }
    pack_codes(room, code, f.bits);
    add_by_warp(&at.item.result->clamped, clamped);
    sync_block();
    store_tile(at.item.payload + GCB_CUDA_RANGE_HEAD + at.start / 8 * f.bits, room,
               (at.here * f.bits + 7) / 8);
}

/* For kernels/slot/tiles.cuh: decodes this thread's elements of a tile. Returns false if the
 * message's head is not a valid format. */
struct range_tile {
    using room = tile_room;
    static constexpr unsigned size = kTile;
    unsigned bits;

    __device__ bool operator()(float (&v)[kTileEach], room &codes, const tile_work &at) const
    {
        const uint8_t *__restrict__ const in = at.item.payload;
        const uint32_t top = get_u32(in);
        const unsigned mantissa = in[4];
        uint32_t code[kTileEach];
        struct gcb_range_format f;
        unsigned skip;

        if (top >= GCB_INF_BITS || !gcb_range_valid(bits, mantissa)) {
            if (threadIdx.x == 0)
                set_status(&at.item.result->status, GCB_E_CORRUPT);
            return false;
        }
        gcb_range_format(&f, bits, mantissa, gcb_float_of(top), GCB_ROUND_TRUNCATE);
        skip = load_tile(codes, in + GCB_CUDA_RANGE_HEAD + at.start / 8 * bits,
                         (at.here * bits + 7) / 8);
        sync_block();
        unpack_codes(code, codes, skip, bits);
        for (unsigned i = 0; i < kTileEach; i++)
            v[i] = gcb_range_decode(code[i], &f);
        return true;
    }
};

/* ---- launches ---- */

/* True if the mantissa width or the maximum must be chosen from the data. */
bool needs_measuring(const gcb_cuda_range *how)
{
    return how->mantissa == 0 || !how->max_given;
}

/* The format if no measuring is needed, else zeros. */
struct gcb_range_format format_of(const gcb_cuda_range *how)
{
    struct gcb_range_format f = {};

    if (!needs_measuring(how))
        gcb_range_format(&f, how->bits, how->mantissa, how->max, how->rounding);
    return f;
}

template <class Where>
int launch_encode(gcb_device_stream *s, const gcb_cuda_range *how,
                  const launch_part<Where> &measuring, uint64_t messages,
                  const launch_part<Where> &encoded)
{
    if (needs_measuring(how)) {
        if (how->mantissa == 0)
            launch(measure_tiles<Where, counters>, measuring.grid, kTileThreads, sizeof(counters),
                   s, measuring.where);
        else
            launch(measure_tiles<Where, only_maximum>, measuring.grid, kTileThreads,
                   sizeof(only_maximum), s, measuring.where);
        launch(choose_format<Where>, messages, tuning::choosers, sizeof(choose_room), s,
               measuring.where, *how);
    }
    return launch(encode<Where>, encoded.grid, kTileThreads, sizeof(tile_room), s, encoded.where,
                  needs_measuring(how), format_of(how));
}

} /* namespace */

uint64_t gcb_cuda_range_scratch(const gcb_cuda_range *how, uint64_t n)
{
    return needs_measuring(how) ? sizeof(scratch_head) + parts_of(n) * sizeof(block_measurement)
                                : 0;
}

int gcb_cuda_range_encode(gcb_device_stream *s, uint8_t *out, const gcb_device_input *in,
                          const gcb_cuda_range *how, void *scratch, gcb_device_result *result)
{
    const single message = single_encode(out, in, scratch, result);

    return launch_encode<single>(s, how, {message, parts_of(in->n)}, 1,
                                 {message, tile_blocks(in->n)});
}

int gcb_cuda_range_encode_group(gcb_device_stream *s, const gcb_device_group *g,
                                const gcb_cuda_range *how)
{
    const uint64_t tiles = cut_tiles(g), parts = cut_grid(g, 1, [](const gcb_device_item &item) {
                                             return uint64_t{parts_of(item.in.n)};
                                         });

    send_table(s, g);
    return launch_encode<message_group>(s, how, {grid_of(g, 1), parts}, g->count,
                                        {grid_of(g, 0), tiles});
}

int gcb_cuda_range_decode(gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                          unsigned bits, gcb_device_result *result)
{
    return launch_decode<single>(s, {single_decode(out, in, n, result), tile_blocks(n)},
                                 range_tile{bits});
}

int gcb_cuda_range_decode_group(gcb_device_stream *s, const gcb_device_group *g, unsigned bits)
{
    const uint64_t tiles = cut_tiles(g);

    send_table(s, g);
    return launch_decode<message_group>(s, {grid_of(g, 0), tiles}, range_tile{bits});
}

int gcb_cuda_range_sum(gcb_device_stream *s, float *out, uint64_t n, unsigned bits,
                       const gcb_cuda_payloads *p)
{
    return launch_sum(s, {single_decode(out, nullptr, n, nullptr), tile_blocks(n)},
                      range_tile{bits}, p);
}
