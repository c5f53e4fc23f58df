#include "kernels/reduce/sum.cuh"
#include "kernels/select/values_cuda.cuh"

using namespace gcb;

namespace
{

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

/* Counts the exponents of the kept values, and finds the largest magnitude. */
__global__ void measure_exponents(value_measures *m, gcb_cuda_chosen c, unsigned width)
{
    exponent_room &room = shared<exponent_room>();
    const uint64_t kept = values_of(c, width);
    uint32_t most = 0;

    clear_counts(room.exponents);
    sync_block();
    for (uint64_t i = thread_of_grid(); i < kept; i += threads_of_grid()) {
        const uint32_t bits = gcb_magnitude(c.value[i]);

        atomic_add(&room.exponents[bits >> 23], 1u);
        most = larger(most, bits);
    }
    sync_block();
    raise_by_warp(&m->max_bits, most);
    add_counts(m->exponents, room.exponents);
}

/* Sets the maximum and, for range floats, chooses the format as gcb_range_choose does. Launched
 * with one block of threads. */
__global__ void choose_range(value_measures *m, gcb_cuda_values how)
{
    range_room &room = shared<range_room>();
    const float max = how.max_given ? how.max : gcb_float_of(m->max_bits);
    unsigned mantissa = how.mantissa;

    if (threadIdx.x == 0)
        m->scale.up = max;
    if (how.kind == GCB_CUDA_UNIFORM)
        return; /* needs no format */
    for (unsigned i = threadIdx.x; i < kExponents; i += blockDim.x)
        room.exponents[i] = m->exponents[i];
    sync_block();
    if (mantissa == 0)
        mantissa = best_mantissa(room, max, how.bits, how.rounding);
    if (threadIdx.x == 0)
        gcb_range_format(&m->scale.format, how.bits, mantissa, max, how.rounding);
}

/* Sums positive values and other values by sum blocks, and counts the positive values. Each warp
 * handles one sum block at a time. Three calls of lane_sum read the sum block three times; after
 * the first it is in the cache. */
__global__ void sum_blocks(measure_arrays to, gcb_cuda_chosen c, unsigned width)
{
    const uint64_t kept = values_of(c, width);

    for (uint64_t b = warp_of_grid(); b * GCB_SUM_BLOCK < kept; b += warps_of_grid()) {
        const float *x = c.value + b * GCB_SUM_BLOCK;
        const unsigned n = sum_block_size(kept, b);
        const double up =
            lane_sum(x, n, [](float v) { return v > 0.0f ? gcb_reduce_plain(v) : 0.0; });
        const double down =
            lane_sum(x, n, [](float v) { return v > 0.0f ? 0.0 : gcb_reduce_plain(v); });
        const double positive = lane_sum(x, n, [](float v) { return v > 0.0f ? 1.0 : 0.0; });
        const double sums[] = {join_lanes(up), join_lanes(down), join_lanes(positive)};

        if (lane() == 0) {
            to.up[b] = sums[0];
            to.down[b] = sums[1];
            to.positive[b] = static_cast<uint32_t>(sums[2]);
        }
    }
}

struct mean_room {
    chain_room_of<2> sums;
    double down;
    uint64_t positive;
};

__device__ float mean_of(double sum, uint64_t n)
{
    return n ? static_cast<float>(sum / static_cast<double>(n)) : 0.0f;
}

/* Computes the means as src/lib/sparse/values.c does, with one block of threads. */
__global__ void choose_means(measure_arrays from, gcb_cuda_chosen c, gcb_cuda_values how)
{
    mean_room &room = shared<mean_room>();
    const uint64_t kept = values_of(c, how.width), blocks = sum_blocks_of(kept);
    const double *const parts[] = {from.up, from.down};
    gcb_cuda_scale *scale = &from.all->scale;
    uint64_t positive = 0;
    double up;

    if (threadIdx.x == 0)
        room.positive = 0;
    sync_block();
    for (uint64_t b = threadIdx.x; b < blocks; b += blockDim.x)
        positive += from.positive[b];
    if (positive)
        atomic_add(&room.positive, positive);
    /* Thread 0 gets the sum of the positive values, thread kWarp the sum of the other values. */
    up = chain_sums(room.sums, 0.0, parts, blocks);
    if (threadIdx.x == kWarp)
        room.down = up;
    sync_block();
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

int measure_range(gcb_device_stream *s, const measure_arrays &m, const gcb_cuda_chosen *c,
                  const gcb_cuda_values *how)
{
    launch(reset_measures, 1, kTileThreads, 0, s, m.all);
    launch(measure_exponents, grid_over(tile_count(c->most * how->width)), kTileThreads,
           sizeof(exponent_room), s, m.all, *c, how->width);
    return launch(choose_range, 1, kTileThreads, sizeof(range_room), s, m.all, *how);
}

int measure_means(gcb_device_stream *s, const measure_arrays &m, const gcb_cuda_chosen *c,
                  const gcb_cuda_values *how)
{
    launch(sum_blocks, grid_over(warps_over(tile_count(c->most * how->width))), kTileThreads, 0, s,
           m, *c, how->width);
    return launch(choose_means, 1, kTileThreads, sizeof(mean_room), s, m, *c, *how);
}

} /* namespace */

int gcb::measure_values(gcb_device_stream *s, const measure_arrays &m, const gcb_cuda_chosen *c,
                        const gcb_cuda_values *how)
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
