#ifndef KERNELS_DITHER_TERNGRAD_CUH
#define KERNELS_DITHER_TERNGRAD_CUH

/* TernGrad's scaler on the device, found (terngrad_scale_cuda.cu) in front of the codes (terngrad_cuda.cu). */
#include "kernels/cuda/group.cuh"
#include "kernels/dither/dither_cuda.h"

namespace gcb::terngrad
{

constexpr unsigned kHead = sizeof(float); /* of a payload: the scaler */

/* The scaler of a message; it stands in front of its scratch. */
__device__ __forceinline__ float &scale_of(const struct gcb_device_item &item)
{
    return *static_cast<float *>(item.scratch);
}

/* To the scratch and into the payload; feedback is put in. */
int find_scale(struct gcb_device_stream *s, const one &message, double clip);

/* The same of a group, whose grid 2 is cut, in so many blocks, before its table is sent. */
uint64_t cut_scale(const struct gcb_device_group *g);
int find_scale(struct gcb_device_stream *s, const struct gcb_device_group *g, uint64_t blocks,
               double clip);

} /* namespace gcb::terngrad */

#endif
