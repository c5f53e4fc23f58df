#ifndef KERNELS_RANGE_RANGE_CHOOSE_CUH
#define KERNELS_RANGE_RANGE_CHOOSE_CUH

/* Chooses the best mantissa width of range floats from counts of the data's exponents, for the
 * codec `range` and for values=range of the sparse codec. */
#include "kernels/cuda/warp.cuh"
#include "kernels/range/range_choose.h"

namespace gcb
{

constexpr unsigned kExponents = 256;

constexpr unsigned kWidths = 16; /* the mantissa has 0 to 15 bits */
constexpr unsigned kAtOnce = 8;  /* widths whose errors are computed at once */

/* Shared memory of best_mantissa. The caller fills `exponents`: the number of values of each biased
 * exponent. */
struct range_room {
    uint64_t exponents[kExponents];
    /* by width and exponent: the terms of the sums in `error` */
    double octave[kAtOnce][kExponents];
    double error[kWidths]; /* by mantissa width: as gcb_range_expected_error */
};

/* Sets s.error of `width` and of the kAtOnce - 1 widths after it, except those that no format has
 * (gcb_range_valid), as gcb_range_expected_error computes it: all threads compute octaves, and then
 * one thread per width adds them up in order. Called by all threads of the block. */
__device__ inline void expected_errors(range_room &s, unsigned width, float max, unsigned bits,
                                       enum gcb_range_rounding rounding)
{
    const unsigned mine = threadIdx.x;

    for (unsigned m = 0; m < kAtOnce; m++) {
        struct gcb_range_format f;

        if (!gcb_range_valid(bits, width + m))
            continue;
        gcb_range_format(&f, bits, width + m, max, rounding);
        for (unsigned e = mine; e < kExponents - 1; e += blockDim.x)
            s.octave[m][e] =
                s.exponents[e] ? static_cast<double>(s.exponents[e]) * gcb_range_octave_error(e, &f)
                               : 0.0;
    }
    sync_block();
    if (mine < kAtOnce && gcb_range_valid(bits, width + mine)) {
        double sum = 0.0;

#pragma unroll 8
        for (unsigned e = 0; e < kExponents - 1; e++)
            sum += s.octave[mine][e];
        s.error[width + mine] = sum;
    }
    sync_block();
}

/* As gcb_range_best_mantissa. Called by all threads of the block, after a barrier. */
__device__ inline unsigned best_mantissa(range_room &s, float max, unsigned bits,
                                         enum gcb_range_rounding rounding)
{
    unsigned best = bits - 1;

    for (unsigned width = 0; width < bits; width += kAtOnce)
        expected_errors(s, width, max, bits, rounding);
    for (unsigned m = bits - 1; m-- > 0 && gcb_range_valid(bits, m);)
        if (s.error[m] <= s.error[best])
            best = m;
    return best;
}

} /* namespace gcb */

#endif
