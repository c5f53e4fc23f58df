/* Errors as in CUDA: a failed call's error is kept until it is asked for, even by another call. */
#include "emulate.h"

namespace
{

cudaError_t last;

} /* namespace */

cudaError_t gcb_host::refused(cudaError_t error)
{
    last = error;
    return error;
}

cudaError_t cudaGetLastError()
{
    const cudaError_t error = last;

    last = cudaSuccess;
    return error == cudaSuccess && gcb_host::failed() ? cudaErrorLaunchFailure : error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorUnknown:
        return "unknown error";
    default:
        return "unspecified launch failure";
    }
}
