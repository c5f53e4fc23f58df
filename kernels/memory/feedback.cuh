#ifndef KERNELS_MEMORY_FEEDBACK_CUH
#define KERNELS_MEMORY_FEEDBACK_CUH

/* Error feedback in the kernels of encoders (struct gcb_device_input): in at the first read of the tensor, out where
 * the codes are made. */
#include "kernels/cuda/stream.h"
#include "kernels/cuda/vector.cuh"
#include "kernels/memory/memory_elem.h"

namespace gcb
{

/* What is encoded, of one element. */
__device__ __forceinline__ float compensate(const struct gcb_device_input &in, uint64_t i)
{
    return gcb_memory_carried(in.carry, in.residual[i], in.x[i]);
}

/* Has x still to become p? */
__device__ __forceinline__ bool is_open(const struct gcb_device_input &in)
{
    return in.residual && !in.compensated;
}

/* load_floats; where there is feedback that has not been put in yet, p, which is also put in the place of x. */
template <unsigned N>
__device__ __forceinline__ void load_input(float (&v)[N], const struct gcb_device_input &in,
                                           uint64_t first)
{
    load_floats(v, in.x, first, in.n);
    if (is_open(in)) {
        float r[N];

        load_floats(r, in.residual, first, in.n);
        for (unsigned i = 0; i < N; i++)
            v[i] = gcb_memory_carried(in.carry, r[i], v[i]);
        store_floats(in.x, v, first, in.n);
    }
}

/* The same of a run that lies inside. */
template <unsigned N>
__device__ __forceinline__ void load_input_inside(float (&v)[N], const struct gcb_device_input &in,
                                                  uint64_t first)
{
    load_inside(v, in.x, first);
    if (is_open(in)) {
        float r[N];

        load_inside(r, in.residual, first);
        for (unsigned i = 0; i < N; i++)
            v[i] = gcb_memory_carried(in.carry, r[i], v[i]);
        store_inside(in.x, v, first);
    }
}

/* Element i; where there is feedback that has not been put in yet, p, which also takes the place of x, and of the residual:
 * what that is if nothing is sent. */
__device__ __forceinline__ float take_input(const struct gcb_device_input &in, uint64_t i)
{
    if (is_open(in))
        in.x[i] = in.residual[i] = compensate(in, i);
    return in.x[i];
}

/* Where there is feedback: what the decoder will not get of p, `decoded` being what it will. */
template <unsigned N>
__device__ __forceinline__ void store_residual(const struct gcb_device_input &in,
                                               const float (&p)[N], const float (&decoded)[N],
                                               uint64_t first)
{
    float r[N];

    for (unsigned i = 0; i < N; i++)
        r[i] = p[i] - decoded[i];
    store_floats(in.residual, r, first, in.n);
}

/* Element i that comes back to x; of feedback (`from` is what was encoded) what it lacks. */
__device__ __forceinline__ float taken(const float *from, uint64_t i, float decoded)
{
    return from ? from[i] - decoded : decoded;
}

/* The same of a run. */
template <unsigned N>
__device__ __forceinline__ void take_from(float (&v)[N], const float *from, uint64_t first,
                                          uint64_t n)
{
    float p[N];

    load_floats(p, from, first, n);
    for (unsigned i = 0; i < N; i++)
        v[i] = p[i] - v[i];
}

} /* namespace gcb */

#endif
