#ifndef KERNELS_CUDA_FAULT_CUH
#define KERNELS_CUDA_FAULT_CUH

/* What a CUDA call came to, and a stream that remembers it. */
#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/cuda/stream.h"
#include "src/lib/base/status.h"

namespace gcb
{

/* The first call that failed. */
struct fault {
    cudaError_t error;
    const char *call; /* its text, static */
    const char *file;
    int line;
};

/*
 * Every CUDA call goes through here: 0, GCB_E_NOMEM or GCB_E_DEVICE, and the fault is kept if it is the first. CUDA keeps an
 * error until it is asked for it, as the next launch would, whose fault it is not: it is asked here.
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
    uint64_t launches; /* kernels and fills, since it was made */
    gcb::fault fault;
};

#endif
