#include "kernels/cuda/launch.cuh"
#include "kernels/fft/block_dct.cuh"
#include "kernels/select/chunk_cuda.cuh"
#include "src/lib/base/status.h"

/* Each block handles a chunk of 4096 elements. */
namespace
{

using gcb::kBlockThreads;
using gcb::kDctElements;

struct select_room {
    gcb::dct_room dct;
    gcb::chunk_room<gcb::kChunkEach, kBlockThreads> chunk;
};

/* The chunk as chunk.cuh expects it. */
struct coefficient_chunk {
    const float *y;
    uint32_t m[gcb::kChunkEach];

    __device__ static constexpr uint32_t each()
    {
        return gcb::kChunkEach;
    }
    __device__ static constexpr uint32_t threads()
    {
        return kBlockThreads;
    }
    __device__ static constexpr uint32_t count()
    {
        return kDctElements;
    }
    __device__ static constexpr bool has(uint32_t)
    {
        return true;
    }
    __device__ uint32_t magnitude(uint32_t e) const
    {
        return m[e];
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
    transform_and_select(struct gcb_cuda_chosen to, struct gcb_device_input in,
                         struct gcb_cuda_dct d, struct gcb_cuda_chunks cut,
                         gcb_device_result *result)
{
    select_room &room = gcb::shared<select_room>();
    coefficient_chunk c;

    gcb::transform_block<true>(room.dct, in, d);
    c.y = gcb::coefficients(room.dct);
#pragma unroll
    for (unsigned e = 0; e < gcb::kChunkEach; e++)
        c.m[e] = c.magnitude_at(e * kBlockThreads + threadIdx.x);
    gcb::select_from_chunk(room.chunk, c, gcb::chunk_place_of(cut, to.n, blockIdx.x), to,
                           d.unitary);
    if (threadIdx.x == 0 && room.chunk.top >= GCB_INF_BITS)
        gcb::set_status(&result->status, GCB_E_SEND_RAW);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        gcb::end_choice(to);
}

} /* namespace */

int gcb_cuda_dct_select(struct gcb_device_stream *s, const struct gcb_cuda_chosen *chosen,
                        const struct gcb_device_input *in, const struct gcb_cuda_dct *d,
                        const struct gcb_cuda_chunks *cut, struct gcb_device_result *result)
{
    return gcb::launch(transform_and_select, d->count / kDctElements, kBlockThreads,
                       sizeof(select_room), s, *chosen, *in, *d, *cut, result);
}
