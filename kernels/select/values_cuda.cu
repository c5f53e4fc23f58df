#include "kernels/select/values_cuda.h"

#include "kernels/convert/convert_elem.h"
#include "kernels/cuda/sum.cuh"
#include "kernels/select/payload.cuh"
#include "kernels/select/select.cuh"

namespace
{

using gcb::kTile;
using gcb::kTileEach;
using gcb::kTileThreads;

constexpr unsigned kExponents = 256;
constexpr unsigned kWarps = kTileThreads / gcb::kWarp;

/* What is known of the kept values: means need sums of blocks, range counts of exponents. */
struct measures {
    struct gcb_cuda_scale scale;
    uint32_t max_bits;
    uint32_t exponents[kExponents];
};

struct measured {
    measures *all;
    double *up, *down; /* for each block of the project's sums */
    uint32_t *positive;
};

/* ---- what is measured ---- */

__global__ void forget(measures *m)
{
    for (unsigned i = threadIdx.x; i < kExponents; i += blockDim.x)
        m->exponents[i] = 0;
    if (threadIdx.x == 0)
        m->max_bits = 0;
}

struct counting {
    uint32_t exponents[kExponents];
};

/* How many values there are. */
__device__ uint64_t values_of(const struct gcb_cuda_chosen &c, unsigned width)
{
    return c.choice->kept * width;
}

__global__ void measure_exponents(measures *m, struct gcb_cuda_chosen c, unsigned width)
{
    counting &room = gcb::shared<counting>();
    const uint64_t kept = values_of(c, width);
    uint32_t most = 0;

    for (unsigned i = threadIdx.x; i < kExponents; i += blockDim.x)
        room.exponents[i] = 0;
    gcb::sync_block();
    for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < kept;
         i += uint64_t{gridDim.x} * blockDim.x) {
        const uint32_t bits = gcb_magnitude(c.value[i]);

        gcb::atomic_add(&room.exponents[bits >> 23], 1u);
        most = bits > most ? bits : most;
    }
    gcb::sync_block();
    most = gcb::warp_max(most);
    if (gcb::lane() == 0 && most)
        gcb::atomic_max(&m->max_bits, most);
    for (unsigned i = threadIdx.x; i < kExponents; i += blockDim.x)
        if (room.exponents[i])
            gcb::atomic_add(&m->exponents[i], room.exponents[i]);
}

struct range_choice {
    uint64_t exponents[kExponents];
    double error[16]; /* by mantissa width */
};

/* One block: the format, as gcb_range_choose. */
__global__ void choose_range(measures *m, struct gcb_cuda_values how)
{
    range_choice &room = gcb::shared<range_choice>();
    const float max = how.max_given ? how.max : gcb_float_of(m->max_bits);
    const unsigned mine = threadIdx.x;
    unsigned best = how.bits - 1;
    struct gcb_range_format f;

    for (unsigned i = threadIdx.x; i < kExponents; i += blockDim.x)
        room.exponents[i] = m->exponents[i];
    gcb::sync_block();
    if (mine < how.bits && gcb_range_valid(how.bits, mine)) {
        gcb_range_format(&f, how.bits, mine, max, how.rounding);
        room.error[mine] = gcb_range_expected_error(room.exponents, &f);
    }
    gcb::sync_block();
    if (threadIdx.x != 0)
        return;
    for (unsigned w = how.bits - 1; w-- > 0 && gcb_range_valid(how.bits, w);)
        if (room.error[w] <= room.error[best])
            best = w;
    gcb_range_format(&m->scale.format, how.bits, how.mantissa ? how.mantissa : best, max,
                     how.rounding);
}

struct up_term {
    __device__ double operator()(float x) const
    {
        return x > 0.0f ? gcb_reduce_plain(x) : 0.0;
    }
};

struct down_term {
    __device__ double operator()(float x) const
    {
        return x > 0.0f ? 0.0 : gcb_reduce_plain(x);
    }
};

struct positive_term {
    __device__ double operator()(float x) const
    {
        return x > 0.0f ? 1.0 : 0.0;
    }
};

/* A warp sums a block of the project's sums. */
__global__ void sum_blocks(measured to, struct gcb_cuda_chosen c, unsigned width)
{
    const uint64_t kept = values_of(c, width);

    for (uint64_t b = gcb::warp_of_grid(); b * GCB_SUM_BLOCK < kept; b += gcb::warps_of_grid()) {
        const float *x = c.value + b * GCB_SUM_BLOCK;
        const uint64_t left = kept - b * GCB_SUM_BLOCK;
        const unsigned n = static_cast<unsigned>(left < GCB_SUM_BLOCK ? left : GCB_SUM_BLOCK);
        const double up = gcb::join_lanes(gcb::lane_sum(x, n, up_term{}));
        const double down = gcb::join_lanes(gcb::lane_sum(x, n, down_term{}));
        const double positive = gcb::join_lanes(gcb::lane_sum(x, n, positive_term{}));

        if (gcb::lane() == 0) {
            to.up[b] = up;
            to.down[b] = down;
            to.positive[b] = static_cast<uint32_t>(positive);
        }
    }
}

struct chaining {
    double room[gcb::kChain];
    uint64_t positive;
};

__device__ float ratio(double sum, uint64_t n)
{
    return n ? static_cast<float>(sum / static_cast<double>(n)) : 0.0f;
}

/* One block: the means, as values_mean.c. */
__global__ void choose_means(measured from, struct gcb_cuda_chosen c, enum gcb_cuda_value_kind kind,
                             unsigned width)
{
    chaining &room = gcb::shared<chaining>();
    const uint64_t kept = values_of(c, width), blocks = (kept + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
    struct gcb_cuda_scale *scale = &from.all->scale;
    uint64_t positive = 0;
    double up, down;

    if (threadIdx.x == 0)
        room.positive = 0;
    gcb::sync_block();
    for (uint64_t b = threadIdx.x; b < blocks; b += blockDim.x)
        positive += from.positive[b];
    if (positive)
        gcb::atomic_add(&room.positive, positive);
    up = gcb::chain_sum(from.up, blocks, room.room);
    down = gcb::chain_sum(from.down, blocks, room.room);
    gcb::sync_block();
    if (threadIdx.x != 0)
        return;
    if (kind == GCB_CUDA_MEAN)
        scale->up = ratio(up + down, kept);
    else if (kind == GCB_CUDA_SIGN_MEAN)
        scale->up = ratio(up - down, kept);
    else
        scale->up = ratio(up, room.positive);
    scale->down = ratio(down, kept - room.positive);
}

/* ---- codes ---- */

struct half_code {
    __device__ explicit half_code(const measures *)
    {
    }
    __device__ uint32_t code(float x) const
    {
        return gcb_fp16_of_fp32(gcb_bits_of(x));
    }
    __device__ uint32_t clamps(float x) const
    {
        return gcb_fp16_saturates(gcb_magnitude(x));
    }
    __device__ void put_scale(uint8_t *) const
    {
    }
};

struct range_code {
    struct gcb_range_format f;

    __device__ explicit range_code(const measures *m) : f(m->scale.format)
    {
    }
    __device__ uint32_t code(float x) const
    {
        return gcb_range_encode(x, &f);
    }
    __device__ uint32_t clamps(float x) const
    {
        return gcb_magnitude(x) > f.clamp;
    }
    __device__ void put_scale(uint8_t *out) const
    {
        gcb::put_u32(out, gcb_bits_of(gcb_range_decode(f.top, &f)));
        out[4] = static_cast<uint8_t>(f.mantissa);
    }
};

/* sign-mean and means; mean has no codes, only a scale. */
template <bool Two> struct sign_code {
    float up, down;

    __device__ explicit sign_code(const measures *m) : up(m->scale.up), down(m->scale.down)
    {
    }
    __device__ uint32_t code(float x) const
    {
        return x > 0.0f;
    }
    __device__ uint32_t clamps(float) const
    {
        return 0;
    }
    __device__ void put_scale(uint8_t *out) const
    {
        gcb::put_u32(out, gcb_bits_of(up));
        if (Two)
            gcb::put_u32(out + 4, gcb_bits_of(down));
    }
};

__device__ void put_kept(uint8_t *out, const struct gcb_cuda_chosen &c)
{
    if (c.n)
        gcb::put_u32(out, static_cast<uint32_t>(c.choice->kept));
}

template <class Code>
__global__ void put_codes(uint8_t *out, struct gcb_cuda_chosen c, struct gcb_cuda_values how,
                          const measures *m, gcb_device_result *result)
{
    gcb::tile_room &room = gcb::shared<gcb::tile_room>();
    const uint64_t kept = values_of(c, how.width);
    const Code coder(m);
    uint32_t clamped = 0;

    if (blockIdx.x == 0 && threadIdx.x == 0) {
        put_kept(out, c);
        coder.put_scale(out + gcb::values_at(c.n, how) - how.scale);
    }
    out += gcb::values_at(c.n, how);
    for (uint64_t start = blockIdx.x * uint64_t{kTile}; how.bits && start < kept;
         start += uint64_t{gridDim.x} * kTile) {
        const uint64_t left = kept - start, here = left < kTile ? left : kTile;
        uint32_t code[kTileEach];
        float v[kTileEach];

        gcb::load_floats(v, c.value, start + threadIdx.x * kTileEach, kept);
        for (unsigned i = 0; i < kTileEach; i++) {
            code[i] = coder.code(v[i]); /* 0 for an absent one, which is +0 */
            clamped += coder.clamps(v[i]);
        }
        gcb::pack_codes(room, code, how.bits);
        gcb::sync_block();
        gcb::store_tile(out + start / 8 * how.bits, room,
                        static_cast<unsigned>((here * how.bits + 7) / 8));
        gcb::sync_block();
    }
    clamped = gcb::warp_add(clamped);
    if (gcb::lane() == 0 && clamped)
        gcb::atomic_add(&result->clamped, static_cast<uint64_t>(clamped));
}

__global__ void put_floats(uint8_t *out, struct gcb_cuda_chosen c, struct gcb_cuda_values how)
{
    const uint64_t kept = values_of(c, how.width);

    if (blockIdx.x == 0 && threadIdx.x == 0)
        put_kept(out, c);
    for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < kept;
         i += uint64_t{gridDim.x} *
              blockDim.x) /* a multiple of four bytes behind the start of the payload */
        reinterpret_cast<float *>(out + gcb::values_at(c.n, how))[i] = c.value[i];
}

measured lay_out(void *scratch, uint64_t most)
{
    const uint64_t blocks = (most + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
    measured m;

    m.all = static_cast<measures *>(scratch);
    m.up = reinterpret_cast<double *>(m.all + 1);
    m.down = m.up + blocks;
    m.positive = reinterpret_cast<uint32_t *>(m.down + blocks);
    return m;
}
static_assert(sizeof(measures) % 8 == 0, "doubles stand behind it");

int measure(struct gcb_device_stream *s, const measured &m, const struct gcb_cuda_chosen *c,
            const struct gcb_cuda_values *how)
{
    const uint64_t tiles = gcb::tiles_for(c->most * how->width);
    int err;

    if (how->kind == GCB_CUDA_RANGE) {
        err = gcb::launch(forget, 1, kTileThreads, 0, s, m.all);
        if (!err)
            err = gcb::launch(measure_exponents, gcb::blocks_for(tiles), kTileThreads,
                              sizeof(counting), s, m.all, *c, how->width);
        return err ? err
                   : gcb::launch(choose_range, 1, kTileThreads, sizeof(range_choice), s, m.all,
                                 *how);
    }
    if (how->kind == GCB_CUDA_FP16)
        return 0;
    err = gcb::launch(sum_blocks, gcb::blocks_of_warps_for(tiles), kWarps * gcb::kWarp, 0, s, m, *c,
                      how->width);
    return err ? err
               : gcb::launch(choose_means, 1, kTileThreads, sizeof(chaining), s, m, *c, how->kind,
                             how->width);
}

} /* namespace */

uint64_t gcb_cuda_values_scratch(const struct gcb_cuda_values *how, uint64_t most)
{
    const uint64_t blocks = (most * how->width + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;

    return sizeof(measures) + blocks * (2 * sizeof(double) + sizeof(uint32_t));
}

int gcb_cuda_put_values(struct gcb_device_stream *s, uint8_t *out,
                        const struct gcb_cuda_chosen *chosen, const struct gcb_cuda_values *how,
                        void *scratch, struct gcb_device_result *result)
{
    const uint64_t most = chosen->most * how->width, grid = gcb::blocks_for(gcb::tiles_for(most));
    const measured m = lay_out(scratch, most);
    auto put = put_codes<half_code>;
    int err;

    if (how->kind == GCB_CUDA_FP32)
        return gcb::launch(put_floats, grid, kTileThreads, 0, s, out, *chosen, *how);
    if (how->kind == GCB_CUDA_RANGE)
        put = put_codes<range_code>;
    else if (how->kind == GCB_CUDA_MEANS)
        put = put_codes<sign_code<true>>;
    else if (how->kind != GCB_CUDA_FP16)
        put = put_codes<sign_code<false>>;
    err = measure(s, m, chosen, how);
    return err ? err
               : gcb::launch(put, grid, kTileThreads, sizeof(gcb::tile_room), s, out, *chosen, *how,
                             m.all, result);
}
