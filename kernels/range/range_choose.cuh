#ifndef KERNELS_RANGE_RANGE_CHOOSE_CUH
#define KERNELS_RANGE_RANGE_CHOOSE_CUH

/* Chooses the best range-float format from counts of the data's exponents: for the codec `range`,
 * and for values=range of the sparse codec. */
#include "kernels/cuda/warp.cuh"
#include "kernels/range/range_choose.h"

namespace gcb
{

constexpr unsigned kExponents = 256;

struct range_room {
    uint64_t exponents[kExponents];
    double error[16]; /* by mantissa width */
};

/* Like gcb_range_best_mantissa, with one thread per width. Called by all threads of the block. */
__device__ inline unsigned best_mantissa(range_room &s, float max, unsigned bits,
                                         enum gcb_range_rounding rounding)
{
    const unsigned mine = threadIdx.x;
    unsigned best = bits - 1;

    if (mine < bits && gcb_range_valid(bits, mine)) {
        struct gcb_range_format f;

        gcb_range_format(&f, bits, mine, max, rounding);
        s.error[mine] = gcb_range_expected_error(s.exponents, &f);
    }
    sync_block();
    for (unsigned m = bits - 1; m-- > 0 && gcb_range_valid(bits, m);)
        if (s.error[m] <= s.error[best])
            best = m;
    return best;
}

} /* namespace gcb */

#endif
