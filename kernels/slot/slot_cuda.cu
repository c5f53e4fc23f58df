#include "kernels/slot/slot_cuda.h"

#include <math.h>

#include "kernels/base/hd.h"
#include "kernels/memory/feedback.cuh"

using namespace gcb;

namespace
{

__device__ bool nonfinite(const gcb_device_result *result)
{
    return result->max_bits >= GCB_INF_BITS;
}

__global__ void begin(gcb_device_input in, gcb_device_result *result)
{
    uint32_t most = 0;

    for (uint64_t i = first_run(); i < in.n; i += runs_apart()) {
        float v[runs::each];

        load_input(v, in, i);
        most = larger(most, largest_of(v));
    }
    raise_by_warp(&result->max_bits, most);
}

__device__ void copy_floats(float *to, const float *from, uint64_t n)
{
    for (uint64_t i = first_run(); i < n; i += runs_apart()) {
        float v[runs::each];

        load_floats(v, from, i, n);
        store_floats(to, v, i, n);
    }
}

__global__ void spare(gcb_device_input in, const gcb_device_result *result)
{
    if (nonfinite(result))
        copy_floats(in.x, in.residual, in.n);
}

/* Other threads may read the status before or after thread 0 changes it. For them `failed` is true
 * in both cases, because of max_bits. */
__global__ void end(gcb_device_input in, gcb_device_result *result, gcb_cuda_slot_rest rest)
{
    const bool failed = nonfinite(result) || result->status;

    if (failed && in.residual)
        copy_floats(in.residual, in.x, in.n);
    if (thread_of_grid() == 0 && nonfinite(result))
        result->status = GCB_E_NONFINITE;
    if (thread_of_grid() < rest.bytes)
        rest.first[thread_of_grid()] = 0;
}

__global__ void poison(float *out, uint64_t n, gcb_cuda_slots slots)
{
    const float nan[runs::each] = {NAN, NAN, NAN, NAN};
    bool failed = false;

    for (unsigned i = 0; i < slots.count; i++) {
        const auto *head =
            reinterpret_cast<const gcb_device_result *>(slots.first + i * slots.apart);

        failed = failed || head->status || slots.decoded[i].status;
    }
    for (uint64_t i = first_run(); failed && i < n; i += runs_apart())
        store_floats(out, nan, i, n);
}

} /* namespace */

int gcb_cuda_slot_begin(gcb_device_stream *s, const gcb_device_input *in, gcb_device_result *result)
{
    return launch(begin, grid_of_runs(in->n), runs::threads, 0, s, *in, result);
}

int gcb_cuda_slot_spare(gcb_device_stream *s, const gcb_device_input *in,
                        const gcb_device_result *result)
{
    return launch(spare, grid_of_runs(in->n), runs::threads, 0, s, *in, result);
}

int gcb_cuda_slot_end(gcb_device_stream *s, const gcb_device_input *in, gcb_device_result *result,
                      const gcb_cuda_slot_rest *rest)
{
    return launch(end, in->residual ? grid_of_runs(in->n) : 1, runs::threads, 0, s, *in, result,
                  *rest);
}

int gcb_cuda_slot_poison(gcb_device_stream *s, float *out, uint64_t n, const gcb_cuda_slots *slots)
{
    return launch(poison, grid_of_runs(n), runs::threads, 0, s, out, n, *slots);
}
