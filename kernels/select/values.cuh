#ifndef KERNELS_SELECT_VALUES_CUH
#define KERNELS_SELECT_VALUES_CUH

/* Shared by the files that implement values_cuda.h. */
#include "kernels/range/range_choose.cuh"
#include "kernels/select/select.cuh"
#include "kernels/select/values_cuda.h"

namespace gcb
{

/* Measurements of the kept values: means need sums of blocks, range floats need counts of
 * exponents. */
struct value_measures {
    struct gcb_cuda_scale scale;
    uint32_t max_bits;
    uint64_t exponents[kExponents]; /* complex bins have two values: up to 2^32 */
};
static_assert(sizeof(value_measures) % 8 == 0, "the array of doubles after it must be aligned");

struct measure_arrays {
    value_measures *all;
    double *up, *down; /* sums of positive and of other values, by sum block */
    uint32_t *positive;
};

/* The number of values. */
__device__ __forceinline__ uint64_t values_of(const struct gcb_cuda_chosen &c, unsigned width)
{
    return c.choice->kept * width;
}

/* value_scales_cuda.cu: queues the measurements that this kind of values needs before
 * encoding. */
int measure_values(struct gcb_device_stream *s, const measure_arrays &m,
                   const struct gcb_cuda_chosen *c, const struct gcb_cuda_values *how);

} /* namespace gcb */

#endif
