#include "kernels/fft/block_dct.cuh"
#include "kernels/select/chunk_cuda.cuh"
#include "src/lib/base/status.h"

using namespace gcb;

/* Each block handles a chunk of 4096 elements. */
namespace
{

struct select_room {
    dct_room dct;
    chunk_room<kChunkEach, kBlockThreads> chunk;
};

/* The chunk as select_from_chunk expects it (chunk_cuda.cuh): coefficients in shared memory, their
 * magnitudes in registers. */
struct coefficient_chunk {
    static constexpr uint32_t each = kChunkEach, threads = kBlockThreads, count = kDctElements;
    const float *y;
    uint32_t m[each];

    __device__ static constexpr bool has(uint32_t)
    {
        return true;
    }
    __device__ uint32_t magnitude_at(uint32_t pos) const
    {
        return gcb_magnitude(y[pos]);
    }
    __device__ void put(float *to, uint32_t entry, uint32_t pos, float unitary) const
    {
        to[entry] = y[pos] * unitary;
    }
};

__global__ void __launch_bounds__(kBlockThreads, 5)
    transform_and_select(gcb_cuda_chosen to, gcb_device_input in, gcb_cuda_dct d,
                         gcb_cuda_chunks cut, gcb_device_result *result)
{
    select_room &room = shared<select_room>();
    coefficient_chunk c;

    transform_block<true>(room.dct, in, d);
    c.y = coefficients(room.dct);
#pragma unroll
    for (unsigned e = 0; e < kChunkEach; e++)
        c.m[e] = c.magnitude_at(e * kBlockThreads + threadIdx.x);
    select_from_chunk(room.chunk, c, chunk_place_of(cut, to.n, blockIdx.x), to, d.unitary);
    if (threadIdx.x == 0 && room.chunk.top >= GCB_INF_BITS)
        set_status(&result->status, GCB_E_SEND_RAW);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        end_choice(to);
}

} /* namespace */

int gcb_cuda_dct_select(gcb_device_stream *s, const gcb_cuda_chosen *chosen,
                        const gcb_device_input *in, const gcb_cuda_dct *d,
                        const gcb_cuda_chunks *cut, gcb_device_result *result)
{
    return launch(transform_and_select, d->count / kDctElements, kBlockThreads, sizeof(select_room),
                  s, *chosen, *in, *d, *cut, result);
}
