#include "kernels/select/chunk_cuda.h"

#include "kernels/cuda/align.h"
#include "kernels/cuda/feedback.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/select/chunk.cuh"
#include "kernels/select/select.cuh"

namespace
{

constexpr uint32_t kMostThreads = 1024;
constexpr unsigned kScaleThreads = 256;
constexpr uint32_t kNear = kMostThreads * gcb::kChunkEach; /* positions that registers hold */

/* Element i of the input, with what the residual adds to it; of what is not kept that is the residual then. */
__device__ float take(const struct gcb_device_input &in, uint64_t i)
{
    if (gcb::is_open(in))
        in.x[i] = in.residual[i] = gcb::compensate(in, i);
    return in.x[i];
}

__global__ __launch_bounds__(kMostThreads) void choose_near(struct gcb_cuda_chosen to,
                                                            struct gcb_device_input in,
                                                            struct gcb_cuda_chunks cut)
{
    gcb::chunk_room &room = gcb::shared<gcb::chunk_room>();
    const uint64_t skip = cut.first * cut.length;

    for (uint64_t i = cut.first + blockIdx.x; i * cut.length < to.n; i += gridDim.x) {
        const gcb::chunk_place place = gcb::place_of(cut, to.n, i);
        gcb::near_chunk c;

        c.count = place.count;
#pragma unroll
        for (unsigned e = 0; e < gcb::kChunkEach; e++)
            c.v[e] = c.index(e) < c.count ? take(in, place.from - skip + c.index(e)) : 0.0f;
        gcb::choose_of_chunk(room, c, place, to, 1.0f);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        gcb::end_choice(to);
}

/* ---- chunks that registers do not hold ---- */

/* Read again each time. */
struct far_chunk {
    const float *x;
    uint32_t count, stretch; /* elements of a warp, a multiple of 32 */

    __device__ uint32_t each() const
    {
        return stretch / gcb::kWarp;
    }
    __device__ uint32_t index(uint32_t e) const
    {
        return threadIdx.x / gcb::kWarp * stretch + e * gcb::kWarp + gcb::lane();
    }
    __device__ float value(uint32_t e) const
    {
        return index(e) < count ? x[index(e)] : 0.0f;
    }
    __device__ uint32_t magnitude(uint32_t e) const
    {
        return gcb_magnitude(value(e));
    }
    __device__ void put(float *to, uint32_t entry, uint32_t e, float unitary) const
    {
        to[entry] = value(e) * unitary;
    }
};

struct far_room {
    gcb::chunk_room chunk;
    gcb::search_room search;
};

/* Counts the digits of this level, of what has the digits above it in common with `prefix`. */
__device__ void count_digits(gcb::search_room &room, const far_chunk &c, unsigned level,
                             uint32_t prefix)
{
    const unsigned shift = gcb::shift_of(level), above = level ? gcb::shift_of(level - 1) : 31;

    for (unsigned i = threadIdx.x; i < gcb::kDigits; i += blockDim.x)
        room.digits[i] = 0;
    gcb::sync_block();
    for (uint32_t e = 0; e < c.each(); e++) {
        const uint32_t m = c.magnitude(e);

        if (c.index(e) < c.count && m >> above == prefix >> above)
            gcb::atomic_add(&room.digits[m >> shift & (gcb::digits_of(level) - 1)], 1u);
    }
    gcb::sync_block();
}

/* The k-th largest digit by digit: three reads at most, and no more than it takes until all that have its digits are
 * kept. */
__device__ gcb::chunk_cut find_far_cut(gcb::search_room &room, const far_chunk &c, uint32_t k)
{
    uint32_t prefix = 0, left = k;

    for (unsigned level = 0; level < gcb::kLevels; level++) {
        uint32_t equal;

        count_digits(room, c, level, prefix);
        gcb::find_digit(room, room.digits, gcb::digits_of(level), left);
        prefix |= room.digit << gcb::shift_of(level);
        left = room.left;
        equal = room.digits[room.digit];
        gcb::sync_block();
        if (equal == left)
            return {prefix, 0};
    }
    return {prefix + 1, left};
}

__global__ __launch_bounds__(kMostThreads) void choose_far(struct gcb_cuda_chosen to,
                                                           struct gcb_device_input in,
                                                           struct gcb_cuda_chunks cut)
{
    far_room &room = gcb::shared<far_room>();
    const uint64_t skip = cut.first * cut.length;

    for (uint64_t i = cut.first + blockIdx.x; i * cut.length < to.n; i += gridDim.x) {
        const gcb::chunk_place place = gcb::place_of(cut, to.n, i);
        far_chunk c;

        c.x = in.x + (place.from - skip);
        c.count = place.count;
        c.stretch = (place.count + blockDim.x - 1) / blockDim.x * gcb::kWarp;
        for (uint32_t e = 0; gcb::is_open(in) && e < c.each(); e++)
            if (c.index(e) < c.count)
                take(in, place.from - skip + c.index(e));
        gcb::write_of_chunk(room.chunk, c, find_far_cut(room.search, c, place.k), place, to, 1.0f);
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
    const uint64_t chunks = (chosen->n + cut->length - 1) / cut->length - cut->first;
    const uint64_t warp = gcb::kChunkEach * gcb::kWarp, warps = (cut->length + warp - 1) / warp;

    if (cut->length > kNear)
        return gcb::launch(choose_far, gcb::grid_over(chunks), kMostThreads, sizeof(far_room), s,
                           *chosen, *in, *cut);
    return gcb::launch(choose_near, gcb::grid_over(chunks, gcb::kManyBlocks),
                       static_cast<unsigned>(warps) * gcb::kWarp, sizeof(gcb::chunk_room), s,
                       *chosen, *in, *cut);
}

int gcb_cuda_scale_chosen(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                          uint64_t from, float factor)
{
    const uint64_t blocks = (chosen->most - from + kScaleThreads - 1) / kScaleThreads;

    return gcb::launch(scale_values, gcb::grid_over(blocks, gcb::kManyBlocks), kScaleThreads, 0, s,
                       *chosen, from, factor);
}
