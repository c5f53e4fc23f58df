#ifndef KERNELS_DITHER_TERNGRAD_CUH
#define KERNELS_DITHER_TERNGRAD_CUH

/* TernGrad's scaler on the device. It is computed (terngrad_scale_cuda.cu) before the codes
 * (terngrad_cuda.cu). Codecs in kernels/block use the sums that are measured for the scaler. */
#include "kernels/cuda/group.cuh"
#include "kernels/dither/dither_cuda.h"
#include "kernels/reduce/sum.cuh"

namespace gcb::terngrad
{

constexpr unsigned kHead = sizeof(float); /* bytes of a payload before its codes: the scaler */

/* The sum, the sum of squares and the largest magnitude of all elements. */
struct measurement {
    double sum, sum_sq;
    uint32_t max_bits;
};

/* The beginning of a message's scratch. */
struct alignas(16) head {
    float scale;
    measurement all; /* set with the scaler; the sums are unspecified without clipping */
};

/* Bytes of scratch for a message of n elements. */
__host__ __device__ inline uint64_t scratch_bytes(uint64_t n)
{
    return sizeof(head) + sum_blocks_of(n) * (2 * sizeof(double) + sizeof(uint32_t));
}

/* The scaler of a message, at the beginning of its scratch. */
__device__ __forceinline__ float &scale_of(const gcb_device_item &item)
{
    return *static_cast<float *>(item.scratch);
}

/* Computes the scaler, and writes it to the scratch and to the payload. Adds error feedback to x.
 * The scaler is the largest magnitude or, if smaller and not 0, `clip` standard deviations. */
int compute_scale(gcb_device_stream *s, const single &message, double clip);

/* Divides grid 2 among the messages of a group. Returns its number of blocks. Called before the
 * table is sent. */
uint64_t cut_scale(const gcb_device_group *g);
/* Computes the scalers of a group. `blocks` is the result of cut_scale. */
int compute_scale(gcb_device_stream *s, const gcb_device_group *g, uint64_t blocks, double clip);

} /* namespace gcb::terngrad */

#endif
