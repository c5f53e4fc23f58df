#ifndef KERNELS_MEMORY_FEEDBACK_CUH
#define KERNELS_MEMORY_FEEDBACK_CUH

/* Error feedback inside an encoder's kernels (gcb_device_input). The residual is added when the
 * tensor is first read, and the new residual is written when the codes are made. Below, p stands
 * for the value to encode: carry * residual + x, or x if there is no residual. */
#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/stream.h"
#include "kernels/cuda/vector.cuh"
#include "kernels/memory/memory_elem.h"

namespace gcb
{

/* The blocks of kernels that handle a tensor element by element. Each thread takes runs of `each`
 * elements. Its first run begins at first_run(), and each further run begins runs_apart() elements
 * after the one before. */
struct runs {
    static constexpr unsigned threads = 256;
    static constexpr unsigned each = 4; /* one access of 16 bytes */
};

__device__ __forceinline__ uint64_t first_run()
{
    return thread_of_grid() * runs::each;
}

__device__ __forceinline__ uint64_t runs_apart()
{
    return threads_of_grid() * runs::each;
}

/* The grid of a kernel that handles n elements in runs. */
inline uint64_t grid_of_runs(uint64_t n)
{
    return grid_over(pieces_of(n, runs::threads * runs::each), kManyBlocks);
}

/* Computes element i of p. needs_feedback(in) must be true. */
__device__ __forceinline__ float compensate(const gcb_device_input &in, uint64_t i)
{
    return gcb_memory_carried(in.carry, in.residual[i], in.x[i]);
}

/* True if the residual must still be added to x. */
__device__ __forceinline__ bool needs_feedback(const gcb_device_input &in)
{
    return in.residual && !in.compensated;
}

/* Loads a run of p; elements from in.n on are 0. If the residual must still be added, computes p
 * and stores it over x. */
template <unsigned N>
__device__ __forceinline__ void load_input(float (&v)[N], const gcb_device_input &in,
                                           uint64_t first)
{
    load_floats(v, in.x, first, in.n);
    if (needs_feedback(in)) {
        float r[N];

        load_floats(r, in.residual, first, in.n);
        for (unsigned i = 0; i < N; i++)
            v[i] = gcb_memory_carried(in.carry, r[i], v[i]);
        store_floats(in.x, v, first, in.n);
    }
}

/* Like load_input, for a run that lies inside the array. */
template <unsigned N>
__device__ __forceinline__ void load_input_inside(float (&v)[N], const gcb_device_input &in,
                                                  uint64_t first)
{
    load_inside(v, in.x, first);
    if (needs_feedback(in)) {
        float r[N];

        load_inside(r, in.residual, first);
        for (unsigned i = 0; i < N; i++)
            v[i] = gcb_memory_carried(in.carry, r[i], v[i]);
        store_inside(in.x, v, first);
    }
}

/* Loads element i of p. If the residual must still be added, computes p and stores it over x and
 * over the residual. An element that is not sent needs no further change of its residual then. */
__device__ __forceinline__ float load_element(const gcb_device_input &in, uint64_t i)
{
    if (needs_feedback(in))
        in.x[i] = in.residual[i] = compensate(in, i);
    return in.x[i];
}

/* What to store for element i: the decoded value if `from` is NULL. With feedback, `from` is p, and
 * the result is the residual. */
__device__ __forceinline__ float decoded_or_residual(const float *from, uint64_t i, float decoded)
{
    return from ? from[i] - decoded : decoded;
}

/* Replaces a run of decoded values by the residual; `from` is p. */
template <unsigned N>
__device__ __forceinline__ void subtract_run(float (&v)[N], const float *from, uint64_t first,
                                             uint64_t n)
{
    float p[N];

    load_floats(p, from, first, n);
    for (unsigned i = 0; i < N; i++)
        v[i] = p[i] - v[i];
}

/* Writes a run of the residual: p, which in.x holds, minus the values that the decoder will get.
 * Reading p again costs less than the registers that would keep it. Overwrites `decoded`. */
template <unsigned N>
__device__ __forceinline__ void store_residual(const gcb_device_input &in, float (&decoded)[N],
                                               uint64_t first)
{
    subtract_run(decoded, in.x, first, in.n);
    store_floats(in.residual, decoded, first, in.n);
}

} /* namespace gcb */

#endif
