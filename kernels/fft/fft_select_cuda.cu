#include "kernels/fft/block_rfft.cuh"
#include "kernels/select/chunk_cuda.cuh"
#include "kernels/select/select_elem.h"
#include "src/lib/base/status.h"

using namespace gcb;

/* Each block handles a chunk of 4096 elements: 2049 bins, eight per thread and one more in
 * thread 0. */
namespace
{

constexpr unsigned kBins = kBlockPoints + 1;
constexpr unsigned kEach = pieces_of(kBins, kBlockThreads);
constexpr uint32_t kAnyScale = 255; /* a reach that no exponent exceeds */
constexpr unsigned kBlocks = 5;     /* blocks per multiprocessor: as many as registers allow */

struct select_room {
    block_fft_room fft;
    chunk_room<kEach, kBlockThreads> chunk;
};

/* The chunk as select_from_chunk expects it (chunk_cuda.cuh): bins in shared memory, their powers
 * at one scale in registers. */
struct bin_chunk {
    static constexpr uint32_t each = kEach, threads = kBlockThreads, count = kBins;
    block_fft_room *room;
    float scale;
    uint32_t m[each]; /* bit patterns; 0 for a missing bin */

    __device__ static bool has(uint32_t e)
    {
        return e + 1 < kEach || threadIdx.x == 0;
    }
    __device__ complex bin(uint32_t k) const
    {
        const complex z = at(*room, k % kBlockPoints);

        if (k % kBlockPoints)
            return z;
        return {k ? z.im : z.re, 0.0f}; /* the last and the first bin share place 0 */
    }
    __device__ uint32_t magnitude_of(complex z) const
    {
        return gcb_magnitude(gcb_select_power(z.re, z.im, scale, 1.0f));
    }
    __device__ uint32_t magnitude_at(uint32_t k) const
    {
        return magnitude_of(bin(k));
    }
    __device__ void put(float *to, uint32_t entry, uint32_t k, float unitary) const
    {
        const complex z = bin(k);

        reinterpret_cast<float2 *>(to)[entry] = make_float2(z.re * unitary, z.im * unitary);
    }
};
static_assert(kBins == (kEach - 1) * kBlockThreads + 1,
              "the last turn of the loop must handle a single bin");

/* Computes the powers of the thread's bins. Place 0 holds the first bin and the last bin. */
__device__ void fill_magnitudes(bin_chunk *c)
{
    const complex *const mine = &at(*c->room, threadIdx.x);
    complex z = mine[0];

    c->m[kEach - 1] = 0;
    if (threadIdx.x == 0) {
        c->m[kEach - 1] = c->magnitude_of({z.im, 0.0f});
        z.im = 0.0f;
    }
    c->m[0] = c->magnitude_of(z);
#pragma unroll
    for (unsigned e = 1; e + 1 < kEach; e++)
        c->m[e] = c->magnitude_of(mine[padded(e * kBlockThreads)]);
}

/* Chooses from the bins in shared memory, compared at the scale of `top`, and writes the entries.
 * Returns, in thread 0, a power that all kept bins reach. Called by every thread of the block. */
__device__ uint32_t select_bins(select_room &room, const gcb_cuda_fft_selection &how,
                                const chunk_place &place, uint32_t top)
{
    gcb_cuda_chosen to = how.to;
    bin_chunk c;

    c.room = &room.fft;
    c.scale = gcb_select_power_scale(top);
    fill_magnitudes(&c);
    to.value = how.value;
    return select_from_chunk(room.chunk, c, place, to, how.unitary);
}

__global__ __launch_bounds__(kBlockThreads,
                             kBlocks) void transform_and_select(gcb_cuda_fft_selection how,
                                                                gcb_device_input in,
                                                                gcb_cuda_block_fft f)
{
    select_room &room = shared<select_room>();
    const chunk_place place = chunk_place_of(how.cut, how.to.n, blockIdx.x);
    uint32_t top, least;

    top = transform_to_bins<true>(room.fft, fft_twiddles(f, kBlockPoints), in,
                                  blockIdx.x * uint64_t{kBlockElements});
    top = block_max(room.chunk, top, 0);
    least = select_bins(room, how, place, top);
    if (threadIdx.x == 0) {
        how.reach[blockIdx.x] =
            top == 0 || place.k == place.count ? kAnyScale : gcb_select_power_reach(top, least);
        atomic_max(&how.most->max_bits, top);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        end_choice(how.to);
}

/* Checks the reach of as many chunks as a block has threads, and does the chunks again whose reach
 * is too small. */
__global__ void reselect_chunks(gcb_cuda_fft_selection how, gcb_device_input in,
                                gcb_cuda_block_fft f, gcb_device_result *result)
{
    select_room &room = shared<select_room>();
    const uint32_t top = how.most->max_bits, exponent = top >> 23; /* biased */
    const uint64_t chunks = f.count / kBlockElements, first = blockIdx.x * uint64_t{kBlockThreads};
    const uint64_t mine = first + threadIdx.x;

    if (blockIdx.x == 0 && threadIdx.x == 0 && top >= GCB_INF_BITS)
        set_status(&result->status, GCB_E_SEND_RAW);
    if (top >= GCB_INF_BITS || count_block(mine < chunks && how.reach[mine] < exponent) == 0)
        return;
    for (uint64_t i = first; i < first + kBlockThreads && i < chunks; i++)
        if (how.reach[i] < exponent) {
            transform_to_bins<true>(room.fft, fft_twiddles(f, kBlockPoints), in,
                                    i * kBlockElements);
            select_bins(room, how, chunk_place_of(how.cut, how.to.n, i), top);
            sync_block();
        }
}

uint64_t chunks_of(const gcb_cuda_block_fft *f)
{
    return f->count / kBlockElements;
}

} /* namespace */

int gcb_cuda_fft_select(gcb_device_stream *s, const gcb_cuda_fft_selection *c,
                        const gcb_device_input *in, const gcb_cuda_block_fft *f)
{
    return launch(transform_and_select, chunks_of(f), kBlockThreads, sizeof(select_room), s, *c,
                  *in, *f);
}

int gcb_cuda_fft_reselect(gcb_device_stream *s, const gcb_cuda_fft_selection *c,
                          const gcb_device_input *in, const gcb_cuda_block_fft *f,
                          gcb_device_result *result)
{
    return launch(reselect_chunks, pieces_of(chunks_of(f), kBlockThreads), kBlockThreads,
                  sizeof(select_room), s, *c, *in, *f, result);
}
