#ifndef KERNELS_FFT_NUMBER_CUH
#define KERNELS_FFT_NUMBER_CUH

/* The arithmetic of our own FFT for a thread of a device: number_elem.h for single complex
 * numbers. */
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
