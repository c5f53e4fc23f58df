#include "kernels/cuda/feedback.cuh"
#include "kernels/cuda/group.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sum.cuh"
#include "kernels/dither/draw.cuh"
#include "kernels/reduce/norm_elem.h"

namespace
{

constexpr unsigned kWarps = gcb::kTileThreads / gcb::kWarp;
constexpr unsigned kHead = sizeof(float);
/* In base 3 a tile is 4080 elements: a multiple of 5 and of 16, and 816 bytes. */
constexpr unsigned kTile3 = 4080;

/* Over all elements, or those of some sum blocks. */
struct measured {
    double sum, sum_sq;
    uint32_t max_bits;
};

struct alignas(16) head {
    float scale;
    struct measured so_far; /* of a long message */
};

/* In scratch; behind the head, the sums and the maximum of each sum block. */
struct blocks {
    struct head *head;
    double *sum, *sum_sq;
    uint32_t *max_bits;
};

__host__ __device__ uint64_t block_count(uint64_t n)
{
    return (n + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
}

__device__ struct blocks lay_out(const struct gcb_device_item &item)
{
    const uint64_t count = block_count(item.in.n);
    uint8_t *const scratch = static_cast<uint8_t *>(item.scratch);
    double *const sum = reinterpret_cast<double *>(scratch + sizeof(struct head));

    return {reinterpret_cast<struct head *>(scratch), sum, sum + count,
            reinterpret_cast<uint32_t *>(sum + 2 * count)};
}

/* ---- the scaler ---- */

/* A warp measures a sum block: one read for all three. */
template <bool sums> __device__ void measure_block(const struct gcb_device_item &item, uint64_t b)
{
    const struct gcb_device_input &in = item.in;
    const struct blocks out = lay_out(item);
    const uint64_t from = b * GCB_SUM_BLOCK, left = from < in.n ? in.n - from : 0;
    const unsigned here = static_cast<unsigned>(left < GCB_SUM_BLOCK ? left : GCB_SUM_BLOCK);
    double sum = 0.0, sum_sq = 0.0;
    uint32_t most = 0;

#pragma unroll 8
    for (unsigned i = gcb::lane(); i < here; i += gcb::kWarp) {
        const float v = gcb::is_open(in) ? gcb::compensate(in, from + i) : in.x[from + i];
        const uint32_t m = gcb_magnitude(v);

        if (gcb::is_open(in))
            in.x[from + i] = v;
        most = m > most ? m : most;
        if (sums) {
            sum += gcb_reduce_plain(v);
            sum_sq += gcb_reduce_square(v);
        }
    }
    most = gcb::warp_max(most);
    if (sums) {
        sum = gcb::join_lanes(sum);
        sum_sq = gcb::join_lanes(sum_sq);
    }
    if (here == 0 || gcb::lane() != 0)
        return;
    out.max_bits[b] = most;
    if (sums) {
        out.sum[b] = sum;
        out.sum_sq[b] = sum_sq;
    }
}

template <class Where, bool sums> __global__ void measure(Where where)
{
    const gcb::place at = gcb::find(where);

    measure_block<sums>(at.item, at.block * uint64_t{kWarps} + threadIdx.x / gcb::kWarp);
}

struct adding {
    gcb::chain_room_of<2> chain;
    double sum_sq;
    uint32_t max_bits;
};

/* What sum blocks [from, end) add to what was measured before `from`: thread 0 has it. Every thread of the block. */
__device__ struct measured add_up(adding &s, const struct blocks &in, uint64_t from, uint64_t end,
                                  bool sums)
{
    struct measured all = {0.0, 0.0, 0};
    uint32_t most = 0;

    if (from)
        all = in.head->so_far;
    if (threadIdx.x == 0)
        s.max_bits = all.max_bits;
    gcb::sync_block();
    for (uint64_t i = from + threadIdx.x; i < end; i += blockDim.x)
        most = in.max_bits[i] > most ? in.max_bits[i] : most;
    most = gcb::warp_max(most);
    if (gcb::lane() == 0)
        gcb::atomic_max(&s.max_bits, most);
    if (sums) {
        const double *const parts[] = {in.sum + from, in.sum_sq + from};
        const double before = threadIdx.x < gcb::kWarp ? all.sum : all.sum_sq;

        all.sum = gcb::chain_sums(s.chain, before, parts, end - from);
        if (threadIdx.x == gcb::kWarp)
            s.sum_sq = all.sum;
    }
    gcb::sync_block();
    all.sum_sq = s.sum_sq;
    all.max_bits = s.max_bits;
    return all;
}

/* Of a long message the sum blocks from `first` on, while the first block adds up those from `before` on up to there,
 * which the launch before has measured. */
__global__ void measure_on(gcb::one where, uint64_t before, uint64_t first)
{
    if (blockIdx.x) {
        const uint64_t block = blockIdx.x - 1;

        measure_block<true>(where.item, first + block * kWarps + threadIdx.x / gcb::kWarp);
    } else {
        const struct blocks in = lay_out(where.item);
        const struct measured all = add_up(gcb::shared<adding>(), in, before, first, true);

        if (threadIdx.x == 0)
            in.head->so_far = all;
    }
}

/* One block a message: the scaler, to scratch and into the payload. Added up are sum blocks up to `from`. */
template <class Where> __global__ void choose(Where where, double clip, uint64_t from)
{
    const struct gcb_device_item item = gcb::find_whole(where);
    const struct blocks in = lay_out(item);
    const uint64_t n = item.in.n;
    const struct measured all =
        add_up(gcb::shared<adding>(), in, from, block_count(n), clip != 0.0);
    const double limit = clip != 0.0 && n > 0
                             ? gcb_clip_of_sums(clip, all.sum, all.sum_sq, static_cast<double>(n))
                             : 0.0;
    uint32_t bits;

    if (threadIdx.x != 0)
        return;
    in.head->scale = gcb_clipped_max(limit, all.max_bits);
    bits = gcb_bits_of(in.head->scale);
    for (unsigned i = 0; i < kHead; i++)
        item.payload[i] = static_cast<uint8_t>(bits >> 8 * i);
}

/* ---- codes ---- */

/* One rounder for all of them. */
struct same {
    const struct gcb_dither &d;

    __device__ const struct gcb_dither &operator()(unsigned) const
    {
        return d;
    }
};

__device__ void draw(gcb::drawn_run &drawn, const float (&v)[gcb::kTileEach],
                     const struct gcb_philox_block &bytes, const struct gcb_dither &d)
{
    const float inv = 256.0f * d.inv;

    if (d.factor == 1.0f) {
#pragma unroll
        for (unsigned i = 0; i < gcb::kTileEach; i++)
            gcb::draw_one(drawn, i, gcb_dither_256ths(fabsf(v[i]), inv, 256.0f), bytes);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < gcb::kTileEach; i++)
        gcb::draw_one(drawn, i, gcb_dither_256ths(fabsf(v[i]) * d.factor, inv, 256.0f), bytes);
}

/* This thread's elements: 0, 1, 2, and 0 for those from `end` on; returns how many were clamped. */
__device__ uint32_t tern(uint32_t (&code)[gcb::kTileEach], const struct gcb_device_item &item,
                         uint64_t first, uint64_t end, struct gcb_cuda_terngrad how)
{
    const unsigned here =
        first >= end
            ? 0
            : static_cast<unsigned>(end - first < gcb::kTileEach ? end - first : gcb::kTileEach);
    const float scale = static_cast<const struct head *>(item.scratch)->scale;
    const struct gcb_dither d = gcb::rounder(1, scale);
    gcb::drawn_run drawn = {};
    float v[gcb::kTileEach];
    uint32_t clamped = 0;

    how.draw.coarse = item.coarse;
    how.draw.fine = item.fine;
    gcb::load_floats(v, item.in.x, first, end);
    draw(drawn, v, gcb::draw_bytes(how.draw, first), d);
    gcb::settle(drawn, how.draw, item.in.x, first, here, same{d});
#pragma unroll
    for (unsigned i = 0; i < gcb::kTileEach; i++)
        code[i] = i < here ? gcb_dither_trit_of(drawn.drawn[i] >> 8, v[i]) : 0u;
    if (how.clip != 0.0)
        for (unsigned i = 0; i < gcb::kTileEach; i++)
            clamped += gcb_magnitude(v[i]) > gcb_bits_of(scale); /* an absent one is 0 */
    if (item.in.residual) {
        struct gcb_device_input in = item.in;
        float decoded[gcb::kTileEach];

        in.n = end;
        for (unsigned i = 0; i < gcb::kTileEach; i++)
            decoded[i] = gcb_dither_trit_value(code[i], scale);
        gcb::store_residual(in, v, decoded, first);
    }
    return clamped;
}

__device__ void add_clamped(gcb_device_result *result, uint32_t clamped)
{
    clamped = gcb::warp_add(clamped);
    if (gcb::lane() == 0 && clamped)
        gcb::atomic_add(&result->clamped, static_cast<uint64_t>(clamped));
}

template <class Where> __global__ void encode_2bit(Where where, struct gcb_cuda_terngrad how)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const gcb::place at = gcb::find(where);
    const uint64_t n = at.item.in.n;
    const uint64_t start = at.block * uint64_t{gcb::kTile}, left = n - start;
    const unsigned here = static_cast<unsigned>(left < gcb::kTile ? left : gcb::kTile);
    uint32_t code[gcb::kTileEach];

    if (at.block == 0 && threadIdx.x == 0)
        at.item.result->length = kHead + (n + 3) / 4;
    add_clamped(at.item.result, tern(code, at.item, start + threadIdx.x * gcb::kTileEach, n, how));
    gcb::pack_codes(room, code, 2);
    gcb::sync_block();
    gcb::store_tile(at.item.payload + kHead + start / 4, room, (here + 3) / 4);
}

struct trits {
    gcb::tile_room room;
    uint8_t code[gcb::kTile]; /* threads beyond the tile's 255 write zeros */
};

template <class Where> __global__ void encode_base3(Where where, struct gcb_cuda_terngrad how)
{
    trits &s = gcb::shared<trits>();
    const gcb::place at = gcb::find(where);
    const uint64_t n = at.item.in.n;
    const uint64_t start = at.block * uint64_t{kTile3}, left = n - start;
    const unsigned here = static_cast<unsigned>(left < kTile3 ? left : kTile3);
    const unsigned bytes = (here + 4) / 5;
    uint8_t *const packed = reinterpret_cast<uint8_t *>(s.room.word);
    uint32_t code[gcb::kTileEach];

    if (at.block == 0 && threadIdx.x == 0)
        at.item.result->length = kHead + (n + 4) / 5;
    add_clamped(at.item.result,
                tern(code, at.item, start + threadIdx.x * gcb::kTileEach, start + here, how));
    for (unsigned i = 0; i < gcb::kTileEach; i++)
        s.code[threadIdx.x * gcb::kTileEach + i] = static_cast<uint8_t>(code[i]);
    gcb::sync_block();
    for (unsigned j = threadIdx.x; j < bytes; j += blockDim.x) {
        const uint8_t *c = s.code + 5 * j;

        packed[j] = static_cast<uint8_t>(c[0] + 3 * c[1] + 9 * c[2] + 27 * c[3] + 81 * c[4]);
    }
    gcb::sync_block();
    gcb::store_tile(at.item.payload + kHead + start / 5, s.room, bytes);
}

/* ---- decoding ---- */

/* The scaler of a payload; false, for all threads alike, if no encoder writes it. */
__device__ bool get_scale(float *scale, const uint8_t *in, gcb_device_result *result)
{
    const uint32_t bits = *reinterpret_cast<const uint32_t *>(in);

    if (bits >= GCB_INF_BITS) {
        if (threadIdx.x == 0)
            gcb::set_status(&result->status, GCB_E_CORRUPT);
        return false;
    }
    *scale = gcb_float_of(bits);
    return true;
}

__device__ void store_trits(float *out, const uint32_t (&code)[gcb::kTileEach], float scale,
                            uint64_t first, uint64_t n)
{
    float v[gcb::kTileEach];

    for (unsigned i = 0; i < gcb::kTileEach; i++)
        v[i] = gcb_dither_trit_value(code[i], scale);
    gcb::store_floats(out, v, first, n);
}

template <class Where> __global__ void decode_2bit(Where where)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const gcb::place at = gcb::find(where);
    const uint8_t *__restrict__ const in = at.item.payload;
    const uint64_t n = at.item.in.n;
    const uint64_t start = at.block * uint64_t{gcb::kTile}, left = n - start;
    const unsigned here = static_cast<unsigned>(left < gcb::kTile ? left : gcb::kTile);
    uint32_t code[gcb::kTileEach];
    unsigned skip;
    float scale;

    if (!get_scale(&scale, in, at.item.result))
        return;
    skip = gcb::load_tile(room, in + kHead + start / 4, (here + 3) / 4);
    gcb::sync_block();
    gcb::unpack_codes(code, room, skip, 2);
    store_trits(at.item.in.x, code, scale, start + threadIdx.x * gcb::kTileEach, n);
}

template <class Where> __global__ void decode_base3(Where where)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const gcb::place at = gcb::find(where);
    const uint8_t *__restrict__ const in = at.item.payload;
    const uint64_t n = at.item.in.n;
    const uint64_t start = at.block * uint64_t{kTile3}, left = n - start;
    const unsigned here = static_cast<unsigned>(left < kTile3 ? left : kTile3);
    const unsigned mine = threadIdx.x * gcb::kTileEach;
    const uint8_t *packed = reinterpret_cast<const uint8_t *>(room.word) + mine / 5;
    uint32_t code[gcb::kTileEach], byte;
    unsigned digit = mine % 5;
    float scale;

    if (!get_scale(&scale, in, at.item.result))
        return;
    packed += gcb::load_tile(room, in + kHead + start / 5, (here + 4) / 5);
    gcb::sync_block();
    byte = *packed++;
    for (unsigned i = 0; i < digit; i++)
        byte /= 3;
    for (unsigned i = 0; i < gcb::kTileEach; i++) {
        if (digit == 5) {
            byte = *packed++;
            digit = 0;
        }
        code[i] = byte % 3;
        byte /= 3;
        digit++;
    }
    store_trits(at.item.in.x, code, scale, start + mine, start + here);
}

/* ---- launches ---- */

uint64_t tile3_grid(uint64_t n)
{
    return n ? (n + kTile3 - 1) / kTile3 : 1;
}

uint64_t measuring_blocks(uint64_t n)
{
    return n ? (block_count(n) + kWarps - 1) / kWarps : 1;
}

/* Messages as a step of the launch cuts them, and its blocks. */
template <class Where> struct step {
    Where where;
    uint64_t grid;
};

template <class Where>
int measure_all(struct gcb_device_stream *s, const struct gcb_cuda_terngrad *how,
                const step<Where> &all)
{
    return gcb::launch(how->clip != 0.0 ? measure<Where, true> : measure<Where, false>, all.grid,
                       gcb::kTileThreads, 0, s, all.where);
}

/* Blocks that measure in one launch, 2^25 elements: as many as are added up, one after the other, in about the time that
 * they are read in. */
constexpr uint64_t kMeasuring = 1024;

/* The same of one message; *added: the sum blocks that were added up meanwhile. */
int measure_long(struct gcb_device_stream *s, const struct gcb_cuda_terngrad *how,
                 const step<gcb::one> &all, uint64_t *added)
{
    const uint64_t each = how->clip != 0.0 ? gcb::grid_over(all.grid, kMeasuring) : all.grid;
    int err = measure_all<gcb::one>(s, how, {all.where, each});

    *added = 0;
    for (uint64_t done = each; !err && done < all.grid; done += each) {
        const uint64_t left = all.grid - done, blocks = left < each ? left : each;

        err = gcb::launch(measure_on, 1 + blocks, gcb::kTileThreads, sizeof(adding), s, all.where,
                          *added, done * kWarps);
        *added = done * kWarps;
    }
    return err;
}

template <class Where>
int choose_and_encode(struct gcb_device_stream *s, const struct gcb_cuda_terngrad *how,
                      const step<Where> &chosen, uint64_t added, const step<Where> &encoded)
{
    const int err = gcb::launch(choose<Where>, chosen.grid, gcb::kTileThreads, sizeof(adding), s,
                                chosen.where, how->clip, added);

    if (err)
        return err;
    return how->base3 ? gcb::launch(encode_base3<Where>, encoded.grid, gcb::kTileThreads,
                                    sizeof(trits), s, encoded.where, *how)
                      : gcb::launch(encode_2bit<Where>, encoded.grid, gcb::kTileThreads,
                                    sizeof(gcb::tile_room), s, encoded.where, *how);
}

template <class Where>
int run_back(struct gcb_device_stream *s, const struct gcb_cuda_terngrad *how,
             const step<Where> &coded)
{
    return gcb::launch(how->base3 ? decode_base3<Where> : decode_2bit<Where>, coded.grid,
                       gcb::kTileThreads, sizeof(gcb::tile_room), s, coded.where);
}

/* The grid of codes, cut; that of tiles is cut in any case. */
step<gcb::many> cut_codes(const struct gcb_device_group *g, const struct gcb_cuda_terngrad *how)
{
    const uint64_t tiles = gcb::cut_tiles(g);

    if (!how->base3)
        return {gcb::grid_of(g, 0), tiles};
    return {gcb::grid_of(g, 1),
            gcb::cut(g, 1, [](const struct gcb_device_item &i) { return tile3_grid(i.in.n); })};
}

} /* namespace */

uint64_t gcb_cuda_terngrad_scratch(const struct gcb_cuda_terngrad *how, uint64_t n)
{
    (void)how;
    return sizeof(struct head) + block_count(n) * (2 * sizeof(double) + sizeof(uint32_t));
}

int gcb_cuda_terngrad_encode(struct gcb_device_stream *s, uint8_t *out,
                             const struct gcb_device_input *in, const struct gcb_cuda_terngrad *how,
                             void *scratch, struct gcb_device_result *result)
{
    const gcb::one one = {{*in, out, result, scratch, how->draw.coarse, how->draw.fine, 0}};
    uint64_t added;
    const int err = measure_long(s, how, {one, measuring_blocks(in->n)}, &added);

    return err ? err
               : choose_and_encode<gcb::one>(
                     s, how, {one, 1}, added,
                     {one, how->base3 ? tile3_grid(in->n) : gcb::tile_grid(in->n)});
}

int gcb_cuda_terngrad_encode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                   const struct gcb_cuda_terngrad *how)
{
    const step<gcb::many> codes = cut_codes(g, how);
    const uint64_t blocks =
        gcb::cut(g, 2, [](const struct gcb_device_item &i) { return measuring_blocks(i.in.n); });
    const gcb::many measured = gcb::grid_of(g, 2);
    int err = gcb::send(s, g);

    if (!err)
        err = measure_all<gcb::many>(s, how, {measured, blocks});
    return err ? err : choose_and_encode<gcb::many>(s, how, {measured, g->count}, 0, codes);
}

int gcb_cuda_terngrad_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                             const struct gcb_cuda_terngrad *how, struct gcb_device_result *result)
{
    return run_back<gcb::one>(
        s, how, {gcb::decoded(out, in, n, result), how->base3 ? tile3_grid(n) : gcb::tile_grid(n)});
}

int gcb_cuda_terngrad_decode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                                   const struct gcb_cuda_terngrad *how)
{
    const step<gcb::many> codes = cut_codes(g, how);
    const int err = gcb::send(s, g);

    return err ? err : run_back<gcb::many>(s, how, codes);
}
