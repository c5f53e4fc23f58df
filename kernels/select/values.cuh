#ifndef KERNELS_SELECT_VALUES_CUH
#define KERNELS_SELECT_VALUES_CUH

/* What the files of values_cuda.h share. */
#include "kernels/range/choose.cuh"
#include "kernels/select/select.cuh"
#include "kernels/select/values_cuda.h"

namespace gcb
{

/* What is known of the kept values: means need sums of blocks, range counts of exponents. */
struct measures {
    struct gcb_cuda_scale scale;
    uint32_t max_bits;
    uint64_t exponents[kExponents]; /* complex bins are two values, and so 2^32 at most */
};
static_assert(sizeof(measures) % 8 == 0, "doubles stand behind it");

struct measured {
    measures *all;
    double *up, *down; /* for each block of the project's sums */
    uint32_t *positive;
};

/* How many values there are. */
__device__ __forceinline__ uint64_t values_of(const struct gcb_cuda_chosen &c, unsigned width)
{
    return c.choice->kept * width;
}

/* values_measure_cuda.cu: queues what the kind of values needs to know before codes are made. */
int measure(struct gcb_device_stream *s, const measured &m, const struct gcb_cuda_chosen *c,
            const struct gcb_cuda_values *how);

} /* namespace gcb */

#endif
