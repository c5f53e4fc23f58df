#include "kernels/cuda/feedback.cuh"
#include "kernels/cuda/group.cuh"
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

/* Does a tile hold whole buckets, or the whole message? */
__host__ __device__ bool tiles_hold_buckets(uint64_t bucket, uint64_t n)
{
    return n <= gcb::kTile ||
           (bucket <= gcb::kTile && gcb::kTile % static_cast<unsigned>(bucket) == 0);
}

__host__ __device__ uint64_t bucket_count(uint64_t bucket, uint64_t n)
{
    return (n + bucket - 1) / bucket;
}

__host__ __device__ uint64_t sums_per_bucket(uint64_t bucket)
{
    return (bucket + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
}

/* ---- norms, for buckets that a tile cannot hold ---- */

/* The norms of a group become 0, of those messages whose are found by the kernel behind this one. */
__global__ void clear_norms(gcb::many where)
{
    const struct gcb_device_item &item = gcb::find_whole(where);
    const uint64_t buckets = bucket_count(item.bucket, item.in.n);

    for (uint64_t b = threadIdx.x; b < buckets; b += blockDim.x)
        reinterpret_cast<uint32_t *>(item.payload)[b] = 0;
}

/* Largest magnitudes of buckets, to norms that were 0. */
template <class Where> __global__ void bucket_maxima(Where where)
{
    const gcb::place at = gcb::find(where);
    const struct gcb_device_input &in = at.item.in;
    const uint64_t bucket = at.item.bucket;
    const uint64_t first = at.block * uint64_t{gcb::kTile} + threadIdx.x * gcb::kTileEach;
    uint32_t *const norm = reinterpret_cast<uint32_t *>(at.item.payload);
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
template <class Where> __global__ void bucket_squares(Where where)
{
    const gcb::place at = gcb::find(where);
    const struct gcb_device_input &in = at.item.in;
    const uint64_t bucket = at.item.bucket, per_bucket = sums_per_bucket(bucket);
    const uint64_t i = at.block * uint64_t{kWarps} + threadIdx.x / gcb::kWarp;
    const uint64_t b = i / per_bucket, start = b * bucket;
    const uint64_t from = start + i % per_bucket * GCB_SUM_BLOCK;
    const uint64_t end = start + bucket < in.n ? start + bucket : in.n;
    double sum = 0.0;

    if (from < end) {
        const uint64_t left = end - from;
        const unsigned here = static_cast<unsigned>(left < GCB_SUM_BLOCK ? left : GCB_SUM_BLOCK);

        if (gcb::is_open(in)) /* a lane reads below what it writes here */
            for (unsigned k = gcb::lane(); k < here; k += gcb::kWarp)
                in.x[from + k] = gcb::compensate(in, from + k);
        sum = gcb::lane_sum(in.x + from, here, gcb::square_term());
    }
    sum = gcb::join_lanes(sum);
    if (start < in.n && gcb::lane() == 0) /* a last bucket that is short has sums of nothing too */
        static_cast<double *>(at.item.scratch)[i] = sum;
}

/* Norms of buckets from their sums, a block for each. */
template <class Where> __global__ void bucket_norms(Where where)
{
    const gcb::place at = gcb::find(where);
    const uint64_t per_bucket = sums_per_bucket(at.item.bucket);
    const uint64_t buckets = bucket_count(at.item.bucket, at.item.in.n);
    const double *const part = static_cast<const double *>(at.item.scratch);

    for (uint64_t b = at.block; b < buckets; b += at.blocks) {
        const double sum =
            gcb::chain_sum(gcb::shared<gcb::chain_room>(), part + b * per_bucket, per_bucket);

        if (threadIdx.x == 0)
            reinterpret_cast<uint32_t *>(at.item.payload)[b] =
                gcb_bits_of(gcb_norm_of_squares(sum));
    }
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

/* How many of this thread's elements there are, and how many of its bucket from there on; kTileEach: all of them. */
__device__ unsigned run_before(uint64_t first, uint64_t end)
{
    if (first >= end)
        return 0;
    return end - first < gcb::kTileEach ? static_cast<unsigned>(end - first) : gcb::kTileEach;
}

/* Codes of this thread's elements, those from n on being 0, and what they decode to. norm[0] is that of bucket
 * `b0`. */
__device__ void quantise(uint32_t (&code)[gcb::kTileEach], float (&decoded)[gcb::kTileEach],
                         const float (&v)[gcb::kTileEach], const struct gcb_device_input &in,
                         const bucket_place &at, const struct gcb_cuda_qsgd &how)
{
    const uint64_t first = at.first;
    const struct gcb_philox_block bytes = gcb::draw_bytes(how.draw, first);
    const unsigned here = run_before(first, in.n);
    uint64_t b = first / how.bucket;
    unsigned end = run_before(first, (b + 1) * how.bucket);
    float scale = here ? gcb_float_of(at.norm[b - at.b0]) : 0.0f;
    struct gcb_dither d = gcb::rounder(how.draw, how.levels, scale);

#pragma unroll
    for (unsigned i = 0; i < gcb::kTileEach; i++) {
        if (i == end && i < here) {
            end = i + run_before(0, how.bucket);
            scale = gcb_float_of(at.norm[++b - at.b0]);
            d = gcb::rounder(how.draw, how.levels, scale);
        }
        /* 0 of what there is not, and where the norm is 0: then d.inv is */
        code[i] = gcb_dither_signed(v[i], gcb::byte_of(bytes, i), first + i, &d, how.sign_bit);
        if (in.residual)
            decoded[i] = value_of(code[i], scale, how);
    }
}

/* Who finds the norms: this kernel, where a tile holds whole buckets; one in front of it; or whoever it is for a
 * message. */
enum finder { HERE, BEFORE, EITHER };

/* What of `how` a message has for itself. */
__device__ void take_own(struct gcb_cuda_qsgd &how, const struct gcb_device_item &item)
{
    how.bucket = item.bucket;
    how.draw.coarse = item.coarse;
    how.draw.fine = item.fine;
}

template <class Where, finder who> __global__ void encode(Where where, struct gcb_cuda_qsgd how)
{
    room &s = gcb::shared<room>();
    const gcb::place found = gcb::find(where);
    struct gcb_device_input in = found.item.in;
    uint8_t *const out = found.item.payload;
    uint32_t *const norms = reinterpret_cast<uint32_t *>(out);
    const bool here_found =
        who == EITHER ? tiles_hold_buckets(found.item.bucket, in.n) : who == HERE;
    const uint64_t buckets = bucket_count(found.item.bucket, in.n);
    const uint64_t start = found.block * uint64_t{gcb::kTile}, left = in.n - start;
    const unsigned here = static_cast<unsigned>(left < gcb::kTile ? left : gcb::kTile);
    const unsigned width = how.sign_bit + 1;
    bucket_place at = {start + threadIdx.x * gcb::kTileEach, norms, 0};
    uint32_t code[gcb::kTileEach];
    float v[gcb::kTileEach], decoded[gcb::kTileEach];

    take_own(how, found.item);
    in.compensated |= !here_found; /* by the kernel that found the norms */
    if (found.block == 0 && threadIdx.x == 0)
        found.item.result->length = buckets * sizeof(float) + (in.n * width + 7) / 8;
    gcb::load_input(v, in, at.first);
    if (here_found) {
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

/* Levels as steps, where they are few: a division each, but once a block. */
constexpr unsigned kSteps = gcb::kTileThreads;

struct decoding {
    gcb::tile_room codes;
    float step[kSteps];
};

__device__ float value_by(const decoding &s, uint32_t code, float norm,
                          const struct gcb_cuda_qsgd &how)
{
    if (how.levels >= kSteps)
        return value_of(code, norm, how);
    return gcb_dither_value(code, s.step, norm, how.sign_bit); /* a level has 8 bits at most */
}

template <class Where> __global__ void decode(Where where, struct gcb_cuda_qsgd how)
{
    decoding &s = gcb::shared<decoding>();
    const gcb::place at = gcb::find(where);
    const uint8_t *__restrict__ const in = at.item.payload;
    const uint32_t *const norms = reinterpret_cast<const uint32_t *>(in);
    const uint64_t n = at.item.in.n, bucket = at.item.bucket, buckets = bucket_count(bucket, n);
    const uint64_t start = at.block * uint64_t{gcb::kTile}, left = n - start;
    const unsigned here = static_cast<unsigned>(left < gcb::kTile ? left : gcb::kTile);
    const uint64_t first = start + threadIdx.x * gcb::kTileEach;
    const unsigned width = how.sign_bit + 1;
    uint64_t b = first / bucket;
    unsigned end = run_before(first, (b + 1) * bucket);
    uint32_t code[gcb::kTileEach], norm = first < n ? norms[b] : 0, worst = norm;
    float v[gcb::kTileEach];
    unsigned skip;

    s.step[threadIdx.x] = threadIdx.x <= how.levels
                              ? static_cast<float>(threadIdx.x) / static_cast<float>(how.levels)
                              : 0.0f;
    skip = gcb::load_tile(s.codes, in + buckets * sizeof(float) + start / 8 * width,
                          (here * width + 7) / 8);
    gcb::sync_block();
    gcb::unpack_codes(code, s.codes, skip, width);
#pragma unroll
    for (unsigned i = 0; i < gcb::kTileEach; i++) {
        if (i == end && first + i < n) {
            norm = norms[++b];
            end = i + run_before(0, bucket);
            worst = norm > worst ? norm : worst;
        }
        v[i] = value_by(s, code[i], gcb_float_of(norm), how);
    }
    if (worst >= GCB_INF_BITS) /* not finite, or negative */
        gcb::set_status(&at.item.result->status, GCB_E_CORRUPT);
    gcb::store_floats(at.item.in.x, v, first, n);
}

/* ---- launches ---- */

/* A message by itself. */
gcb::one itself(uint8_t *payload, const struct gcb_device_input *in,
                const struct gcb_cuda_qsgd *how, void *scratch, struct gcb_device_result *result)
{
    return {{*in, payload, result, scratch, how->draw.coarse, how->draw.fine, how->bucket}};
}

uint64_t blocks_of_sums(uint64_t bucket, uint64_t n)
{
    return (bucket_count(bucket, n) * sums_per_bucket(bucket) + kWarps - 1) / kWarps;
}

int find_norms(struct gcb_device_stream *s, const gcb::one &one, bool l2)
{
    const uint64_t bucket = one.item.bucket, n = one.item.in.n, buckets = bucket_count(bucket, n);
    int err;

    if (!l2) {
        err = gcb::clear(s, one.item.payload, buckets * sizeof(float));
        return err ? err
                   : gcb::launch(bucket_maxima<gcb::one>, gcb::tile_grid(n), gcb::kTileThreads, 0,
                                 s, one);
    }
    err = gcb::launch(bucket_squares<gcb::one>, blocks_of_sums(bucket, n), gcb::kTileThreads, 0, s,
                      one);
    return err ? err
               : gcb::launch(bucket_norms<gcb::one>, gcb::grid_over(buckets, gcb::kManyBlocks), 128,
                             sizeof(gcb::chain_room), s, one);
}

/* ---- a group: grid 1 is of what finds maxima or squares, grid 2 of L2 norms ---- */

template <class BlocksOf>
uint64_t cut_open(const struct gcb_device_group *g, unsigned grid, BlocksOf blocks_of)
{
    return gcb::cut(g, grid, [&](const struct gcb_device_item &item) {
        return tiles_hold_buckets(item.bucket, item.in.n) ? 0 : blocks_of(item.bucket, item.in.n);
    });
}

int find_maxima(struct gcb_device_stream *s, const struct gcb_device_group *g, uint64_t blocks)
{
    const int err = gcb::launch(clear_norms, g->count, gcb::kTileThreads, 0, s, gcb::grid_of(g, 0));

    return err ? err
               : gcb::launch(bucket_maxima<gcb::many>, blocks, gcb::kTileThreads, 0, s,
                             gcb::grid_of(g, 1));
}

int find_l2(struct gcb_device_stream *s, const struct gcb_device_group *g, uint64_t blocks,
            uint64_t buckets)
{
    const int err =
        gcb::launch(bucket_squares<gcb::many>, blocks, gcb::kTileThreads, 0, s, gcb::grid_of(g, 1));

    return err ? err
               : gcb::launch(bucket_norms<gcb::many>, buckets, 128, sizeof(gcb::chain_room), s,
                             gcb::grid_of(g, 2));
}

} /* namespace */

uint64_t gcb_cuda_qsgd_scratch(const struct gcb_cuda_qsgd *how, uint64_t n)
{
    return how->l2 && !tiles_hold_buckets(how->bucket, n)
               ? bucket_count(how->bucket, n) * sums_per_bucket(how->bucket) * sizeof(double)
               : 0;
}

int gcb_cuda_qsgd_encode(struct gcb_device_stream *s, uint8_t *out,
                         const struct gcb_device_input *in, const struct gcb_cuda_qsgd *how,
                         void *scratch, struct gcb_device_result *result)
{
    const gcb::one one = itself(out, in, how, scratch, result);
    const bool here = tiles_hold_buckets(how->bucket, in->n);
    const int err = here ? 0 : find_norms(s, one, how->l2);

    return err ? err
               : gcb::launch(here ? encode<gcb::one, HERE> : encode<gcb::one, BEFORE>,
                             gcb::tile_grid(in->n), gcb::kTileThreads, sizeof(room), s, one, *how);
}

int gcb_cuda_qsgd_encode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                               const struct gcb_cuda_qsgd *how)
{
    const uint64_t tiles = gcb::cut_tiles(g);
    const uint64_t blocks = cut_open(g, 1, [&](uint64_t bucket, uint64_t n) {
        return how->l2 ? blocks_of_sums(bucket, n) : gcb::tile_grid(n);
    });
    const uint64_t buckets = cut_open(g, 2, bucket_count);
    int err = gcb::send(s, g);

    if (!err && blocks)
        err = how->l2 ? find_l2(s, g, blocks, buckets) : find_maxima(s, g, blocks);
    return err ? err
               : gcb::launch(encode<gcb::many, EITHER>, tiles, gcb::kTileThreads, sizeof(room), s,
                             gcb::grid_of(g, 0), *how);
}

int gcb_cuda_qsgd_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                         const struct gcb_cuda_qsgd *how, struct gcb_device_result *result)
{
    gcb::one one = gcb::decoded(out, in, n, result);

    one.item.bucket = how->bucket;
    return gcb::launch(decode<gcb::one>, gcb::tile_grid(n), gcb::kTileThreads, sizeof(decoding), s,
                       one, *how);
}

int gcb_cuda_qsgd_decode_group(struct gcb_device_stream *s, const struct gcb_device_group *g,
                               const struct gcb_cuda_qsgd *how)
{
    const uint64_t tiles = gcb::cut_tiles(g);
    const int err = gcb::send(s, g);

    return err ? err
               : gcb::launch(decode<gcb::many>, tiles, gcb::kTileThreads, sizeof(decoding), s,
                             gcb::grid_of(g, 0), *how);
}
