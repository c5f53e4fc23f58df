#ifndef SRC_LIB_DEVICE_MODULE_RELEASED_CUH
#define SRC_LIB_DEVICE_MODULE_RELEASED_CUH

#include "kernels/cuda/fault.cuh"

namespace gcb
{

/*
 * Ignores an error of a call that frees something: if the device is broken, the next wait says so.
 * CUDA keeps an error until somebody reads it, and the next launch would seem to have failed. So
 * this function reads the error.
 */
inline void released(cudaError_t error)
{
    if (error != cudaSuccess)
        cudaGetLastError();
}

} /* namespace gcb */

#endif
