#include "kernels/cuda/feedback.cuh"
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

/* In scratch: the scaler, then for each sum block its sums and its maximum. */
struct blocks {
    float *scale;
    double *sum, *sum_sq;
    uint32_t *max_bits;
};

uint64_t block_count(uint64_t n)
{
    return (n + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
}

struct blocks lay_out(void *scratch, uint64_t count)
{
    double *const sum = static_cast<double *>(scratch) + 2; /* keeps 16 bytes for the scaler */

    return {static_cast<float *>(scratch), sum, sum + count,
            reinterpret_cast<uint32_t *>(sum + 2 * count)};
}

/* ---- the scaler ---- */

/* A warp for each sum block: one read for all three. */
template <bool sums> __global__ void measure(struct blocks out, struct gcb_device_input in)
{
    const uint64_t b = blockIdx.x * uint64_t{kWarps} + threadIdx.x / gcb::kWarp;
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

struct choosing {
    double part[gcb::kChain];
    uint32_t max_bits;
};

/* One block: the scaler, to scratch and into the payload. */
__global__ void choose(struct blocks in, uint8_t *out, uint64_t n, uint64_t count, double clip)
{
    choosing &s = gcb::shared<choosing>();
    double limit = 0.0;
    uint32_t most = 0, bits;

    if (threadIdx.x == 0)
        s.max_bits = 0;
    gcb::sync_block();
    for (uint64_t i = threadIdx.x; i < count; i += blockDim.x)
        most = in.max_bits[i] > most ? in.max_bits[i] : most;
    most = gcb::warp_max(most);
    if (gcb::lane() == 0)
        gcb::atomic_max(&s.max_bits, most);
    gcb::sync_block();
    if (clip != 0.0 && n > 0) {
        const double sum = gcb::chain_sum(in.sum, count, s.part);
        const double sum_sq = gcb::chain_sum(in.sum_sq, count, s.part);

        limit = gcb_clip_of_sums(clip, sum, sum_sq, static_cast<double>(n));
    }
    if (threadIdx.x != 0)
        return;
    *in.scale = gcb_clipped_max(limit, s.max_bits);
    bits = gcb_bits_of(*in.scale);
    for (unsigned i = 0; i < kHead; i++)
        out[i] = static_cast<uint8_t>(bits >> 8 * i);
}

/* ---- codes ---- */

/* This thread's elements: 0, 1, 2, and 0 for those from `end` on; returns how many were clamped. */
__device__ uint32_t tern(uint32_t (&code)[gcb::kTileEach], struct gcb_device_input in,
                         uint64_t first, uint64_t end, float scale,
                         const struct gcb_cuda_terngrad &how)
{
    const struct gcb_philox_block bytes = gcb::draw_bytes(how.draw, first);
    const struct gcb_dither d = gcb::rounder(how.draw, 1, scale);
    float v[gcb::kTileEach], decoded[gcb::kTileEach];
    uint32_t clamped = 0;

    in.n = end;
    gcb::load_floats(v, in.x, first, end);
#pragma unroll
    for (unsigned i = 0; i < gcb::kTileEach; i++) {
        code[i] =
            first + i < end ? gcb_dither_trit(v[i], gcb::byte_of(bytes, i), first + i, &d) : 0u;
        clamped += gcb_magnitude(v[i]) > gcb_bits_of(scale); /* an absent one is 0 */
        decoded[i] = gcb_dither_trit_value(code[i], scale);
    }
    if (in.residual)
        gcb::store_residual(in, v, decoded, first);
    return how.clip != 0.0 ? clamped : 0;
}

__device__ void add_clamped(gcb_device_result *result, uint32_t clamped)
{
    clamped = gcb::warp_add(clamped);
    if (gcb::lane() == 0 && clamped)
        gcb::atomic_add(&result->clamped, static_cast<uint64_t>(clamped));
}

__global__ void encode_2bit(uint8_t *__restrict__ out, struct gcb_device_input in,
                            const float *scale, struct gcb_cuda_terngrad how,
                            gcb_device_result *result)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const uint64_t start = blockIdx.x * uint64_t{gcb::kTile}, left = in.n - start;
    const unsigned here = static_cast<unsigned>(left < gcb::kTile ? left : gcb::kTile);
    uint32_t code[gcb::kTileEach];

    if (blockIdx.x == 0 && threadIdx.x == 0)
        result->length = kHead + (in.n + 3) / 4;
    add_clamped(result, tern(code, in, start + threadIdx.x * gcb::kTileEach, in.n, *scale, how));
    gcb::pack_codes(room, code, 2);
    gcb::sync_block();
    gcb::store_tile(out + kHead + start / 4, room, (here + 3) / 4);
}

struct trits {
    gcb::tile_room room;
    uint8_t code[gcb::kTile]; /* threads beyond the tile's 255 write zeros */
};

__global__ void encode_base3(uint8_t *__restrict__ out, struct gcb_device_input in,
                             const float *scale, struct gcb_cuda_terngrad how,
                             gcb_device_result *result)
{
    trits &s = gcb::shared<trits>();
    const uint64_t start = blockIdx.x * uint64_t{kTile3}, left = in.n - start;
    const unsigned here = static_cast<unsigned>(left < kTile3 ? left : kTile3);
    const unsigned bytes = (here + 4) / 5;
    uint8_t *const packed = reinterpret_cast<uint8_t *>(s.room.word);
    uint32_t code[gcb::kTileEach];

    if (blockIdx.x == 0 && threadIdx.x == 0)
        result->length = kHead + (in.n + 4) / 5;
    add_clamped(result,
                tern(code, in, start + threadIdx.x * gcb::kTileEach, start + here, *scale, how));
    for (unsigned i = 0; i < gcb::kTileEach; i++)
        s.code[threadIdx.x * gcb::kTileEach + i] = static_cast<uint8_t>(code[i]);
    gcb::sync_block();
    for (unsigned j = threadIdx.x; j < bytes; j += blockDim.x) {
        const uint8_t *c = s.code + 5 * j;

        packed[j] = static_cast<uint8_t>(c[0] + 3 * c[1] + 9 * c[2] + 27 * c[3] + 81 * c[4]);
    }
    gcb::sync_block();
    gcb::store_tile(out + kHead + start / 5, s.room, bytes);
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

__global__ void decode_2bit(float *__restrict__ out, const uint8_t *__restrict__ in, uint64_t n,
                            gcb_device_result *result)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const uint64_t start = blockIdx.x * uint64_t{gcb::kTile}, left = n - start;
    const unsigned here = static_cast<unsigned>(left < gcb::kTile ? left : gcb::kTile);
    uint32_t code[gcb::kTileEach];
    unsigned skip;
    float scale;

    if (!get_scale(&scale, in, result))
        return;
    skip = gcb::load_tile(room, in + kHead + start / 4, (here + 3) / 4);
    gcb::sync_block();
    gcb::unpack_codes(code, room, skip, 2);
    store_trits(out, code, scale, start + threadIdx.x * gcb::kTileEach, n);
}

__global__ void decode_base3(float *__restrict__ out, const uint8_t *__restrict__ in, uint64_t n,
                             gcb_device_result *result)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const uint64_t start = blockIdx.x * uint64_t{kTile3}, left = n - start;
    const unsigned here = static_cast<unsigned>(left < kTile3 ? left : kTile3);
    const unsigned mine = threadIdx.x * gcb::kTileEach;
    const uint8_t *packed = reinterpret_cast<const uint8_t *>(room.word) + mine / 5;
    uint32_t code[gcb::kTileEach], byte;
    unsigned digit = mine % 5;
    float scale;

    if (!get_scale(&scale, in, result))
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
    store_trits(out, code, scale, start + mine, start + here);
}

uint64_t tiles_of(uint64_t n, unsigned tile)
{
    return n ? (n + tile - 1) / tile : 1;
}

} /* namespace */

uint64_t gcb_cuda_terngrad_scratch(const struct gcb_cuda_terngrad *how, uint64_t n)
{
    (void)how;
    return 2 * sizeof(double) + block_count(n) * (2 * sizeof(double) + sizeof(uint32_t));
}

int gcb_cuda_terngrad_encode(struct gcb_device_stream *s, uint8_t *out,
                             const struct gcb_device_input *in, const struct gcb_cuda_terngrad *how,
                             void *scratch, struct gcb_device_result *result)
{
    const uint64_t count = block_count(in->n), grid = count ? (count + kWarps - 1) / kWarps : 1;
    const struct blocks b = lay_out(scratch, count);
    int err = gcb::launch(how->clip != 0.0 ? measure<true> : measure<false>, grid,
                          gcb::kTileThreads, 0, s, b, *in);

    if (!err)
        err = gcb::launch(choose, 1, gcb::kTileThreads, sizeof(choosing), s, b, out, in->n, count,
                          how->clip);
    if (err)
        return err;
    if (how->base3)
        return gcb::launch(encode_base3, tiles_of(in->n, kTile3), gcb::kTileThreads, sizeof(trits),
                           s, out, *in, b.scale, *how, result);
    return gcb::launch(encode_2bit, tiles_of(in->n, gcb::kTile), gcb::kTileThreads,
                       sizeof(gcb::tile_room), s, out, *in, b.scale, *how, result);
}

int gcb_cuda_terngrad_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                             const struct gcb_cuda_terngrad *how, struct gcb_device_result *result)
{
    if (how->base3)
        return gcb::launch(decode_base3, tiles_of(n, kTile3), gcb::kTileThreads,
                           sizeof(gcb::tile_room), s, out, in, n, result);
    return gcb::launch(decode_2bit, tiles_of(n, gcb::kTile), gcb::kTileThreads,
                       sizeof(gcb::tile_room), s, out, in, n, result);
}
