#ifndef SRC_LIB_DEVICE_MODULE_RELEASED_CUH
#define SRC_LIB_DEVICE_MODULE_RELEASED_CUH

#include "kernels/cuda/fault.cuh"

namespace gcb
{

/*
 * Ignores the failure of a call that frees something: the next wait reports a broken device. CUDA
 * keeps the error until somebody reads it, so it is read here; otherwise the next launch would seem
 * to have failed.
 */
inline void released(cudaError_t error)
{
    if (error != cudaSuccess)
        cudaGetLastError();
}

} /* namespace gcb */

#endif
