#ifndef KERNELS_CUDA_LAUNCH_CUH
#define KERNELS_CUDA_LAUNCH_CUH

/*
 * Kernels are launched, and shared memory is used, only through this header. Device code uses
 * neither <<< >>> nor __shared__ itself, because tests replace this header by one that runs the
 * kernels on the CPU (docs/gpu.md).
 */
#include <cuda_runtime.h>

#include "kernels/cuda/fault.cuh"

namespace gcb
{

/* Bytes of shared memory that a block may use unless its kernel's attributes allow more. */
constexpr size_t kPlainShared = 48 * 1024;

/* The most blocks of a grid whose blocks loop (grid_over). kMostBlocks fills a large device: eight
 * blocks for each of an H100's 132 multiprocessors. kManyBlocks is for kernels whose blocks have
 * little to do. */
constexpr uint64_t kMostBlocks = 1056;
constexpr uint64_t kManyBlocks = 4096;

/*
 * The grid size, from 1 to `most`, for a kernel whose blocks loop over `pieces` pieces of work,
 * gridDim.x apart. Tests replace this function by one with a lower limit, so that blocks loop even
 * with few pieces.
 */
__host__ __device__ inline uint64_t grid_over(uint64_t pieces, uint64_t most = kMostBlocks)
{
    if (pieces == 0)
        return 1;
    return pieces < most ? pieces : most;
}

/*
 * Queues kernel(args...) on `stream`: `grid` blocks (at least 1, below 2^31) of `block` threads (a
 * multiple of 32), each block with `smem` bytes of shared memory. Does nothing if the stream has
 * failed before. Returns status_of(stream).
 */
template <typename... P, typename... A>
int launch(void (*kernel)(P...), uint64_t grid, unsigned block, size_t smem,
           gcb_device_stream *stream, A &&...args)
{
    if (status_of(stream))
        return status_of(stream);
    if (grid == 0 || grid > 0x7fffffffu)
        return GCB_CUDA(&stream->fault, cudaErrorInvalidConfiguration);
    if (smem > kPlainShared) {
        GCB_CUDA(&stream->fault, cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                      static_cast<int>(smem)));
        if (status_of(stream))
            return status_of(stream);
    }
    kernel<<<dim3(static_cast<unsigned>(grid)), dim3(block), smem, stream->handle>>>(
        static_cast<P>(args)...);
    stream->launches++;
    return GCB_CUDA(&stream->fault, cudaGetLastError());
}

/* Queues a fill of `bytes` bytes (at least 1) with zeros, which counts as a launch. Fails as launch
 * does. */
inline int clear(gcb_device_stream *stream, void *dev, size_t bytes)
{
    if (status_of(stream))
        return status_of(stream);
    stream->launches++;
    return GCB_CUDA(&stream->fault, cudaMemsetAsync(dev, 0, bytes, stream->handle));
}

/* The block's shared memory as a T, uninitialised, aligned to 16. T is at most as large as the
 * bytes given to launch. */
template <typename T> __device__ __forceinline__ T &shared()
{
    extern __shared__ __align__(16) unsigned char gcb_shared_bytes[];

    return *reinterpret_cast<T *>(gcb_shared_bytes);
}

} /* namespace gcb */

#endif
