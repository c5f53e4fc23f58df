#include "kernels/memory/memory_cuda.h"

#include "kernels/memory/feedback.cuh"

using namespace gcb;

namespace
{

/* Stores carry * residual + x over x. load_input does this; the values that it returns are not
 * used. */
__global__ void compensate_all(gcb_device_input in)
{
    for (uint64_t i = first_run(); i < in.n; i += runs_apart()) {
        float v[runs::each];

        load_input(v, in, i);
    }
}

__global__ void store_residuals(float *__restrict__ left, const float *__restrict__ p, uint64_t n)
{
    for (uint64_t i = first_run(); i < n; i += runs_apart()) {
        float v[runs::each];

        load_floats(v, left, i, n);
        subtract_run(v, p, i, n);
        store_floats(left, v, i, n);
    }
}

} /* namespace */

int gcb_cuda_memory_compensate(gcb_device_stream *s, const gcb_device_input *in)
{
    if (!in->residual || in->compensated || in->n == 0)
        return 0;
    return launch(compensate_all, grid_of_runs(in->n), runs::threads, 0, s, *in);
}

int gcb_cuda_memory_residual(gcb_device_stream *s, float *left, const float *p, uint64_t n)
{
    return launch(store_residuals, grid_of_runs(n), runs::threads, 0, s, left, p, n);
}

int gcb_cuda_memory_copy(gcb_device_stream *s, float *to, const float *x, uint64_t n)
{
    GCB_CUDA(&s->fault,
             cudaMemcpyAsync(to, x, n * sizeof(*to), cudaMemcpyDeviceToDevice, s->handle));
    return status_of(s);
}

int gcb_cuda_status(const gcb_device_stream *s)
{
    return status_of(s);
}

int gcb_cuda_memory_pad(gcb_device_stream *s, float *to, const float *x, uint64_t n,
                        uint64_t length)
{
    gcb_cuda_memory_copy(s, to, x, n);
    return clear(s, to + n, (length - n) * sizeof(*to));
}
