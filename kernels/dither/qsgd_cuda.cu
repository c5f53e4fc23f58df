#include "kernels/cuda/feedback.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sum.cuh"
#include "kernels/dither/draw.cuh"
#include "kernels/reduce/norm_elem.h"

namespace
{

constexpr unsigned kWarps = gcb::kTileThreads / gcb::kWarp;

/* The pattern of a bucket's norm. The payload is little-endian, and so is the device. */
struct room {
    gcb::tile_room codes;
    uint32_t norm[gcb::kTile]; /* of the tile's buckets */
};

struct chain_room {
    double part[gcb::kChain];
};

/* ---- norms, for buckets that a tile cannot hold ---- */

/* Largest magnitudes of buckets, to norms that were 0. */
__global__ void bucket_maxima(uint32_t *norm, struct gcb_device_input in, uint64_t bucket)
{
    const uint64_t first = blockIdx.x * uint64_t{gcb::kTile} + threadIdx.x * gcb::kTileEach;
    uint64_t b = first / bucket, end = (b + 1) * bucket;
    uint32_t most = 0;
    float v[gcb::kTileEach];

    gcb::load_input(v, in, first);
    for (unsigned i = 0; i < gcb::kTileEach && first + i < in.n; i++) {
        const uint32_t m = gcb_magnitude(v[i]);

        if (first + i == end) {
            gcb::atomic_max(&norm[b], most);
            most = 0;
            b++;
            end += bucket;
        }
        most = m > most ? m : most;
    }
    if (first < in.n)
        gcb::atomic_max(&norm[b], most);
}

/* Sums of squares of the sum blocks of every bucket: a warp each. */
__global__ void bucket_squares(double *part, struct gcb_device_input in, uint64_t bucket,
                               uint64_t per_bucket, uint64_t count)
{
    const uint64_t i = blockIdx.x * uint64_t{kWarps} + threadIdx.x / gcb::kWarp;
    const uint64_t b = i / per_bucket, start = b * bucket;
    const uint64_t from = start + i % per_bucket * GCB_SUM_BLOCK;
    const uint64_t end = start + bucket < in.n ? start + bucket : in.n;
    double sum = 0.0;

    if (i < count && from < end) {
        const uint64_t left = end - from;
        const unsigned here = static_cast<unsigned>(left < GCB_SUM_BLOCK ? left : GCB_SUM_BLOCK);

        if (gcb::is_open(in)) /* a lane reads below what it writes here */
            for (unsigned k = gcb::lane(); k < here; k += gcb::kWarp)
                in.x[from + k] = gcb::compensate(in, from + k);
        sum = gcb::lane_sum(in.x + from, here, gcb::square_term());
    }
    sum = gcb::join_lanes(sum);
    if (i < count && gcb::lane() == 0)
        part[i] = sum;
}

/* One block a bucket: its norm from its sums. */
__global__ void bucket_norms(uint32_t *norm, const double *__restrict__ part, uint64_t per_bucket)
{
    chain_room &s = gcb::shared<chain_room>();
    const double sum = gcb::chain_sum(part + blockIdx.x * per_bucket, per_bucket, s.part);

    if (threadIdx.x == 0)
        norm[blockIdx.x] = gcb_bits_of(gcb_norm_of_squares(sum));
}

/* ---- norms within a tile, which holds whole buckets ---- */

__device__ void tile_maxima(uint32_t *norm, const float (&v)[gcb::kTileEach], unsigned bucket)
{
    const unsigned at = threadIdx.x * gcb::kTileEach;
    uint32_t most = 0;

    for (unsigned i = 0; i < gcb::kTileEach; i++) {
        const uint32_t m = gcb_magnitude(v[i]); /* absent elements are +0 */

        most = m > most ? m : most;
        if ((at + i + 1) % bucket == 0 || i + 1 == gcb::kTileEach) {
            gcb::atomic_max(&norm[(at + i) / bucket], most);
            most = 0;
        }
    }
}

__device__ void tile_squares(uint32_t *norm, const float *x, unsigned here, unsigned bucket)
{
    for (unsigned b = threadIdx.x / gcb::kWarp; b * bucket < here; b += kWarps) {
        const unsigned left = here - b * bucket;
        const double sum = gcb::join_lanes(
            gcb::lane_sum(x + b * bucket, left < bucket ? left : bucket, gcb::square_term()));

        if (gcb::lane() == 0)
            norm[b] = gcb_bits_of(gcb_norm_of_squares(sum));
    }
}

/* Fills norm[] of the tile's buckets and writes them to `out`. All threads of the block. */
__device__ void tile_norms(uint32_t *out, uint32_t *norm, const float (&v)[gcb::kTileEach],
                           const float *x, unsigned here, const struct gcb_cuda_qsgd &how)
{
    const unsigned bucket = static_cast<unsigned>(how.bucket);
    const unsigned buckets = (here + bucket - 1) / bucket;

    for (unsigned b = threadIdx.x; b * bucket < gcb::kTile; b += blockDim.x)
        norm[b] = 0;
    gcb::sync_block();
    if (how.l2)
        tile_squares(norm, x, here, bucket);
    else
        tile_maxima(norm, v, bucket);
    gcb::sync_block();
    for (unsigned b = threadIdx.x; b < buckets; b += blockDim.x)
        out[b] = norm[b];
}

/* ---- codes ---- */

/* A thread's first element, and norms from that of bucket b0 on. */
struct bucket_place {
    uint64_t first;
    const uint32_t *norm;
    uint64_t b0;
};

/* The value that a code decodes to. */
__device__ float value_of(uint32_t code, float norm, const struct gcb_cuda_qsgd &how)
{
    const uint32_t level = code & ((1u << how.sign_bit) - 1);
    const float step =
        level <= how.levels ? static_cast<float>(level) / static_cast<float>(how.levels) : 0.0f;

    return gcb_dither_step_value(code, step, norm, how.sign_bit);
}

/* Codes of this thread's elements, those from n on being 0, and what they decode to. norm[0] is that of bucket
 * `b0`. */
__device__ void quantise(uint32_t (&code)[gcb::kTileEach], float (&decoded)[gcb::kTileEach],
                         const float (&v)[gcb::kTileEach], const struct gcb_device_input &in,
                         const bucket_place &at, const struct gcb_cuda_qsgd &how)
{
    const uint64_t first = at.first;
    const struct gcb_philox_block bytes = gcb::draw_bytes(how.draw, first);
    uint64_t b = first / how.bucket, end = (b + 1) * how.bucket;
    float scale = first < in.n ? gcb_float_of(at.norm[b - at.b0]) : 0.0f;
    struct gcb_dither d = gcb::rounder(how.draw, how.levels, scale);

#pragma unroll
    for (unsigned i = 0; i < gcb::kTileEach; i++) {
        if (first + i == end && first + i < in.n) {
            b++;
            end += how.bucket;
            scale = gcb_float_of(at.norm[b - at.b0]);
            d = gcb::rounder(how.draw, how.levels, scale);
        }
        code[i] = first + i < in.n && scale != 0.0f
                      ? gcb_dither_signed(v[i], gcb::byte_of(bytes, i), first + i, &d, how.sign_bit)
                      : 0u;
        if (in.residual)
            decoded[i] = value_of(code[i], scale, how);
    }
}

/* `whole`: the norms are this kernel's to find, and a tile holds whole buckets, or is the only one. Else they are
 * there. */
template <bool whole>
__global__ void encode(uint8_t *out, struct gcb_device_input in, struct gcb_cuda_qsgd how,
                       gcb_device_result *result)
{
    room &s = gcb::shared<room>();
    uint32_t *const norms = reinterpret_cast<uint32_t *>(out);
    const uint64_t buckets = (in.n + how.bucket - 1) / how.bucket;
    const uint64_t start = blockIdx.x * uint64_t{gcb::kTile}, left = in.n - start;
    const unsigned here = static_cast<unsigned>(left < gcb::kTile ? left : gcb::kTile);
    const unsigned width = how.sign_bit + 1;
    bucket_place at = {start + threadIdx.x * gcb::kTileEach, norms, 0};
    uint32_t code[gcb::kTileEach];
    float v[gcb::kTileEach], decoded[gcb::kTileEach];

    if (blockIdx.x == 0 && threadIdx.x == 0)
        result->length = buckets * sizeof(float) + (in.n * width + 7) / 8;
    gcb::load_input(v, in, at.first);
    if (whole) {
        at.norm = s.norm;
        at.b0 = start / how.bucket;
        tile_norms(norms + at.b0, s.norm, v, in.x + start, here, how);
    }
    quantise(code, decoded, v, in, at, how);
    if (in.residual)
        gcb::store_residual(in, v, decoded, at.first);
    gcb::pack_codes(s.codes, code, width);
    gcb::sync_block();
    gcb::store_tile(out + buckets * sizeof(float) + start / 8 * width, s.codes,
                    (here * width + 7) / 8);
}

__global__ void decode(float *__restrict__ out, const uint8_t *__restrict__ in, uint64_t n,
                       struct gcb_cuda_qsgd how, gcb_device_result *result)
{
    gcb::tile_room &codes = gcb::shared<gcb::tile_room>();
    const uint32_t *const norms = reinterpret_cast<const uint32_t *>(in);
    const uint64_t buckets = (n + how.bucket - 1) / how.bucket;
    const uint64_t start = blockIdx.x * uint64_t{gcb::kTile}, left = n - start;
    const unsigned here = static_cast<unsigned>(left < gcb::kTile ? left : gcb::kTile);
    const uint64_t first = start + threadIdx.x * gcb::kTileEach;
    const unsigned width = how.sign_bit + 1;
    uint64_t b = first / how.bucket, end = (b + 1) * how.bucket;
    uint32_t code[gcb::kTileEach], norm = first < n ? norms[b] : 0, worst = norm;
    float v[gcb::kTileEach];
    unsigned skip;

    skip = gcb::load_tile(codes, in + buckets * sizeof(float) + start / 8 * width,
                          (here * width + 7) / 8);
    gcb::sync_block();
    gcb::unpack_codes(code, codes, skip, width);
#pragma unroll
    for (unsigned i = 0; i < gcb::kTileEach; i++) {
        if (first + i == end && first + i < n) {
            norm = norms[++b];
            end += how.bucket;
            worst = norm > worst ? norm : worst;
        }
        v[i] = value_of(code[i], gcb_float_of(norm), how);
    }
    if (worst >= GCB_INF_BITS) /* not finite, or negative */
        gcb::set_status(&result->status, GCB_E_CORRUPT);
    gcb::store_floats(out, v, first, n);
}

/* ---- launches ---- */

uint64_t tiles_of(uint64_t n)
{
    return n ? (n + gcb::kTile - 1) / gcb::kTile : 1;
}

bool tiles_hold_buckets(const struct gcb_cuda_qsgd *how, uint64_t n)
{
    return n <= gcb::kTile || (how->bucket <= gcb::kTile && gcb::kTile % how->bucket == 0);
}

uint64_t sums_per_bucket(const struct gcb_cuda_qsgd *how)
{
    return (how->bucket + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
}

uint64_t bucket_count(const struct gcb_cuda_qsgd *how, uint64_t n)
{
    return (n + how->bucket - 1) / how->bucket;
}

int find_maxima(struct gcb_device_stream *s, uint8_t *norms, const struct gcb_device_input *in,
                const struct gcb_cuda_qsgd *how)
{
    const int err = gcb::clear(s, norms, bucket_count(how, in->n) * sizeof(float));

    return err ? err
               : gcb::launch(bucket_maxima, tiles_of(in->n), gcb::kTileThreads, 0, s,
                             reinterpret_cast<uint32_t *>(norms), *in, how->bucket);
}

int find_l2(struct gcb_device_stream *s, uint8_t *norms, const struct gcb_device_input *in,
            const struct gcb_cuda_qsgd *how, double *part)
{
    const uint64_t buckets = bucket_count(how, in->n), each = sums_per_bucket(how);
    const uint64_t count = buckets * each;
    const int err = gcb::launch(bucket_squares, (count + kWarps - 1) / kWarps, gcb::kTileThreads, 0,
                                s, part, *in, how->bucket, each, count);

    return err ? err
               : gcb::launch(bucket_norms, buckets, 128, sizeof(chain_room), s,
                             reinterpret_cast<uint32_t *>(norms), part, each);
}

} /* namespace */

uint64_t gcb_cuda_qsgd_scratch(const struct gcb_cuda_qsgd *how, uint64_t n)
{
    return how->l2 && !tiles_hold_buckets(how, n)
               ? bucket_count(how, n) * sums_per_bucket(how) * sizeof(double)
               : 0;
}

int gcb_cuda_qsgd_encode(struct gcb_device_stream *s, uint8_t *out,
                         const struct gcb_device_input *in, const struct gcb_cuda_qsgd *how,
                         void *scratch, struct gcb_device_result *result)
{
    struct gcb_device_input seen_once = *in;
    int err;

    if (tiles_hold_buckets(how, in->n))
        return gcb::launch(encode<true>, tiles_of(in->n), gcb::kTileThreads, sizeof(room), s, out,
                           *in, *how, result);
    err = how->l2 ? find_l2(s, out, in, how, static_cast<double *>(scratch))
                  : find_maxima(s, out, in, how);
    seen_once.compensated = 1;
    if (err)
        return err;
    return gcb::launch(encode<false>, tiles_of(in->n), gcb::kTileThreads, sizeof(room), s, out,
                       seen_once, *how, result);
}

int gcb_cuda_qsgd_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                         const struct gcb_cuda_qsgd *how, struct gcb_device_result *result)
{
    return gcb::launch(decode, tiles_of(n), gcb::kTileThreads, sizeof(gcb::tile_room), s, out, in,
                       n, *how, result);
}
