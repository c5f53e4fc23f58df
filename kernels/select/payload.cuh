#ifndef KERNELS_SELECT_PAYLOAD_CUH
#define KERNELS_SELECT_PAYLOAD_CUH

/* Offsets of the parts of a payload, and unaligned numbers. */
#include "kernels/cuda/warp.cuh"
#include "kernels/select/values_cuda.h"
#include "src/lib/base/status.h"

namespace gcb
{

__device__ __forceinline__ uint64_t values_at(uint64_t n, const struct gcb_cuda_values &how)
{
    return (n ? GCB_CUDA_KEPT_BYTES : 0) + how.side + how.scale;
}

__device__ __forceinline__ uint64_t index_at(uint64_t n, uint64_t kept,
                                             const struct gcb_cuda_values &how)
{
    return values_at(n, how) + (kept * how.width * how.bits + 7) / 8;
}

__device__ __forceinline__ void put_u32(uint8_t *out, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = static_cast<uint8_t>(v >> 8 * i);
}

__device__ __forceinline__ uint32_t get_u32(const uint8_t *in)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < 4; i++)
        v |= static_cast<uint32_t>(in[i]) << 8 * i;
    return v;
}

/* Marks a payload as damaged; nothing more of it is read. */
__device__ __forceinline__ void refuse(struct gcb_cuda_payload_head *head,
                                       gcb_device_result *result)
{
    head->kept = 0;
    set_status(&result->status, GCB_E_CORRUPT);
}

/* u32_bitmap_cuda.cu: fills f.first from f.pos. */
int find_tiles(struct gcb_device_stream *s, const struct gcb_cuda_decoding &f, uint64_t n);

} /* namespace gcb */

#endif
