#include "kernels/block/blocks_cuda.h"

#include "kernels/cuda/group.cuh"
#include "kernels/dither/terngrad.cuh"
#include "kernels/memory/feedback.cuh"
#include "kernels/slot/tiles.cuh"

using namespace gcb;

namespace
{

struct block_room {
    tile_room codes;
    float book[GCB_BOOK];
    uint32_t most[kTileThreads], least[kTileThreads];
    uint64_t sum[GCB_BOOK]; /* of each bin (GCB_BIN_ONE) */
};

static_assert(GCB_BOOK == kTileThreads, "each thread must have a code");

/* The number of threads that share a block's scale. */
__device__ __forceinline__ unsigned threads_of_scale(const gcb_cuda_blocks &how)
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

/* Offsets in a payload of n elements: of the scale of the element `first`, and of the codes. */
__device__ __forceinline__ uint64_t scale_at(const gcb_cuda_blocks &how, uint64_t first)
{
    return how.head + (first >> how.log2) * how.scale;
}

__device__ __forceinline__ uint64_t codes_at(const gcb_cuda_blocks &how, uint64_t n)
{
    return how.scale && n ? scale_at(how, n - 1) + how.scale : how.head;
}

/* Adds error feedback, and raises max_bits to the largest magnitude. Does one atomic operation for
 * each block of threads: one for each warp would take longer than the read. */
template <class Where> __global__ void measure_largest(Where where)
{
    uint32_t(&most)[kTileThreads] = shared<uint32_t[kTileThreads]>();
    const tile_work at = find_tile(where);
    float v[kTileEach];

    load_input(v, at.item.in, at.first);
    const uint32_t all = largest_shared(most, largest_of(v), kTileThreads);
    if (threadIdx.x == 0)
        atomic_max(&at.item.result->max_bits, all);
}

/* ---- means of bins ---- */

/* What the elements of each bin add up to. Stands in a message's scratch after the sums of
 * terngrad::compute_scale. */
struct bin_sums {
    uint64_t parts[GCB_BOOK], count[GCB_BOOK];
};

__host__ __device__ inline uint64_t bins_at(uint64_t n)
{
    return (terngrad::scratch_bytes(n) + 15) / 16 * 16;
}

__device__ __forceinline__ bin_sums &sums_of(const gcb_device_item &item)
{
    return *reinterpret_cast<bin_sums *>(static_cast<uint8_t *>(item.scratch) + bins_at(item.in.n));
}

__device__ __forceinline__ const terngrad::measurement &measured(const gcb_device_item &item)
{
    return static_cast<const terngrad::head *>(item.scratch)->all;
}

__device__ __forceinline__ gcb_bins bins_of(const gcb_device_item &item)
{
    return gcb_bins_of(measured(item).sum, measured(item).sum_sq, item.in.n, GCB_BOOK);
}

/* Clears the sums of bins. Refuses a tensor whose values might overflow. One block per message. */
template <class Where> __global__ void clear_bins(Where where)
{
    const gcb_device_item &item = find_item(where);

    sums_of(item).parts[threadIdx.x] = sums_of(item).count[threadIdx.x] = 0;
    if (item.result && threadIdx.x == 0 && !(measured(item).sum_sq < GCB_BINS_MOST))
        set_status(&item.result->status, GCB_E_SEND_RAW);
}

/* Writes the book of the bins' means and, with error feedback, the residual. */
template <class Where> __global__ void finish_bins(Where where)
{
    block_room &room = shared<block_room>();
    const tile_work at = find_tile(where);
    const bin_sums &sums = sums_of(at.item);
    const unsigned t = threadIdx.x;
    float decoded[kTileEach] = {};

    if (at.block && !at.item.in.residual)
        return;
    const gcb_bins bins = bins_of(at.item);

    room.book[t] = gcb_bin_mean(&bins, t, static_cast<int64_t>(sums.parts[t]), sums.count[t]);
    if (at.block == 0)
        put_u32(at.item.payload + t * sizeof(float), gcb_bits_of(room.book[t]));
    sync_block();
    if (!at.item.in.residual)
        return;
    for (unsigned i = 0; i < kTileEach && at.first + i < at.item.in.n; i++)
        decoded[i] = room.book[at.item.payload[sizeof(room.book) + at.first + i]];
    store_residual(at.item.in, decoded, at.first);
}

/* The code of x. If x exists (`here`), adds it to the sums of its bin; otherwise the code is 0. */
__device__ __forceinline__ uint32_t bin_code(float x, const gcb_bins &b, bool here,
                                             block_room &room, bin_sums &sums)
{
    const float w = (x - b.mean) * b.per, bin = gcb_bin_of(w, b.low, b.high);
    const uint32_t code = static_cast<uint32_t>(static_cast<int32_t>(bin - b.low));
    const int64_t beyond = gcb_bin_beyond(w - bin);

    if (!here)
        return 0;
    atomic_add(&room.sum[code],
               GCB_BIN_ONE + static_cast<uint64_t>(int64_t{gcb_bin_within(w - bin)}));
    if (beyond)
        atomic_add(&sums.parts[code], static_cast<uint64_t>(beyond));
    return code;
}

/* ---- encoding ---- */

/* The code of the dynamic book whose value is nearest to t. */
__device__ __forceinline__ uint32_t dynamic_code(float t, const float (&book)[GCB_BOOK])
{
    uint32_t c = 0;

    for (uint32_t step = GCB_BOOK / 2; step; step /= 2)
        c += t >= book[c + step] ? step : 0;
    return c + (c + 1 < GCB_BOOK && gcb_dynamic_up(t, book[c], book[c + 1]));
}

/* What a thread's elements share. */
struct sharing {
    struct gcb_scaling scaling; /* of this message */
    struct gcb_affine affine;
    struct gcb_bins bins;
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
    return gcb_draw_integer(gcb_affine_place(x, &s.affine, how.top, how.minimum), number);
}

/* The functions prepare_* find what this thread's elements v share, and write the scales of tensor
 * and block to the payload, if it has them. prepare_book also fills room.book for the dynamic book,
 * and clears room.sum for means of bins. Called by all threads of the block. */
__device__ __forceinline__ sharing prepare_floats(block_room &room, const tile_work &at,
                                                  const float (&v)[kTileEach],
                                                  const gcb_cuda_blocks &how)
{
    sharing s = {};
    uint32_t most = largest_of(v), code;

    s.scaling = how.scaling;
    s.factor = s.scale = 1.0f;
    if (how.head) {
        const uint32_t all = at.item.result->max_bits;

        if (how.scale)
            gcb_scale_tensor(&s.scaling, all);
        else
            s.scaling.tensor = gcb_float_of(gcb_scale_code(all, &s.scaling));
        s.factor = s.scale = s.scaling.tensor;
        if (at.block == 0 && threadIdx.x == 0)
            put_u32(at.item.payload, gcb_bits_of(s.factor));
    }
    if (how.scale) {
        most = largest_shared(room.most, most, threads_of_scale(how));
        code = gcb_scale_code(most, &s.scaling);
        s.factor = gcb_scale_factor(code, &s.scaling);
        s.scale = gcb_scale_value(code, &s.scaling);
        if (threadIdx.x % threads_of_scale(how) == 0 && at.first < at.item.in.n) {
            uint8_t *const to = at.item.payload + scale_at(how, at.first);

            if (how.scale == 1)
                *to = static_cast<uint8_t>(code);
            else
                put_u32(to, code);
        }
    }
    return s;
}

__device__ __forceinline__ sharing prepare_integers(block_room &room, const tile_work &at,
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
    greatest = largest_shared(room.most, greatest, threads_of_scale(how));
    least = largest_shared(room.least, least, threads_of_scale(how));
    hi = value_of_rank(greatest);
    lo = value_of_rank(~least);
    s.affine = gcb_affine_of(lo, hi, how.top, how.minimum);
    if (threadIdx.x % threads_of_scale(how) == 0 && at.first < at.item.in.n) {
        uint8_t *const to = at.item.payload + scale_at(how, at.first);

        put_u32(to, gcb_bits_of(s.affine.step));
        if (how.minimum)
            put_u32(to + 4, gcb_bits_of(s.affine.base));
        else
            to[4] = static_cast<uint8_t>(s.affine.base);
    }
    return s;
}

__device__ __forceinline__ sharing prepare_book(block_room &room, const tile_work &at,
                                                const float (&v)[kTileEach],
                                                const gcb_cuda_blocks &how)
{
    sharing s = {};

    if (how.kind == GCB_CUDA_BINS) {
        s.bins = bins_of(at.item);
        room.sum[threadIdx.x] = 0;
        sync_block();
        return s;
    }
    room.book[threadIdx.x] = gcb_dynamic_value(threadIdx.x);
    const uint32_t most = largest_shared(room.most, largest_of(v), threads_of_scale(how));

    s.scale = gcb_float_of(most);
    s.factor = gcb_dynamic_divisor(s.scale);
    if (threadIdx.x % threads_of_scale(how) == 0 && at.first < at.item.in.n)
        put_u32(at.item.payload + scale_at(how, at.first), most);
    return s;
}

/* The value of a code. */
__device__ __forceinline__ float decoded_value(uint32_t code, const sharing &s,
                                               const gcb_cuda_blocks &how,
                                               const float (&book)[GCB_BOOK])
{
    if (how.kind == GCB_CUDA_INTEGERS)
        return gcb_affine_value(code, &s.affine, how.minimum);
    if (how.kind >= GCB_CUDA_DYNAMIC)
        return book[code] * s.scale;
    const float v = gcb_small_value(code, &s.scaling.f);

    return how.divides ? v / s.scale : v * s.scale;
}

/* Blocks of encode_blocks on a multiprocessor: as many as their registers allow. */
template <class Where> constexpr unsigned blocks_at_once(gcb_cuda_block_kind kind, bool drawn)
{
    const unsigned floats = kind == GCB_CUDA_FLOATS;

    return floats && drawn ? 3 : 3 + floats - Where::fewer;
}

/* The compiler knows the kind, and whether codes are drawn. So the loops over a thread's elements
 * have no branches, and their arrays stay in registers. */
template <class Where, gcb_cuda_block_kind kind, bool drawn>
__global__ void __launch_bounds__(kTileThreads, blocks_at_once<Where>(kind, drawn))
    encode_blocks(Where where, gcb_cuda_blocks how)
{
    block_room &room = shared<block_room>();
    const tile_work at = find_tile(where);
    gcb_device_input in = at.item.in;
    uint32_t code[kTileEach], clamped = 0;
    float v[kTileEach];
    gcb_tile_draw draw = {};

    how.kind = kind;
    how.drawn = drawn;
    in.compensated |= how.head != 0;
    if (how.drawn)
        draw = gcb_tile_draw_of(gcb_philox_by(&how.keys, at.first / kTile, at.item.coarse));
    if (at.item.result && at.block == 0 && threadIdx.x == 0)
        at.item.result->length = codes_at(how, in.n) + (in.n * how.width + 7) / 8;
    load_input(v, in, at.first);
    const sharing s = how.kind >= GCB_CUDA_DYNAMIC    ? prepare_book(room, at, v, how)
                      : how.kind == GCB_CUDA_INTEGERS ? prepare_integers(room, at, v, how)
                                                      : prepare_floats(room, at, v, how);
    if (at.item.result && largest_of(v) >= how.too_much)
        set_status(&at.item.result->status, GCB_E_SEND_RAW);
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        const uint32_t number = gcb_tile_number(&draw, at.first % kTile + i);
        const bool here = at.first + i < in.n;

        if (how.kind == GCB_CUDA_BINS)
            code[i] = bin_code(v[i], s.bins, here, room, sums_of(at.item));
        else if (how.kind == GCB_CUDA_DYNAMIC)
            code[i] = dynamic_code(v[i] / s.factor, room.book);
        else
            code[i] = how.kind == GCB_CUDA_INTEGERS ? integer_code(v[i], s, number, how)
                                                    : small_code(v[i], s, number, how, &clamped);
        if (kind != GCB_CUDA_FLOATS) /* a missing element is 0, and so is its code as a float */
            code[i] = here ? code[i] : 0;
    }
    if (in.residual && kind != GCB_CUDA_BINS) {
        float decoded[kTileEach];

#pragma unroll
        for (unsigned i = 0; i < kTileEach; i++)
            decoded[i] = decoded_value(code[i], s, how, room.book);
        store_residual(in, decoded, at.first);
    }
    pack_codes(room.codes, code, how.width);
    if (at.item.result)
        add_by_warp(&at.item.result->clamped, clamped);
    sync_block();
    store_tile(at.item.payload + codes_at(how, in.n) + at.start / 8 * how.width, room.codes,
               (at.here * how.width + 7) / 8);
    if (how.kind == GCB_CUDA_BINS && room.sum[threadIdx.x]) {
        bin_sums &sums = sums_of(at.item);
        const uint64_t sum = room.sum[threadIdx.x];

        atomic_add(&sums.count[threadIdx.x], sum >> 32);
        atomic_add(&sums.parts[threadIdx.x], static_cast<uint64_t>(gcb_bin_parts(sum)));
    }
}

/* ---- decoding ---- */

/* Reads messages (kernels/slot/tiles.cuh). */
struct block_tile {
    struct room {
        tile_room codes;
        float book[GCB_BOOK];
    };
    static constexpr unsigned size = kTile;
    gcb_cuda_blocks how;

    /* Reads what the elements of this thread share. Returns false if it is invalid. */
    __device__ bool read_sharing(sharing &s, const tile_work &at) const
    {
        const uint8_t *const from = at.item.payload + scale_at(how, at.first);
        const bool exists = how.scale && at.first < at.item.in.n;

        s.scaling = how.scaling;
        s.scale = 1.0f;
        if (how.kind >= GCB_CUDA_DYNAMIC) {
            if (exists)
                s.scale = gcb_float_of(get_u32(from));
            return gcb_bits_of(s.scale) < GCB_INF_BITS;
        }
        if (how.kind == GCB_CUDA_INTEGERS) {
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

    /* Makes or reads a value of the book. Returns false if it is invalid. */
    __device__ bool read_value(float (&book)[GCB_BOOK], const tile_work &at) const
    {
        const unsigned t = threadIdx.x;

        book[t] = how.kind == GCB_CUDA_BINS
                      ? gcb_float_of(get_u32(at.item.payload + t * sizeof(float)))
                  : how.kind == GCB_CUDA_DYNAMIC ? gcb_dynamic_value(t)
                                                 : 0.0f;
        return gcb_magnitude(book[t]) < GCB_INF_BITS;
    }

    __device__ bool operator()(float (&v)[kTileEach], room &in, const tile_work &at) const
    {
        const unsigned skip = load_tile(
            in.codes, at.item.payload + codes_at(how, at.item.in.n) + at.start / 8 * how.width,
            (at.here * how.width + 7) / 8);
        const unsigned here =
            at.first < at.item.in.n ? elements_from(at.item.in.n, at.first, kTileEach) : 0;
        const bool floats = how.kind == GCB_CUDA_FLOATS;
        const uint32_t top = floats ? how.scaling.f.top : 0xffu;
        uint32_t code[kTileEach];
        sharing s = {};
        const bool sound = read_value(in.book, at);
        bool valid = read_sharing(s, at) && sound;

        sync_block();
        unpack_codes(code, in.codes, skip, how.width);
        for (unsigned i = 0; i < kTileEach; i++) {
            const uint32_t magnitude = floats ? code[i] & (how.scaling.f.sign - 1) : code[i];

            valid &= i >= here || magnitude <= top;
            v[i] = decoded_value(code[i], s, how, in.book);
        }
        if (!valid)
            set_status(&at.item.result->status, GCB_E_CORRUPT);
        return true;
    }
};

/* ---- launches ---- */

template <class Where>
int launch_encode(gcb_device_stream *s, const gcb_cuda_blocks *how, const launch_part<Where> &part)
{
    return launch(how->kind == GCB_CUDA_BINS      ? encode_blocks<Where, GCB_CUDA_BINS, false>
                  : how->kind == GCB_CUDA_DYNAMIC ? encode_blocks<Where, GCB_CUDA_DYNAMIC, false>
                  : how->kind == GCB_CUDA_INTEGERS
                      ? how->drawn ? encode_blocks<Where, GCB_CUDA_INTEGERS, true>
                                   : encode_blocks<Where, GCB_CUDA_INTEGERS, false>
                  : how->drawn ? encode_blocks<Where, GCB_CUDA_FLOATS, true>
                               : encode_blocks<Where, GCB_CUDA_FLOATS, false>,
                  part.grid, kTileThreads, sizeof(block_room), s, part.where, *how);
}

/* Queues the launches after those that measure the sums (terngrad::compute_scale). `whole` has one
 * block per message. */
template <class Where>
int launch_bins(gcb_device_stream *s, const gcb_cuda_blocks *how, const launch_part<Where> &whole,
                const launch_part<Where> &part)
{
    launch(clear_bins<Where>, whole.grid, kTileThreads, 0, s, whole.where);
    launch_encode<Where>(s, how, part);
    return launch(finish_bins<Where>, part.grid, kTileThreads, sizeof(block_room), s, part.where);
}

template <class Where>
int launch_scaled(gcb_device_stream *s, const gcb_cuda_blocks *how, const launch_part<Where> &part)
{
    if (how->head)
        launch(measure_largest<Where>, part.grid, kTileThreads, kTileThreads * sizeof(uint32_t), s,
               part.where);
    return launch_encode<Where>(s, how, part);
}

constexpr double kAnyClip = 1.0; /* not 0, so that compute_scale measures the sums */

} /* namespace */

uint64_t gcb_cuda_blocks_scratch(const gcb_cuda_blocks *how, uint64_t n)
{
    return how->kind == GCB_CUDA_BINS ? bins_at(n) + sizeof(bin_sums) : 0;
}

int gcb_cuda_blocks_encode(gcb_device_stream *s, uint8_t *out, const gcb_device_input *in,
                           const gcb_cuda_blocks *how, uint64_t stream, void *scratch,
                           gcb_device_result *result)
{
    const single message = {{*in, out, result, scratch, stream, 0, 0}};
    const launch_part<single> part = {message, tile_blocks(in->n)};

    if (how->kind != GCB_CUDA_BINS)
        return launch_scaled<single>(s, how, part);
    terngrad::compute_scale(s, message, kAnyClip);
    return launch_bins<single>(s, how, {message, 1}, part);
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
    const bool bins = how->kind == GCB_CUDA_BINS;
    const uint64_t blocks = bins ? terngrad::cut_scale(g) : 0;
    const launch_part<message_group> part = {grid_of(g, 0), cut_tiles(g)};

    send_table(s, g);
    if (!bins)
        return launch_scaled<message_group>(s, how, part);
    terngrad::compute_scale(s, g, blocks, kAnyClip);
    return launch_bins<message_group>(s, how, {grid_of(g, 0), g->count}, part);
}

int gcb_cuda_blocks_decode_group(gcb_device_stream *s, const gcb_device_group *g,
                                 const gcb_cuda_blocks *how)
{
    const uint64_t tiles = cut_tiles(g);

    send_table(s, g);
    return launch_decode<message_group>(s, {grid_of(g, 0), tiles}, block_tile{*how});
}
