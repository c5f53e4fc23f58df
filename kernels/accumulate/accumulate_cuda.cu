#include "kernels/accumulate/accumulate_cuda.h"

#include "kernels/base/accumulate_elem.h"
#include "kernels/cuda/grid.cuh"
#include "kernels/select/entries.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kThreads = 256;

/* No two entries have the same position, so the order of threads does not matter. */
__global__ void add_entries(float *__restrict__ acc, gcb_cuda_entries kept, float weight,
                            const gcb_device_result *result)
{
    const gcb_cuda_scale scale = kept.f.head->scale;
    const uint8_t *in = kept.p.in + values_at(kept.p.n, kept.how);

    if (result->status)
        return;
    for (uint64_t j = thread_of_grid(); j < kept.f.head->kept; j += threads_of_grid()) {
        float *at = acc + kept.f.pos[j];

        *at = gcb_accumulated(*at, value_at(in, j, kept.how, scale), weight);
    }
}

} /* namespace */

int gcb_cuda_accumulate_entries(gcb_device_stream *s, float *acc, const gcb_cuda_entries *kept,
                                float weight, const gcb_device_result *result)
{
    return launch(add_entries, grid_over(pieces_of(kept->p.n, kThreads), kManyBlocks), kThreads, 0,
                  s, acc, *kept, weight, result);
}
