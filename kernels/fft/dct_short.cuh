#ifndef KERNELS_FFT_DCT_SHORT_CUH
#define KERNELS_FFT_DCT_SHORT_CUH

/*
 * What the kernels of DCTs in shared memory share, forward and back: chunks of length 2 m, by complex FFTs of m numbers. A
 * block's work is kElements, one chunk where m is kShortPoints; the bits are the same whichever way that is done.
 */
#include "kernels/fft/dct_cuda.h"
#include "kernels/fft/short_real.cuh"

namespace gcb
{

constexpr unsigned kDctElements = kShortElements;
static_assert(kDctElements == GCB_CUDA_DCT_SHORT_MOST, "one block's work");

/* The three runs of a table. */
struct dct_turns {
    const complex *fft, *split, *turn;
    unsigned m;

    __device__ dct_turns(const struct gcb_cuda_dct &d, unsigned half)
        : fft(static_cast<const complex *>(d.table)), split(fft + half), turn(split + half), m(half)
    {
    }
};

/* m: constant where a block has one chunk. */
template <bool Whole> __device__ __forceinline__ unsigned dct_half(const struct gcb_cuda_dct &d)
{
    return Whole ? kShortPoints : static_cast<unsigned>(d.length / 2);
}

struct dct_room {
    short_room fft; /* coefficients too: the same bytes, at another time */
};

__device__ __forceinline__ float *coefficients(dct_room &room)
{
    return &room.fft.z[0].re;
}

/*
 * Four elements that stand together are two of the complex numbers, whose real ones are evens in order, then odds in
 * reverse: number q of a chunk and number m - 1 - q.
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
