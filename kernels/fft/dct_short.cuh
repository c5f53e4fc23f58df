#ifndef KERNELS_FFT_DCT_SHORT_CUH
#define KERNELS_FFT_DCT_SHORT_CUH

/*
 * Shared by the forward and inverse kernels of DCTs in shared memory. A chunk of length 2 m needs a
 * complex FFT of m numbers. A block handles kDctElements elements, which are one chunk if m is
 * kShortPoints. That case has code of its own, with the same bits as result.
 */
#include "kernels/fft/dct_cuda.h"
#include "kernels/fft/short_real.cuh"

namespace gcb
{

constexpr unsigned kDctElements = kShortElements;
static_assert(kDctElements == GCB_CUDA_DCT_SHORT_MOST, "one block's work");

/* The three arrays of a table. */
struct dct_turns {
    const complex *fft, *split, *turn;
    unsigned m;

    __device__ dct_turns(const struct gcb_cuda_dct &d, unsigned half)
        : fft(static_cast<const complex *>(d.table)), split(fft + half), turn(split + half), m(half)
    {
    }
};

/* m, which is a constant if a block has one chunk. */
template <bool Whole> __device__ __forceinline__ unsigned dct_half(const struct gcb_cuda_dct &d)
{
    return Whole ? kShortPoints : static_cast<unsigned>(d.length / 2);
}

struct dct_room {
    short_room fft; /* the same bytes hold coefficients at another time */
};

__device__ __forceinline__ float *coefficients(dct_room &room)
{
    return &room.fft.z[0].re;
}

/*
 * Four consecutive elements are two of the complex numbers: number q of a chunk and number m - 1 -
 * q. (Written as reals, the numbers are the even elements in order, then the odd ones in reverse.)
 */
struct dct_quad {
    unsigned first, second;

    __device__ dct_quad(unsigned i, unsigned m)
    {
        const unsigned q = i & (m / 2 - 1), base = (i - q) * 2;

        first = base + q;
        second = base + m - 1 - q;
    }
};

} /* namespace gcb */

#endif
