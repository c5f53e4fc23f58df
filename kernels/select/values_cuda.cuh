#ifndef KERNELS_SELECT_VALUES_CUDA_CUH
#define KERNELS_SELECT_VALUES_CUDA_CUH

/* What the files that implement values_cuda.h share with each other and with the index's files. */
#include "kernels/cuda/warp.cuh"
#include "kernels/range/range_choose.cuh"
#include "kernels/select/select_cuda.cuh"
#include "kernels/select/values_cuda.h"
#include "src/lib/base/status.h"

namespace gcb
{

/* ---- payloads: offsets of their parts, damage, positions ---- */

/* The offset of the values. */
__device__ __forceinline__ uint64_t values_at(uint64_t n, const gcb_cuda_values &how)
{
    return (n ? GCB_CUDA_KEPT_BYTES : 0) + how.side + how.scale;
}

/* The offset of the positions. */
__device__ __forceinline__ uint64_t index_at(uint64_t n, uint64_t kept, const gcb_cuda_values &how)
{
    return values_at(n, how) + (kept * how.width * how.bits + 7) / 8;
}

/* Marks a payload as damaged, so that the kernels after this read nothing more of it. */
__device__ __forceinline__ void refuse(gcb_cuda_payload_head *head, gcb_device_result *result)
{
    head->kept = 0;
    set_status(&result->status, GCB_E_CORRUPT);
}

/* As refuse, but safe while other blocks read head->kept, which stays as it is. */
__device__ __forceinline__ void damage(gcb_cuda_payload_head *head, gcb_device_result *result)
{
    set_status(&head->damaged, 1);
    set_status(&result->status, GCB_E_CORRUPT);
}

/* The number of positions that may be used once the index was decoded: 0 after damage. */
__device__ __forceinline__ uint64_t sound_kept(const gcb_cuda_payload_head *head)
{
    return head->damaged ? 0 : head->kept;
}

/* Queues a kernel that fills f.first from f.pos (u32_bitmap_cuda.cu). */
int find_tiles(gcb_device_stream *s, const gcb_cuda_decoding &f, uint64_t n);

/* ---- measurements of the kept values ---- */

/* Measurements of the kept values: means need sums of blocks, range floats counts of exponents,
 * uniform only the maximum. */
struct value_measures {
    gcb_cuda_scale scale;
    uint32_t max_bits;
    uint64_t exponents[kExponents]; /* 64 bits: with two values each, 2^31 bins have 2^32 */
};
static_assert(sizeof(value_measures) % 8 == 0, "the array of doubles after it must be aligned");

/* The scratch of measure_values: the measurements, and arrays with an entry for each sum block. */
struct measure_arrays {
    value_measures *all;
    double *up, *down;  /* sums of positive and of other values, by sum block */
    uint32_t *positive; /* number of positive values, by sum block */
};

/* The number of values; each position has `width`. */
__device__ __forceinline__ uint64_t values_of(const gcb_cuda_chosen &c, unsigned width)
{
    return c.choice->kept * width;
}

/* Queues kernels that measure the values and compute m.all->scale, which encoding needs
 * (value_scales_cuda.cu). For fp32 and fp16, queues nothing. Returns what launch returns. */
int measure_values(gcb_device_stream *s, const measure_arrays &m, const gcb_cuda_chosen *c,
                   const gcb_cuda_values *how);

} /* namespace gcb */

#endif
