#ifndef KERNELS_FFT_SHORT_REAL_CUH
#define KERNELS_FFT_SHORT_REAL_CUH

/*
 * What stands between real FFTs of length 2 m and the complex ones of m numbers that do them (short_fft.cuh): bins k and
 * m - k come of numbers k and m - k. `split` is exp(-2 pi i k / 2 m).
 */
#include <math.h>
#include <stdint.h>

#include "kernels/fft/short_fft.cuh"

namespace gcb
{

constexpr unsigned kShortElements = 2 * kShortPoints; /* a block's: whole chunks, one at least */
constexpr unsigned kShortFours = kShortElements / 4 / kShortThreads;

struct complex_pair {
    complex k, m_k; /* of number k, of number m - k */
};

__device__ __forceinline__ complex_pair split_pair(complex k, complex m_k, complex split)
{
    const complex far = conj(m_k), sum = add(k, far), other = turn_right(sub(k, far));
    const complex even = {0.5f * sum.re, 0.5f * sum.im};
    const complex odd = mul(split, {0.5f * other.re, 0.5f * other.im});

    return {add(even, odd), conj(sub(even, odd))};
}

/* The inverse, times two, real and imaginary parts having changed places, which makes of a transform its inverse. */
__device__ __forceinline__ complex_pair join_pair(complex k, complex m_k, complex split)
{
    const complex w = conj(m_k), g = add(k, w), q = mul(conj(split), sub(k, w));

    return {{g.im + q.re, g.re - q.im}, {q.re - g.im, g.re + q.im}};
}

/* Tables, on the host: exp(i angle k). */
inline void fill_turns(complex *to, uint64_t count, double angle)
{
    for (uint64_t k = 0; k < count; k++)
        to[k] = {static_cast<float>(cos(angle * static_cast<double>(k))),
                 static_cast<float>(sin(angle * static_cast<double>(k)))};
}

} /* namespace gcb */

#endif
