#ifndef KERNELS_FFT_NUMBER_CUH
#define KERNELS_FFT_NUMBER_CUH

/* number_elem.h for CUDA: a number is a pair of floats, and `complex` is its name in kernels. */
#include "kernels/fft/steps.h"

#define FORCE __device__ __forceinline__

namespace gcb
{
namespace fft
{

using lane = float;

struct alignas(8) number {
    float re, im;
};

#include "kernels/fft/number_elem.h"

} /* namespace fft */

using complex = fft::number;

} /* namespace gcb */

#endif
