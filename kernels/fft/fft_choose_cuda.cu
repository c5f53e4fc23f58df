#include "kernels/cuda/launch.cuh"
#include "kernels/fft/short_bins.cuh"
#include "kernels/hd.h"
#include "kernels/select/chunk.cuh"
#include "kernels/select/select_elem.h"
#include "src/base/status.h"

/* A block takes a chunk of 4096 elements: 2049 bins, nine a thread. */
namespace
{

using gcb::complex;
using gcb::kShortElements;
using gcb::kShortPoints;
using gcb::kShortThreads;

constexpr unsigned kBins = kShortPoints + 1;
constexpr unsigned kEach = (kBins + kShortThreads - 1) / kShortThreads;
constexpr uint32_t kAnyScale = 255;
constexpr unsigned kBlocks = 4; /* of a multiprocessor: as many as registers allow */

struct choice_room {
    gcb::chunk_room chunk;
    gcb::short_room fft;
};

/* What chunk.cuh chooses from: powers in registers, bins in shared memory. */
struct bin_chunk {
    gcb::short_room *room;
    uint32_t power[kEach]; /* patterns; 0 of one that there is not */
    uint32_t count;

    __device__ static constexpr uint32_t each()
    {
        return kEach;
    }
    __device__ uint32_t index(uint32_t e) const
    {
        return threadIdx.x / gcb::kWarp * (kEach * gcb::kWarp) + e * gcb::kWarp + gcb::lane();
    }
    __device__ uint32_t magnitude(uint32_t e) const
    {
        return power[e];
    }
    __device__ complex bin(uint32_t e) const
    {
        const uint32_t k = index(e);
        const complex z =
            k <= kShortPoints ? gcb::at(*room, k % kShortPoints) : complex{0.0f, 0.0f};

        return k % kShortPoints ? z : k ? complex{z.im, 0.0f} : complex{z.re, 0.0f};
    }
    __device__ void put(float *to, uint32_t entry, uint32_t e, float unitary) const
    {
        const complex z = bin(e);

        reinterpret_cast<float2 *>(to)[entry] = make_float2(z.re * unitary, z.im * unitary);
    }
};

/* The largest part of the block's bins. */
__device__ uint32_t largest_of(gcb::chunk_room &room, const bin_chunk &c)
{
    uint32_t top = 0;

#pragma unroll
    for (unsigned e = 0; e < kEach; e++) {
        const uint32_t part = gcb::largest_part(c.bin(e));

        top = part > top ? part : top;
    }
    return gcb::block_max(room, top, 1); /* whoever chooses begins with the other turn */
}

/* Bins in the room to entries: ordered at the scale of `top`. */
__device__ gcb::chunk_cut choose_bins(choice_room &room, bin_chunk &c,
                                      const struct gcb_cuda_fft_choice &how,
                                      const gcb::chunk_place &place, uint32_t top)
{
    const float scale = gcb_select_power_scale(top);
    struct gcb_cuda_chosen to = how.to;

#pragma unroll
    for (unsigned e = 0; e < kEach; e++) {
        const complex z = c.bin(e);

        c.power[e] = gcb_magnitude(gcb_select_power(z.re, z.im, scale, 1.0f));
    }
    to.value = how.value;
    return gcb::choose_of_chunk(room.chunk, c, place, to, how.unitary);
}

__global__ __launch_bounds__(kShortThreads, kBlocks) void choose(struct gcb_cuda_fft_choice how,
                                                                 const float *__restrict__ x,
                                                                 struct gcb_cuda_short_fft f)
{
    choice_room &room = gcb::shared<choice_room>();
    const gcb::chunk_place place = gcb::place_of(how.cut, how.to.n, blockIdx.x);
    bin_chunk c;
    gcb::chunk_cut cut;
    uint32_t top;

    c.room = &room.fft;
    c.count = kBins;
    gcb::to_bins(room.fft, gcb::fft_turns(f), x, blockIdx.x * uint64_t{kShortElements}, f.count);
    top = largest_of(room.chunk, c);
    cut = choose_bins(room, c, how, place, top);
    if (threadIdx.x == 0) {
        how.reach[blockIdx.x] = top == 0 || place.k == place.count
                                    ? kAnyScale
                                    : gcb_select_power_reach(top, cut.least());
        gcb::atomic_max(&how.most->max_bits, top);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        gcb::end_choice(how.to);
}

/* A block looks at as many chunks as it has threads. */
__global__ void choose_again(struct gcb_cuda_fft_choice how, const float *__restrict__ x,
                             struct gcb_cuda_short_fft f, gcb_device_result *result)
{
    choice_room &room = gcb::shared<choice_room>();
    const uint32_t top = how.most->max_bits, exponent = top >> 23;
    const uint64_t chunks = f.count / kShortElements, first = blockIdx.x * uint64_t{kShortThreads};
    const uint64_t mine = first + threadIdx.x;
    bin_chunk c;

    if (blockIdx.x == 0 && threadIdx.x == 0 && top >= GCB_INF_BITS)
        gcb::set_status(&result->status, GCB_E_NONFINITE);
    if (top >= GCB_INF_BITS || gcb::count_block(mine < chunks && how.reach[mine] < exponent) == 0)
        return;
    c.room = &room.fft;
    c.count = kBins;
    for (uint64_t i = first; i < first + kShortThreads && i < chunks; i++)
        if (how.reach[i] < exponent) {
            gcb::to_bins(room.fft, gcb::fft_turns(f), x, i * kShortElements, f.count);
            choose_bins(room, c, how, gcb::place_of(how.cut, how.to.n, i), top);
            gcb::sync_block();
        }
}

uint64_t chunks_of(const struct gcb_cuda_short_fft *f)
{
    return f->count / kShortElements;
}

} /* namespace */

int gcb_cuda_fft_choose(struct gcb_device_stream *s, const struct gcb_cuda_fft_choice *c,
                        const float *x, const struct gcb_cuda_short_fft *f)
{
    return gcb::launch(choose, chunks_of(f), kShortThreads, sizeof(choice_room), s, *c, x, *f);
}

int gcb_cuda_fft_choose_again(struct gcb_device_stream *s, const struct gcb_cuda_fft_choice *c,
                              const float *x, const struct gcb_cuda_short_fft *f,
                              struct gcb_device_result *result)
{
    return gcb::launch(choose_again, (chunks_of(f) + kShortThreads - 1) / kShortThreads,
                       kShortThreads, sizeof(choice_room), s, *c, x, *f, result);
}
