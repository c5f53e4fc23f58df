#ifndef KERNELS_FFT_BLOCK_RFFT_CUH
#define KERNELS_FFT_BLOCK_RFFT_CUH

/*
 * Transforms a block's chunks from elements to bins in shared memory. A chunk of length 2 m has m +
 * 1 bins. They take m places, because the first and the last bin are real and share place 0.
 */
#include "kernels/base/hd.h"
#include "kernels/fft/block_fft.cuh"
#include "kernels/fft/fft_cuda.h"
#include "kernels/memory/feedback.cuh"

namespace gcb
{

/* The two arrays of a table (kernels/fft/fft_cuda.h). */
struct fft_twiddles {
    const complex *fft, *split;
    unsigned m;

    __device__ fft_twiddles(const gcb_cuda_block_fft &f, unsigned half)
        : fft(static_cast<const complex *>(f.table)), split(fft + half), m(half)
    {
    }
};

/* The larger sign-cleared bit pattern of a bin's real and imaginary part. */
__device__ __forceinline__ uint32_t largest_part(complex z)
{
    return larger(gcb_magnitude(z.re), gcb_magnitude(z.im));
}

/* ---- elements to numbers ---- */

/* Loads the block's elements, which begin at `start`, as complex numbers. Adds error feedback.
 * Elements from in.n on are 0. Called by every thread of the block; ends with a barrier. */
__device__ __forceinline__ void load_numbers(block_fft_room &room, const gcb_device_input &in,
                                             uint64_t start)
{
#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const unsigned four = threadIdx.x + i * kBlockThreads;
        float v[4];

        load_input(v, in, start + 4 * four);
        at(room, 2 * four) = {v[0], v[1]};
        at(room, 2 * four + 1) = {v[2], v[3]};
    }
    sync_block();
}

/* Loads elements `first` and `first` + 1. Adds the residual if this has not been done before. */
__device__ __forceinline__ complex load_number(const gcb_device_input &in, uint64_t first)
{
    float2 v = *reinterpret_cast<const float2 *>(in.x + first);

    if (needs_feedback(in)) {
        const float2 r = *reinterpret_cast<const float2 *>(in.residual + first);

        v = make_float2(gcb_memory_carried(in.carry, r.x, v.x),
                        gcb_memory_carried(in.carry, r.y, v.y));
        *reinterpret_cast<float2 *>(in.x + first) = v;
    }
    return {v.x, v.y};
}

/* ---- numbers to bins ---- */

/* Replaces numbers k and m - k by bins k and m - k; for k = 0 the pair is 0 and m / 2. Returns the
 * largest part of both bins (largest_part). */
__device__ __forceinline__ uint32_t split_in_place(complex &near, complex &far,
                                                   const fft_twiddles &t, unsigned k)
{
    if (k == 0) {
        near = {near.re + near.im, near.re - near.im};
        far.im = -far.im;
    } else {
        split_pair(near, far, 0.5f, t.split[k], &near, &far);
    }
    return larger(largest_part(near), largest_part(far));
}

/* Replaces the block's numbers by bins. Called by every thread of the block; ends with a barrier.
 * Returns the largest part among the bins of this thread. */
__device__ __forceinline__ uint32_t split_numbers(block_fft_room &room, const fft_twiddles &t)
{
    uint32_t top = 0;

#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const unsigned u = threadIdx.x + i * kBlockThreads, k = u & (t.m / 2 - 1);
        const unsigned base = (u - k) * 2;
        top = larger(top, split_in_place(at(room, base + k),
                                         at(room, base + (k ? t.m - k : t.m / 2)), t, k));
    }
    sync_block();
    return top;
}

/* Does the FFT's last round and the work of split_numbers, with the numbers in registers between
 * the two. Only for a transform that fills the block. Called by every thread of the block, after a
 * barrier; ends with a barrier. Returns the largest part among the bins of this thread. */
__device__ __forceinline__ uint32_t last_round_to_bins(block_fft_room &room, const fft_twiddles &t)
{
    const unsigned near = threadIdx.x, far = mirrored_last();
    last_pair v;
    uint32_t top;

    read_last_pair(&v, room, t.fft, near, far);
    pair_up(&v);
    top = split_in_place(v.near[0], v.far[3], t, near);
    top = larger(top, split_in_place(v.near[1], v.far[2], t, near + kLastPart));
    top = larger(top, split_in_place(v.far[1], v.near[2], t, far + kLastPart));
    top = larger(top, split_in_place(v.far[0], v.near[3], t, far));
    pair_down(&v);
#pragma unroll
    for (unsigned r = 0; r < 4; r++) {
        at(room, near + r * kLastPart) = v.near[r];
        at(room, far + r * kLastPart) = v.far[r];
    }
    sync_block();
    return top;
}

/* Transforms the block's chunks, which begin at element `start`, to bins in `room`. Adds error
 * feedback. Called by every thread of the block; ends with a barrier. Returns the largest part
 * among the bins of this thread. `Whole`: one chunk fills the block, and in.n is a multiple of its
 * length, so no element is missing. */
template <bool Whole>
__device__ __forceinline__ uint32_t transform_to_bins(block_fft_room &room, const fft_twiddles &t,
                                                      const gcb_device_input &in, uint64_t start)
{
    if (Whole) {
        complex v[kBlockEach];

#pragma unroll
        for (unsigned r = 0; r < kBlockEach; r++)
            v[r] = load_number(in, start + 2 * (threadIdx.x + r * kBlockThreads));
        write_first(room, v, threadIdx.x);
        middle_rounds(room, t.fft);
        return last_round_to_bins(room, t);
    }
    load_numbers(room, in, start);
    block_fft(room, t.fft, t.m);
    return split_numbers(room, t);
}

} /* namespace gcb */

#endif
