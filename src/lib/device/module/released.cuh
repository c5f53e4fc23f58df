#ifndef SRC_LIB_DEVICE_MODULE_RELEASED_CUH
#define SRC_LIB_DEVICE_MODULE_RELEASED_CUH

#include "kernels/cuda/fault.cuh"

namespace gcb
{

/*
 * A call that gives something back. Nothing can be done here if it fails: a broken device says so in the next wait. CUDA
 * keeps the error until it is asked for it, as the next launch would, whose fault it is not.
 */
inline void released(cudaError_t error)
{
    if (error != cudaSuccess)
        cudaGetLastError();
}

} /* namespace gcb */

#endif
