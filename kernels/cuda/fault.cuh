#ifndef KERNELS_CUDA_FAULT_CUH
#define KERNELS_CUDA_FAULT_CUH

/* The result of a CUDA call, and a stream that remembers the first failure. */
#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/cuda/stream.h"
#include "src/lib/base/status.h"

namespace gcb
{

/* The first call that failed. */
struct fault {
    cudaError_t error; /* cudaSuccess if none failed */
    const char *call;  /* source text of the call, static */
    const char *file;
    int line;
};

inline int status_of(cudaError_t error)
{
    if (error == cudaSuccess)
        return 0;
    return error == cudaErrorMemoryAllocation ? GCB_E_NOMEM : GCB_E_DEVICE;
}

/*
 * Every CUDA call goes through this macro, except calls that release something
 * (src/lib/device/module/released.cuh). Its value is 0, GCB_E_NOMEM or GCB_E_DEVICE. If the call
 * fails, the macro stores the failure in *fault, unless *fault has an earlier one. CUDA would
 * report the error again at the next launch, so the macro clears it.
 */
#define GCB_CUDA(fault, call) gcb::checked((fault), (call), #call, __FILE__, __LINE__)

inline int checked(fault *f, cudaError_t error, const char *call, const char *file, int line)
{
    if (error != cudaSuccess) {
        cudaGetLastError();
        if (f->error == cudaSuccess)
            *f = {error, call, file, line};
    }
    return status_of(error);
}

} /* namespace gcb */

struct gcb_device_stream {
    cudaStream_t handle;
    uint64_t launches; /* kernels and fills since the stream was made */
    gcb::fault fault;
};

namespace gcb
{

/* Returns 0, or the status of the stream's first failure. A stream that has failed takes no more
 * launches, so the caller of several launches needs to check only the last. */
inline int status_of(const gcb_device_stream *s)
{
    return status_of(s->fault.error);
}

} /* namespace gcb */

#endif
