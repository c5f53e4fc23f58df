/* All-reduce with a shared scale: the passes that qsgd and terngrad have in common. */
#include <math.h>

#include "kernels/dither/levels.cuh"
#include "kernels/dither/qsgd.cuh"

using namespace gcb;
using namespace gcb::qsgd;

namespace
{

constexpr unsigned kThreads = 256;

__global__ void scale_by(float *v, uint64_t count, float factor)
{
    const uint64_t i = thread_of_grid();

    if (i < count)
        v[i] *= factor;
}

__global__ void take_scales(float *scale, const float *combined, uint64_t count)
{
    const uint64_t i = thread_of_grid();

    if (i < count)
        scale[i] = fabsf(combined[i]);
}

/* Decodes the sum of all workers' levels, by the arithmetic of src/lib/codec/shared_scale.c. */
template <class Level>
__global__ void rebuild(float *out, const void *levels, const uint32_t *scales,
                        gcb_cuda_shared_scale how, float weight)
{
    const uint64_t first = blockIdx.x * uint64_t{kTile} + threadIdx.x * kTileEach;
    const norm_run r = run_of_message(first, how.n, how.bucket, scales);
    const float top = static_cast<float>(how.levels);
    float scale = r.count ? gcb_float_of(*r.norm) : 0.0f;
    int32_t level[kTileEach];
    float v[kTileEach];
    norm_walk turn(r);

    load_levels<Level>(level, levels, first, how.n);
#pragma unroll
    for (unsigned i = 0; i < kTileEach; i++) {
        if (turn.next_bucket(i) && i < r.count)
            scale = gcb_float_of(*turn.norm);
        v[i] = scale * (static_cast<float>(level[i]) / top);
    }
    if (weight != 1.0f)
        for (unsigned i = 0; i < kTileEach; i++)
            v[i] /= weight;
    store_runs(out, v, first, how.n);
}

} /* namespace */

int gcb_cuda_scale_by(gcb_device_stream *s, float *v, uint64_t count, float weight)
{
    return launch(scale_by, pieces_of(count, kThreads), kThreads, 0, s, v, count, fabsf(weight));
}

int gcb_cuda_take_scales(gcb_device_stream *s, float *scale, const float *combined, uint64_t count)
{
    return launch(take_scales, pieces_of(count, kThreads), kThreads, 0, s, scale, combined, count);
}

int gcb_cuda_rebuild_levels(gcb_device_stream *s, float *out, const void *levels,
                            const float *scales, float weight, const gcb_cuda_shared_scale *how)
{
    if (weight == 0.0f)
        return clear(s, out, how->n * sizeof(float));
    return launch(how->wide ? rebuild<int16_t> : rebuild<int8_t>, tile_blocks(how->n), kTileThreads,
                  0, s, out, levels, reinterpret_cast<const uint32_t *>(scales), *how, weight);
}
