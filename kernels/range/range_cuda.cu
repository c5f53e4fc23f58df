#include "kernels/range/range_cuda.h"

#include "kernels/cuda/feedback.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sum.cuh"
#include "kernels/cuda/tile.cuh"

namespace
{

struct tuning {
    static constexpr uint64_t measuring_blocks =
        528; /* beyond so many, a block takes several tiles */
};

constexpr unsigned kExponents = 256;

/* What one block has seen of the data. */
struct seen {
    uint32_t exponents[kExponents];
    uint32_t max_bits;
    uint32_t pad[3];
};

/* In scratch: the format that was chosen, and behind it what each block has seen. */
struct found {
    struct gcb_range_format format;
    uint32_t pad[7];
};

/* A counter for each lane, so that the lanes of a warp never meet at one. */
struct counters {
    uint32_t count[kExponents][gcb::kWarp];
    uint32_t max_bits;
};

struct maximum {
    uint32_t max_bits;
};

__device__ uint32_t tile_max(const float (&v)[gcb::kTileEach])
{
    uint32_t most = 0;

    for (unsigned i = 0; i < gcb::kTileEach; i++) {
        const uint32_t m = gcb_magnitude(v[i]);

        most = m > most ? m : most;
    }
    return most;
}

/* Adds the warp's maximum to the block's. */
__device__ void join_max(uint32_t *max_bits, uint32_t most)
{
    most = gcb::warp_max(most);
    if (gcb::lane() == 0)
        gcb::atomic_max(max_bits, most);
}

/* The maximum and the counts of exponents of some tiles. */
__global__ void measure_exponents(seen *out, struct gcb_device_input in)
{
    counters &s = gcb::shared<counters>();
    uint32_t most = 0;

    for (unsigned i = threadIdx.x; i < kExponents * gcb::kWarp; i += blockDim.x)
        s.count[i / gcb::kWarp][i % gcb::kWarp] = 0;
    s.max_bits = 0;
    gcb::sync_block();
    for (uint64_t tile = blockIdx.x; tile * gcb::kTile < in.n; tile += gridDim.x) {
        const uint64_t first = tile * gcb::kTile + threadIdx.x * gcb::kTileEach;
        float v[gcb::kTileEach];
        uint32_t m;

        gcb::load_input(v, in, first);
        for (unsigned i = 0; i < gcb::kTileEach; i++)
            if (first + i < in.n)
                gcb::atomic_add(&s.count[gcb_magnitude(v[i]) >> 23][gcb::lane()], 1u);
        m = tile_max(v);
        most = m > most ? m : most;
    }
    join_max(&s.max_bits, most);
    gcb::sync_block();
    for (unsigned e = threadIdx.x; e < kExponents; e += blockDim.x) {
        uint32_t sum = 0;

        for (unsigned i = 0; i < gcb::kWarp; i++)
            sum += s.count[e][(e + i) % gcb::kWarp]; /* each lane in a bank of its own */
        out[blockIdx.x].exponents[e] = sum;
    }
    if (threadIdx.x == 0)
        out[blockIdx.x].max_bits = s.max_bits;
}

/* The maximum alone. */
__global__ void measure_max(seen *out, struct gcb_device_input in)
{
    maximum &s = gcb::shared<maximum>();
    uint32_t most = 0;

    if (threadIdx.x == 0)
        s.max_bits = 0;
    gcb::sync_block();
    for (uint64_t tile = blockIdx.x; tile * gcb::kTile < in.n; tile += gridDim.x) {
        float v[gcb::kTileEach];
        uint32_t m;

        gcb::load_input(v, in, tile * gcb::kTile + threadIdx.x * gcb::kTileEach);
        m = tile_max(v);
        most = m > most ? m : most;
    }
    join_max(&s.max_bits, most);
    gcb::sync_block();
    if (threadIdx.x == 0)
        out[blockIdx.x].max_bits = s.max_bits;
}

struct choosing {
    uint64_t exponents[kExponents];
    double error[16]; /* by mantissa width */
    uint32_t max_bits;
};

/* As gcb_range_best_mantissa, with a thread for each width. All threads of the block. */
__device__ unsigned best_mantissa(choosing &s, float max, unsigned bits,
                                  enum gcb_range_rounding rounding)
{
    const unsigned mine = threadIdx.x;
    unsigned best = bits - 1;

    if (mine < bits && gcb_range_valid(bits, mine)) {
        struct gcb_range_format f;

        gcb_range_format(&f, bits, mine, max, rounding);
        s.error[mine] = gcb_range_expected_error(s.exponents, &f);
    }
    gcb::sync_block();
    for (unsigned m = bits - 1; m-- > 0 && gcb_range_valid(bits, m);)
        if (s.error[m] <= s.error[best])
            best = m;
    return best;
}

/* One block: joins what the others have seen and chooses the format. */
__global__ void choose(found *out, const seen *__restrict__ part, unsigned parts,
                       struct gcb_cuda_range how, gcb_device_result *result)
{
    choosing &s = gcb::shared<choosing>();
    unsigned mantissa = how.mantissa;
    uint32_t most = 0;
    float max;

    if (threadIdx.x == 0)
        s.max_bits = 0;
    gcb::sync_block();
    for (unsigned i = threadIdx.x; i < parts; i += blockDim.x)
        most = part[i].max_bits > most ? part[i].max_bits : most;
    join_max(&s.max_bits, most);
    for (unsigned e = threadIdx.x; how.mantissa == 0 && e < kExponents; e += blockDim.x) {
        uint64_t sum = 0;

        for (unsigned i = 0; i < parts; i++)
            sum += part[i].exponents[e];
        s.exponents[e] = sum;
    }
    gcb::sync_block();
    max = how.max_given ? how.max : gcb_float_of(s.max_bits);
    if (how.mantissa == 0)
        mantissa = best_mantissa(s, max, how.bits, how.rounding);
    if (threadIdx.x == 0) {
        gcb_range_format(&out->format, how.bits, mantissa, max, how.rounding);
        if (!how.max_given)
            gcb::atomic_max(&result->max_bits, s.max_bits);
    }
}

/* The format of this launch: found on the device, or known before. */
__device__ struct gcb_range_format format_of(const found *chosen,
                                             const struct gcb_range_format &given)
{
    return chosen ? chosen->format : given;
}

__device__ void put_head(uint8_t *out, const struct gcb_range_format &f)
{
    const uint32_t top = gcb_bits_of(gcb_range_decode(f.top, &f));

    for (unsigned i = 0; i < 4; i++)
        out[i] = static_cast<uint8_t>(top >> 8 * i);
    out[4] = static_cast<uint8_t>(f.mantissa);
}

__global__ void encode(uint8_t *__restrict__ out, struct gcb_device_input in, const found *chosen,
                       struct gcb_range_format given, gcb_device_result *result)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const struct gcb_range_format f = format_of(chosen, given);
    const uint64_t start = blockIdx.x * uint64_t{gcb::kTile};
    const uint64_t first = start + threadIdx.x * gcb::kTileEach;
    const uint64_t left = in.n - start, bits = (left < gcb::kTile ? left : gcb::kTile) * f.bits;
    uint32_t code[gcb::kTileEach], clamped = 0;
    float v[gcb::kTileEach], decoded[gcb::kTileEach];

    if (blockIdx.x == 0 && threadIdx.x == 0) {
        put_head(out, f);
        result->length = GCB_CUDA_RANGE_HEAD + (in.n * f.bits + 7) / 8;
    }
    gcb::load_input(v, in, first);
    for (unsigned i = 0; i < gcb::kTileEach; i++) {
        code[i] = gcb_range_encode(v[i], &f); /* 0 for an absent one, which is +0 */
        clamped += gcb_magnitude(v[i]) > f.clamp;
        decoded[i] = gcb_range_decode(code[i], &f);
    }
    if (in.residual)
        gcb::store_residual(in, v, decoded, first);
    gcb::pack_codes(room, code, f.bits);
    clamped = gcb::warp_add(clamped);
    if (gcb::lane() == 0 && clamped)
        gcb::atomic_add(&result->clamped, static_cast<uint64_t>(clamped));
    gcb::sync_block();
    gcb::store_tile(out + GCB_CUDA_RANGE_HEAD + start / 8 * f.bits, room,
                    static_cast<unsigned>((bits + 7) / 8));
}

__global__ void decode(float *__restrict__ out, const uint8_t *__restrict__ in, uint64_t n,
                       unsigned bits, gcb_device_result *result)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const uint32_t top = static_cast<uint32_t>(in[0]) | static_cast<uint32_t>(in[1]) << 8 |
                         static_cast<uint32_t>(in[2]) << 16 | static_cast<uint32_t>(in[3]) << 24;
    const unsigned mantissa = in[4];
    const uint64_t start = blockIdx.x * uint64_t{gcb::kTile}, left = n - start;
    const unsigned here = static_cast<unsigned>(left < gcb::kTile ? left : gcb::kTile);
    uint32_t code[gcb::kTileEach];
    struct gcb_range_format f;
    float v[gcb::kTileEach];
    unsigned skip;

    if (top >= GCB_INF_BITS || !gcb_range_valid(bits, mantissa)) { /* the same for all threads */
        if (threadIdx.x == 0)
            gcb::set_status(&result->status, GCB_E_CORRUPT);
        return;
    }
    gcb_range_format(&f, bits, mantissa, gcb_float_of(top), GCB_ROUND_TRUNCATE);
    skip = gcb::load_tile(room, in + GCB_CUDA_RANGE_HEAD + start / 8 * bits, (here * bits + 7) / 8);
    gcb::sync_block();
    gcb::unpack_codes(code, room, skip, bits);
    for (unsigned i = 0; i < gcb::kTileEach; i++)
        v[i] = gcb_range_decode(code[i], &f);
    gcb::store_floats(out, v, start + threadIdx.x * gcb::kTileEach, n);
}

uint64_t tiles_of(uint64_t n)
{
    return n ? (n + gcb::kTile - 1) / gcb::kTile : 1;
}

uint64_t parts_of(uint64_t n)
{
    const uint64_t tiles = tiles_of(n);

    return tiles < tuning::measuring_blocks ? tiles : tuning::measuring_blocks;
}

bool is_open(const struct gcb_cuda_range *how)
{
    return how->mantissa == 0 || !how->max_given;
}

int find_format(struct gcb_device_stream *s, const struct gcb_device_input *in,
                const struct gcb_cuda_range *how, found *out, struct gcb_device_result *result)
{
    seen *part = reinterpret_cast<seen *>(out + 1);
    const uint64_t parts = parts_of(in->n);
    const int err = how->mantissa == 0 ? gcb::launch(measure_exponents, parts, gcb::kTileThreads,
                                                     sizeof(counters), s, part, *in)
                                       : gcb::launch(measure_max, parts, gcb::kTileThreads,
                                                     sizeof(maximum), s, part, *in);

    if (err)
        return err;
    return gcb::launch(choose, 1, kExponents, sizeof(choosing), s, out, part,
                       static_cast<unsigned>(parts), *how, result);
}

} /* namespace */

uint64_t gcb_cuda_range_scratch(const struct gcb_cuda_range *how, uint64_t n)
{
    return is_open(how) ? sizeof(found) + parts_of(n) * sizeof(seen) : 0;
}

int gcb_cuda_range_encode(struct gcb_device_stream *s, uint8_t *out,
                          const struct gcb_device_input *in, const struct gcb_cuda_range *how,
                          void *scratch, struct gcb_device_result *result)
{
    found *chosen = is_open(how) ? static_cast<found *>(scratch) : nullptr;
    struct gcb_range_format given = {};
    struct gcb_device_input seen_once = *in;
    int err = 0;

    if (chosen) {
        err = find_format(s, in, how, chosen, result);
        seen_once.compensated = 1;
    } else {
        gcb_range_format(&given, how->bits, how->mantissa, how->max, how->rounding);
    }
    if (err)
        return err;
    return gcb::launch(encode, tiles_of(in->n), gcb::kTileThreads, sizeof(gcb::tile_room), s, out,
                       seen_once, chosen, given, result);
}

int gcb_cuda_range_decode(struct gcb_device_stream *s, float *out, const uint8_t *in, uint64_t n,
                          unsigned bits, struct gcb_device_result *result)
{
    return gcb::launch(decode, tiles_of(n), gcb::kTileThreads, sizeof(gcb::tile_room), s, out, in,
                       n, bits, result);
}
