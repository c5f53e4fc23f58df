#include "kernels/select/chunk_cuda.h"

#include "kernels/cuda/align.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/memory/feedback.cuh"
#include "kernels/select/chunk.cuh"
#include "kernels/select/chunk_far.cuh"

namespace
{

constexpr unsigned kScaleThreads = 256;
/* Numbers of threads. */
constexpr unsigned kFew = 32, kSome = 256, kMost = gcb::kChunkNear / gcb::kChunkEach;

template <unsigned Threads> using near_room = gcb::chunk_room<gcb::kChunkEach, Threads>;

/* Magnitudes are in registers, elements in memory. */
struct near_chunk {
    const float *x;
    uint32_t length;
    uint32_t m[gcb::kChunkEach];

    __device__ static constexpr uint32_t each()
    {
        return gcb::kChunkEach;
    }
    __device__ uint32_t threads() const
    {
        return blockDim.x;
    }
    __device__ uint32_t count() const
    {
        return length;
    }
    __device__ bool has(uint32_t e) const
    {
        return e * blockDim.x + threadIdx.x < length;
    }
    __device__ uint32_t magnitude(uint32_t e) const
    {
        return m[e];
    }
    __device__ uint32_t magnitude_at(uint32_t pos) const
    {
        return gcb_magnitude(x[pos]);
    }
    __device__ void put(float *to, uint32_t entry, uint32_t pos, float unitary) const
    {
        to[entry] = x[pos] * unitary;
    }
};

template <unsigned Threads>
__global__ __launch_bounds__(Threads) void choose_near(struct gcb_cuda_chosen to,
                                                       struct gcb_device_input in,
                                                       struct gcb_cuda_chunks cut)
{
    near_room<Threads> &room = gcb::shared<near_room<Threads>>();
    const uint64_t skip = cut.first * cut.length;

    for (uint64_t i = cut.first + blockIdx.x; i * cut.length < to.n; i += gridDim.x) {
        const gcb::chunk_place place = gcb::place_of(cut, to.n, i);
        const uint64_t first = place.from - skip;
        near_chunk c;

        c.x = in.x + first;
        c.length = place.count;
#pragma unroll
        for (unsigned e = 0; e < gcb::kChunkEach; e++)
            c.m[e] = c.has(e)
                         ? gcb_magnitude(gcb::take_input(in, first + e * blockDim.x + threadIdx.x))
                         : 0;
        gcb::choose_of_chunk(room, c, place, to, 1.0f);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        gcb::end_choice(to);
}

__global__ void scale_values(struct gcb_cuda_chosen c, uint64_t from, float factor)
{
    const uint64_t kept = c.choice->kept;

    for (uint64_t i = from + blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < kept;
         i += uint64_t{gridDim.x} * blockDim.x)
        c.value[i] *= factor;
}

uint64_t chunks_of(const struct gcb_cuda_chosen *to, const struct gcb_cuda_chunks *cut)
{
    return (to->n + cut->length - 1) / cut->length - cut->first;
}

/* Launches with at most `Threads` threads. */
template <unsigned Threads>
int launch_near(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                const struct gcb_device_input *in, const struct gcb_cuda_chunks *cut)
{
    const uint64_t warp = gcb::kChunkEach * gcb::kWarp, warps = (cut->length + warp - 1) / warp;

    return gcb::launch(choose_near<Threads>,
                       gcb::grid_over(chunks_of(chosen, cut), gcb::kManyBlocks),
                       static_cast<unsigned>(warps) * gcb::kWarp, sizeof(near_room<Threads>), s,
                       *chosen, *in, *cut);
}

} /* namespace */

uint64_t gcb_cuda_chosen_lay_out(struct gcb_cuda_chosen *chosen, uint64_t n, uint64_t most,
                                 void *scratch)
{
    const uint64_t tiles = (n + gcb::kTile - 1) / gcb::kTile;
    const uint64_t list = gcb_cuda_align16(most * sizeof(uint32_t));
    uint8_t *at = static_cast<uint8_t *>(scratch);

    if (at) {
        chosen->choice = reinterpret_cast<struct gcb_cuda_choice *>(at);
        at += gcb_cuda_align16(sizeof(struct gcb_cuda_choice));
        chosen->pos = reinterpret_cast<uint32_t *>(at);
        chosen->value = reinterpret_cast<float *>(at + list);
        chosen->first = reinterpret_cast<uint32_t *>(at + 2 * list);
        chosen->n = n;
        chosen->most = most;
    }
    return gcb_cuda_align16(sizeof(struct gcb_cuda_choice)) + 2 * list +
           gcb_cuda_align16((tiles + 1) * sizeof(uint32_t));
}

int gcb_cuda_select_chunks(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                           const struct gcb_device_input *in, const struct gcb_cuda_chunks *cut)
{
    if (cut->length > gcb::kChunkNear)
        return gcb::choose_far_chunks(s, *chosen, *in, *cut,
                                      gcb::grid_over(chunks_of(chosen, cut)));
    if (cut->length > kSome * gcb::kChunkEach)
        return launch_near<kMost>(s, chosen, in, cut);
    return cut->length > kFew * gcb::kChunkEach ? launch_near<kSome>(s, chosen, in, cut)
                                                : launch_near<kFew>(s, chosen, in, cut);
}

int gcb_cuda_scale_chosen(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                          uint64_t from, float factor)
{
    const uint64_t blocks = (chosen->most - from + kScaleThreads - 1) / kScaleThreads;

    return gcb::launch(scale_values, gcb::grid_over(blocks, gcb::kManyBlocks), kScaleThreads, 0, s,
                       *chosen, from, factor);
}
