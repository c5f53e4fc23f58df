#ifndef KERNELS_CUDA_LAUNCH_CUH
#define KERNELS_CUDA_LAUNCH_CUH

/* Included in tests instead of the header of this name: the same functions, on the CPU. */
#include <tuple>

#include "emulate.h"
#include "kernels/cuda/fault.cuh"

namespace gcb
{

/* The shared memory of a block on the smallest device that the module is built for. */
constexpr size_t kMostShared = 99 * 1024;

constexpr uint64_t kMostBlocks = 1056;
constexpr uint64_t kManyBlocks = 4096;

/* Records the caller's line, and limits `most` to what the test says. */
inline uint64_t grid_over(uint64_t pieces, uint64_t most = kMostBlocks,
                          const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    return gcb_host::grid_over(pieces, most, file, line);
}

/* Checks one argument. Padding between its members may hold anything. */
template <typename T> void check_argument(T copy)
{
#if defined __has_builtin && __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&copy);
#endif
    gcb_host::check_arguments(&copy, sizeof(copy));
}

template <typename... P, typename... A>
int launch(void (*kernel)(P...), uint64_t grid, unsigned block, size_t smem,
           struct gcb_device_stream *stream, A &&...args)
{
    const std::tuple<P...> given(static_cast<P>(args)...);

    if (status_of(stream))
        return status_of(stream);
    if (grid == 0 || grid > 0x7fffffffu || block == 0 || block > 1024 || block % 32 != 0 ||
        smem > kMostShared)
        return GCB_CUDA(&stream->fault, cudaErrorInvalidConfiguration);
    std::apply([](const auto &...arg) { (check_argument(arg), ...); }, given);
    gcb_host::enqueue(stream->handle, [kernel, given, grid, block, smem] {
        gcb_host::run_grid(grid, block, smem, [&] { std::apply(kernel, given); });
    });
    stream->launches++;
    return GCB_CUDA(&stream->fault, cudaGetLastError());
}

/* Queues a fill of `bytes` bytes, at least 1, with zeros; it counts as a launch. */
inline int clear(struct gcb_device_stream *stream, void *dev, size_t bytes)
{
    if (status_of(stream))
        return status_of(stream);
    stream->launches++;
    return GCB_CUDA(&stream->fault, cudaMemsetAsync(dev, 0, bytes, stream->handle));
}

template <typename T> T &shared()
{
    return *static_cast<T *>(gcb_host::shared_bytes(sizeof(T)));
}

} /* namespace gcb */

#endif
