#include "kernels/reduce/sum.cuh"
#include "kernels/select/values_cuda.cuh"

namespace
{

using gcb::kExponents;
using gcb::kTileThreads;
using gcb::measure_arrays;
using gcb::value_measures;

__global__ void reset_measures(value_measures *m)
{
    for (unsigned i = threadIdx.x; i < kExponents; i += blockDim.x)
        m->exponents[i] = 0;
    if (threadIdx.x == 0)
        m->max_bits = 0;
}

struct exponent_room {
    uint32_t exponents[kExponents];
};

__global__ void measure_exponents(value_measures *m, struct gcb_cuda_chosen c, unsigned width)
{
    exponent_room &room = gcb::shared<exponent_room>();
    const uint64_t kept = gcb::values_of(c, width);
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
            gcb::atomic_add(&m->exponents[i], uint64_t{room.exponents[i]});
}

/* Launched with one block. Takes the maximum, and chooses the format like gcb_range_choose. */
__global__ void choose_range(value_measures *m, struct gcb_cuda_values how)
{
    gcb::range_room &room = gcb::shared<gcb::range_room>();
    const float max = how.max_given ? how.max : gcb_float_of(m->max_bits);
    unsigned mantissa = how.mantissa;

    if (threadIdx.x == 0)
        m->scale.up = max;
    if (how.kind == GCB_CUDA_UNIFORM)
        return; /* needs no format */
    for (unsigned i = threadIdx.x; i < kExponents; i += blockDim.x)
        room.exponents[i] = m->exponents[i];
    gcb::sync_block();
    if (mantissa == 0)
        mantissa = gcb::best_mantissa(room, max, how.bits, how.rounding);
    if (threadIdx.x == 0)
        gcb_range_format(&m->scale.format, how.bits, mantissa, max, how.rounding);
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

/* Each warp sums one block of the project's sum at a time. */
__global__ void sum_blocks(measure_arrays to, struct gcb_cuda_chosen c, unsigned width)
{
    const uint64_t kept = gcb::values_of(c, width);

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

struct mean_room {
    gcb::chain_room_of<2> sums;
    double down;
    uint64_t positive;
};

__device__ float mean_of(double sum, uint64_t n)
{
    return n ? static_cast<float>(sum / static_cast<double>(n)) : 0.0f;
}

/* Launched with one block. Computes the means like src/lib/sparse/values.c. */
__global__ void choose_means(measure_arrays from, struct gcb_cuda_chosen c,
                             struct gcb_cuda_values how)
{
    mean_room &room = gcb::shared<mean_room>();
    const uint64_t kept = gcb::values_of(c, how.width),
                   blocks = (kept + GCB_SUM_BLOCK - 1) / GCB_SUM_BLOCK;
    const double *const parts[] = {from.up, from.down};
    struct gcb_cuda_scale *scale = &from.all->scale;
    uint64_t positive = 0;
    double up;

    if (threadIdx.x == 0)
        room.positive = 0;
    gcb::sync_block();
    for (uint64_t b = threadIdx.x; b < blocks; b += blockDim.x)
        positive += from.positive[b];
    if (positive)
        gcb::atomic_add(&room.positive, positive);
    up = gcb::chain_sums(room.sums, 0.0, parts, blocks);
    if (threadIdx.x == gcb::kWarp)
        room.down = up;
    gcb::sync_block();
    if (threadIdx.x != 0)
        return;
    const double down = room.down;

    if (how.kind == GCB_CUDA_MEAN)
        scale->up = mean_of(up + down, kept);
    else if (how.kind == GCB_CUDA_SIGN_MEAN)
        scale->up = mean_of(up - down, kept);
    else
        scale->up = mean_of(up, room.positive);
    scale->down = how.kind == GCB_CUDA_SIGN_MEAN ? -scale->up : mean_of(down, kept - room.positive);
}

int measure_range(struct gcb_device_stream *s, const measure_arrays &m,
                  const struct gcb_cuda_chosen *c, const struct gcb_cuda_values *how)
{
    gcb::launch(reset_measures, 1, kTileThreads, 0, s, m.all);
    gcb::launch(measure_exponents, gcb::grid_over(gcb::tile_count(c->most * how->width)),
                kTileThreads, sizeof(exponent_room), s, m.all, *c, how->width);
    return gcb::launch(choose_range, 1, kTileThreads, sizeof(gcb::range_room), s, m.all, *how);
}

int measure_means(struct gcb_device_stream *s, const measure_arrays &m,
                  const struct gcb_cuda_chosen *c, const struct gcb_cuda_values *how)
{
    gcb::launch(sum_blocks, gcb::grid_over(gcb::warps_over(gcb::tile_count(c->most * how->width))),
                kTileThreads, 0, s, m, *c, how->width);
    return gcb::launch(choose_means, 1, kTileThreads, sizeof(mean_room), s, m, *c, *how);
}

} /* namespace */

int gcb::measure_values(struct gcb_device_stream *s, const measure_arrays &m,
                        const struct gcb_cuda_chosen *c, const struct gcb_cuda_values *how)
{
    switch (how->kind) {
    case GCB_CUDA_FP32:
    case GCB_CUDA_FP16:
        return 0;
    case GCB_CUDA_RANGE:
    case GCB_CUDA_UNIFORM:
        return measure_range(s, m, c, how);
    default:
        return measure_means(s, m, c, how);
    }
}
