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
    cudaError_t error;
    const char *call; /* source text of the call, static */
    const char *file;
    int line;
};

/*
 * Every CUDA call goes through this macro. It gives 0, GCB_E_NOMEM or GCB_E_DEVICE, and keeps the
 * fault if it is the stream's first. CUDA would report the error again at the next launch, so the
 * macro clears it.
 */
#define GCB_CUDA(fault, call) gcb::checked((fault), (call), #call, __FILE__, __LINE__)

inline int checked(fault *f, cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess)
        return 0;
    cudaGetLastError();
    if (f->error == cudaSuccess)
        *f = {error, call, file, line};
    return error == cudaErrorMemoryAllocation ? GCB_E_NOMEM : GCB_E_DEVICE;
}

} /* namespace gcb */

struct gcb_device_stream {
    cudaStream_t handle;
    uint64_t launches; /* kernels and fills since the stream was made */
    gcb::fault fault;
};

namespace gcb
{

/* 0, or the status of the stream's first failure. After that the stream takes no more launches, so
 * a sequence of launches needs to look only at the last. */
inline int status_of(const gcb_device_stream *s)
{
    if (s->fault.error == cudaSuccess)
        return 0;
    return s->fault.error == cudaErrorMemoryAllocation ? GCB_E_NOMEM : GCB_E_DEVICE;
}

} /* namespace gcb */

#endif
