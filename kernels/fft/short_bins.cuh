#ifndef KERNELS_FFT_SHORT_BINS_CUH
#define KERNELS_FFT_SHORT_BINS_CUH

/*
 * A block's chunks from elements to bins, in shared memory. A chunk of length 2 m has m + 1 bins in m places: the first
 * and the last, which are real, share place 0.
 */
#include "kernels/fft/fft_cuda.h"
#include "kernels/fft/short_real.cuh"
#include "kernels/hd.h"

namespace gcb
{

/* The two runs of a table. */
struct fft_turns {
    const complex *fft, *split;
    unsigned m;

    __device__ explicit fft_turns(const struct gcb_cuda_short_fft &f)
        : fft(static_cast<const complex *>(f.table)), split(fft + f.length / 2),
          m(static_cast<unsigned>(f.length / 2))
    {
    }
};

/* Elements from `start` on to the numbers they are the parts of; 0 behind the last. */
__device__ __forceinline__ void load_numbers(short_room &room, const float *__restrict__ x,
                                             uint64_t start, uint64_t count)
{
#pragma unroll
    for (unsigned i = 0; i < kShortFours; i++) {
        const unsigned four = threadIdx.x + i * kShortThreads;
        float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

        if (start + 4 * four < count)
            v = *reinterpret_cast<const float4 *>(x + start + 4 * four);
        at(room, 2 * four) = {v.x, v.y};
        at(room, 2 * four + 1) = {v.z, v.w};
    }
}

/* Numbers k and m - k, of a chunk whose own begin at `base`, to the bins in their places. Of k = 0 the pair is 0 and
 * m / 2. */
__device__ __forceinline__ void split_in_place(short_room &room, const fft_turns &t, unsigned base,
                                               unsigned k)
{
    complex &near = at(room, base + k), &far = at(room, base + (k ? t.m - k : t.m / 2));

    if (k == 0) {
        near = {near.re + near.im, near.re - near.im};
        far = conj(far);
        return;
    }
    const complex_pair bins = split_pair(near, far, t.split[k]);

    near = bins.k;
    far = bins.m_k;
}

/* The chunks that begin at `start`. Every thread of the block; the bins are behind a barrier. */
__device__ __forceinline__ void to_bins(short_room &room, const fft_turns &t, const float *x,
                                        uint64_t start, uint64_t count)
{
    load_numbers(room, x, start, count);
    sync_block();
    short_fft(room, t.fft, t.m);
#pragma unroll
    for (unsigned i = 0; i < kShortFours; i++) {
        const unsigned u = threadIdx.x + i * kShortThreads, k = u & (t.m / 2 - 1);

        split_in_place(room, t, (u - k) * 2, k);
    }
    sync_block();
}

/* The larger pattern of a bin's parts. */
__device__ __forceinline__ uint32_t largest_part(complex z)
{
    const uint32_t re = gcb_magnitude(z.re), im = gcb_magnitude(z.im);

    return re > im ? re : im;
}

} /* namespace gcb */

#endif
