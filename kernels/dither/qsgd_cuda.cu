#include "kernels/dither/draw.cuh"
#include "kernels/dither/qsgd.cuh"
#include "kernels/memory/feedback.cuh"
#include "kernels/slot/tiles.cuh"

using namespace gcb;
using namespace gcb::qsgd;

namespace
{

/* The shared memory of `encode`. Norms are kept as bit patterns and copied to the payload as they
 * are: both the payload and the device are little-endian. */
struct encode_room {
    tile_room codes;
    uint32_t norm[kTile]; /* norms of the tile's buckets */
};

/* ---- norms within a tile that holds whole buckets ---- */

/* The bits of the largest magnitude. A signed maximum finds the largest positive value, and an
 * unsigned maximum finds the negative value of largest magnitude, so the loop clears no sign bits.
 * Missing elements are +0. */
__device__ uint32_t largest_magnitude(const float (&v)[kTileEach])
{
    int32_t positive = 0;
    uint32_t negative = 0;

    for (unsigned i = 0; i < kTileEach; i++) {
        const uint32_t u = gcb_bits_of(v[i]);

        positive = larger(positive, static_cast<int32_t>(u));
        negative = larger(negative, u);
    }
    return larger(static_cast<uint32_t>(positive), negative & GCB_MAGNITUDE_MASK);
}

/* Raises each norm of the tile, 0 before, to the largest magnitude of its bucket. */
__device__ void tile_maxima(uint32_t *norm, const float (&v)[kTileEach], unsigned bucket)
{
    const unsigned at = threadIdx.x * kTileEach;
    unsigned b = buckets_in(at, bucket), end = (b + 1) * bucket - at;
    uint32_t most = 0;

    if (bucket % kTileEach == 0) {
        const bool whole = bucket % (kWarp * kTileEach) == 0; /* each warp has one norm */

        most = largest_magnitude(v);
        most = whole ? warp_max(most) : most;
        if (!whole || lane() == 0)
            atomic_max(&norm[b], most);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        most = larger(most, gcb_magnitude(v[i]));
        if (i + 1 == end || i + 1 == kTileEach) {
            atomic_max(&norm[b++], most);
            end += bucket;
            most = 0;
        }
    }
}

/* Computes the L2 norms of the tile's buckets. sum_lanes(bucket) neighbouring lanes share a bucket,
 * so that few lanes have nothing to add. */
__device__ void tile_squares(uint32_t *norm, const float *x, unsigned here, unsigned bucket)
{
    const unsigned lanes = sum_lanes(bucket), mine = threadIdx.x % lanes;
    const unsigned before = (threadIdx.x - lane()) / lanes; /* the warp's first bucket */
    const unsigned step = kTileThreads / lanes;

    for (unsigned first = before; first * bucket < here; first += step) {
        const unsigned b = first + lane() / lanes;
        const unsigned left = b * bucket < here ? here - b * bucket : 0;
        const double sum = join_lanes(
            lane_sum(x + b * bucket, lesser(left, bucket), mine, lanes, square_term()), lanes);

        if (mine == 0 && left)
            norm[b] = gcb_bits_of(gcb_norm_of_squares(sum));
    }
}

/* Computes the norms of the tile's buckets, sets norm[] in shared memory, and copies them to `out`.
 * Called by all threads of the block. */
__device__ void tile_norms(uint32_t *out, uint32_t *norm, const float (&v)[kTileEach],
                           const float *x, unsigned here, const gcb_cuda_qsgd &how)
{
    const unsigned bucket = static_cast<unsigned>(how.bucket);
    const unsigned buckets = buckets_in(here + bucket - 1, bucket);

    for (unsigned b = threadIdx.x; b * bucket < kTile; b += blockDim.x)
        norm[b] = 0;
    sync_block();
    if (how.l2)
        tile_squares(norm, x, here, bucket);
    else
        tile_maxima(norm, v, bucket);
    sync_block();
    for (unsigned b = threadIdx.x; b < buckets; b += blockDim.x)
        out[b] = norm[b];
}

/* ---- codes ---- */

/* The value that a code decodes to. */
__device__ float decode_value(uint32_t code, float norm, const gcb_cuda_qsgd &how)
{
    const uint32_t level = code & ((1u << how.sign_bit) - 1);
    const float step =
        level <= how.levels ? static_cast<float>(level) / static_cast<float>(how.levels) : 0.0f;

    return gcb_dither_step_value(code, step, norm, how.sign_bit);
}

/* The rounding parameters of a thread's elements, for decide_draws. `first` belongs to the first
 * element's bucket. */
struct rounders {
    uint32_t levels;
    const norm_run &r;
    gcb_dither first;

    __device__ gcb_dither operator()(unsigned i) const
    {
        return i < r.end ? first : make_rounder(levels, r.norm_of(i));
    }
};

/* Computes the codes of this thread's elements v, with the nearest levels. */
__device__ void quantise_nearest(uint32_t (&code)[kTileEach], const float (&v)[kTileEach],
                                 const norm_run &r, const gcb_cuda_qsgd &how)
{
    gcb_dither d = make_rounder(how.levels, r.count ? gcb_float_of(*r.norm) : 0.0f);
    norm_walk norms(r);

#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        if (norms.next_bucket(i) && i < r.count)
            d = make_rounder(how.levels, gcb_float_of(*norms.norm));
        code[i] = gcb_dither_nearest(v[i], &d, how.sign_bit);
    }
}

/* Computes the codes of this thread's elements v; value_of(i) returns the value of element i of the
 * tensor. A missing element gets code 0. A finite element whose norm is 0 also gets code 0, because
 * make_rounder sets inv to 0 then. */
template <class ValueOf>
__device__ void quantise(uint32_t (&code)[kTileEach], const float (&v)[kTileEach],
                         const ValueOf &value_of, const norm_run &r, const gcb_cuda_qsgd &how)
{
    if (how.nearest) {
        quantise_nearest(code, v, r, how);
        return;
    }

    const gcb_philox_block bytes = draw_bytes(how.draw, r.first);
    const rounders rounder_of = {how.levels, r,
                                 make_rounder(how.levels, r.count ? gcb_float_of(*r.norm) : 0.0f)};
    const float top = 256.0f * static_cast<float>(how.levels);
    gcb_dither d = rounder_of.first;
    uint32_t drawn[kTileEach];

    if (r.has_one_norm() && d.factor == 1.0f) {
        const float inv = 256.0f * d.inv;

#pragma unroll
        for (unsigned i = 0; i < kTileEach; i++)
            drawn[i] = add_draw(gcb_dither_256ths(fabsf(v[i]), inv, top), v[i], bytes, i);
    } else {
        norm_walk norms(r);

#pragma unroll
        for (unsigned i = 0; i < kTileEach; i++) {
            if (norms.next_bucket(i) && i < r.count)
                d = make_rounder(how.levels, gcb_float_of(*norms.norm));
            drawn[i] = add_draw(gcb_dither_256ths(fabsf(v[i]) * d.factor, 256.0f * d.inv, top),
                                v[i], bytes, i);
        }
    }
    decide_draws(drawn, how.draw, value_of, r.first, r.count, rounder_of);
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++)
        code[i] = gcb_dither_with_sign(level_of(drawn[i]), gcb_float_of(drawn[i]), how.sign_bit);
}

/* Writes the residual of this thread's elements. */
__device__ void put_residual(const gcb_device_input &in, const uint32_t (&code)[kTileEach],
                             const norm_run &r, const gcb_cuda_qsgd &how)
{
    float decoded[kTileEach];
    norm_walk norms(r);

#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        norms.next_bucket(i);
        decoded[i] = i < r.count ? decode_value(code[i], gcb_float_of(*norms.norm), how) : 0.0f;
    }
    store_residual(in, decoded, r.first);
}

/* Where the norms are computed: in `encode` itself, if tiles hold whole buckets; in a kernel before
 * it; or, in a group, in one of the two, depending on the message. */
enum norm_source { IN_TILE, SEPARATE, PER_MESSAGE };

/* Replaces the settings that differ by message: the bucket and the random streams. */
__device__ void use_item_settings(gcb_cuda_qsgd &how, const gcb_device_item &item)
{
    how.bucket = item.bucket;
    how.draw.coarse = item.coarse;
    how.draw.fine = item.fine;
}

/* Encodes a tile, with norms from `source`. */
template <class Where, norm_source source>
__global__ void __launch_bounds__(kTileThreads, 4 - Where::fewer)
    encode(Where where, gcb_cuda_qsgd how)
{
    encode_room &s = shared<encode_room>();
    const tile_work work = find_tile(where);
    gcb_device_input in = work.item.in;
    uint8_t *const out = work.item.payload;
    uint32_t *const norms = reinterpret_cast<uint32_t *>(out);
    const bool in_tile =
        source == PER_MESSAGE ? tiles_hold_buckets(work.item.bucket, in.n) : source == IN_TILE;
    const uint64_t buckets = bucket_count(work.item);
    const unsigned width = how.sign_bit + 1;
    uint32_t code[kTileEach];
    float v[kTileEach];
    norm_run r;

    use_item_settings(how, work.item);
    in.compensated |= !in_tile; /* the kernel that computed the norms has added the residual */
    if (work.block == 0 && threadIdx.x == 0)
        work.item.result->length = buckets * sizeof(float) + (in.n * width + 7) / 8;
    load_input(v, in, work.first);
    if (in_tile) {
        const unsigned bucket = static_cast<unsigned>(how.bucket);

        tile_norms(norms + buckets_before(work.block, bucket), s.norm, v, in.x + work.start,
                   work.here, how);
        r = run_of_tile(work.first, in.n, bucket, s.norm);
    } else {
        r = run_of_message(work.first, in.n, how.bucket, norms);
    }
    quantise(code, v, plain_values{in.x}, r, how);
    if (in.residual)
        put_residual(in, code, r, how);
    pack_codes(s.codes, code, width);
    sync_block();
    store_tile(out + buckets * sizeof(float) + work.start / 8 * width, s.codes,
               (work.here * width + 7) / 8);
}

/* If there are at most this many different codes, each block tabulates their values for a norm of
 * 1, so that the block divides only once per code. */
constexpr unsigned kSteps = 512;

struct decode_room {
    tile_room codes;
    float step[kSteps];
};

/* Multiplies this thread's values, which were decoded for a norm of 1, by their norms. `first` is
 * the bit pattern of the first value's norm. Returns the largest bit pattern of the norms. */
__device__ uint32_t multiply_by_norms(float (&v)[kTileEach], const norm_run &r, uint32_t first)
{
    uint32_t largest = first;
    norm_walk turn(r);

    if (r.has_one_norm()) {
        for (unsigned i = 0; i < kTileEach; i++)
            v[i] *= gcb_float_of(first);
        return first;
    }

    float norm = gcb_float_of(first);

#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        if (turn.next_bucket(i) && i < r.count) {
            norm = gcb_float_of(*turn.norm);
            largest = larger(largest, *turn.norm);
        }
        v[i] *= norm;
    }
    return largest;
}

/* Reads messages (kernels/slot/tiles.cuh). A norm that is negative, infinite or NaN is damage. */
struct qsgd_tile {
    using room = decode_room;
    static constexpr unsigned size = kTile;
    gcb_cuda_qsgd how;

    __device__ bool operator()(float (&v)[kTileEach], room &s, const tile_work &at) const
    {
        const uint8_t *__restrict__ const in = at.item.payload;
        const uint32_t *const norms = reinterpret_cast<const uint32_t *>(in);
        const uint64_t n = at.item.in.n, bucket = at.item.bucket;
        const unsigned width = how.sign_bit + 1, own = static_cast<unsigned>(bucket);
        const bool few = 1u << width <= kSteps;
        uint32_t code[kTileEach], first_norm;
        unsigned skip;
        norm_run r;

        for (unsigned c = threadIdx.x; few && c < 1u << width; c += blockDim.x)
            s.step[c] = decode_value(c, 1.0f, how);
        skip = load_tile(s.codes, in + bucket_count(at.item) * sizeof(float) + at.start / 8 * width,
                         (at.here * width + 7) / 8);
        r = tiles_hold_buckets(bucket, n)
                ? run_of_tile(at.first, n, own, norms + buckets_before(at.block, own))
                : run_of_message(at.first, n, bucket, norms);
        first_norm = r.count ? *r.norm : 0;
        sync_block();
        unpack_codes(code, s.codes, skip, width);
        if (few)
            for (unsigned i = 0; i < kTileEach; i++)
                v[i] = s.step[code[i]];
        else
            for (unsigned i = 0; i < kTileEach; i++)
                v[i] = decode_value(code[i], 1.0f, how);
        if (multiply_by_norms(v, r, first_norm) >= GCB_INF_BITS)
            set_status(&at.item.result->status, GCB_E_CORRUPT);
        return true;
    }
};

/* ---- launches ---- */

/* A message to encode, as the argument of a kernel. */
single single_message(uint8_t *payload, const gcb_device_input *in, const gcb_cuda_qsgd *how,
                      void *scratch, gcb_device_result *result)
{
    return {{*in, payload, result, scratch, how->draw.coarse, how->draw.fine, how->bucket}};
}

} /* namespace */

uint64_t gcb_cuda_qsgd_scratch(const gcb_cuda_qsgd *how, uint64_t n)
{
    if (tiles_hold_buckets(how->bucket, n) || !how->l2)
        return 0;
    return bucket_count(how->bucket, n) * sums_per_bucket(how->bucket) * sizeof(double);
}

int gcb_cuda_qsgd_encode(gcb_device_stream *s, uint8_t *out, const gcb_device_input *in,
                         const gcb_cuda_qsgd *how, void *scratch, gcb_device_result *result)
{
    const single message = single_message(out, in, how, scratch, result);
    const bool here = tiles_hold_buckets(how->bucket, in->n);

    if (!here)
        compute_norms(s, message, how->l2);
    return launch(here ? encode<single, IN_TILE> : encode<single, SEPARATE>, tile_blocks(in->n),
                  kTileThreads, sizeof(encode_room), s, message, *how);
}

int gcb_cuda_qsgd_encode_group(gcb_device_stream *s, const gcb_device_group *g,
                               const gcb_cuda_qsgd *how)
{
    const uint64_t tiles = cut_tiles(g);
    const norm_grids grids = cut_norms(g, how->l2);

    send_table(s, g);
    compute_norms(s, g, grids, how->l2);
    return launch(encode<message_group, PER_MESSAGE>, tiles, kTileThreads, sizeof(encode_room), s,
                  grid_of(g, 0), *how);
}

int gcb_cuda_qsgd_decode(gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                         const gcb_cuda_qsgd *how, gcb_device_result *result)
{
    single message = single_decode(out, in, n, result);

    message.item.bucket = how->bucket;
    return launch_decode<single>(s, {message, tile_blocks(n)}, qsgd_tile{*how});
}

int gcb_cuda_qsgd_decode_group(gcb_device_stream *s, const gcb_device_group *g,
                               const gcb_cuda_qsgd *how)
{
    const uint64_t tiles = cut_tiles(g);

    send_table(s, g);
    return launch_decode<message_group>(s, {grid_of(g, 0), tiles}, qsgd_tile{*how});
}

int gcb_cuda_qsgd_sum(gcb_device_stream *s, float *out, uint64_t n, const gcb_cuda_qsgd *how,
                      const gcb_cuda_payloads *p)
{
    single message = single_decode(out, nullptr, n, nullptr);

    message.item.bucket = how->bucket;
    return launch_sum(s, {message, tile_blocks(n)}, qsgd_tile{*how}, p);
}
