#ifndef KERNELS_FFT_BLOCK_DCT_CUH
#define KERNELS_FFT_BLOCK_DCT_CUH

/*
 * DCTs in shared memory. A chunk of length 2 m needs a complex FFT of m numbers (block_fft.cuh). A
 * block handles kDctElements elements. If m is kBlockPoints, these are one chunk; this case
 * (`Whole`) has separate code, which gives the same bits. The forward transform is in this header,
 * because two kernels use it.
 */
#include <math.h>

#include "kernels/fft/block_fft.cuh"
#include "kernels/fft/dct_cuda.h"
#include "kernels/memory/feedback.cuh"

namespace gcb
{

constexpr unsigned kDctElements = kBlockElements;
static_assert(kDctElements == GCB_CUDA_DCT_BLOCK_MOST, "one block must handle the longest chunk");

/* The three arrays of a table (kernels/fft/dct_cuda.h). */
struct dct_twiddles {
    const complex *fft, *split, *rotation;
    unsigned m;

    __device__ dct_twiddles(const gcb_cuda_dct &d, unsigned half)
        : fft(static_cast<const complex *>(d.table)), split(fft + half), rotation(split + half),
          m(half)
    {
    }
};

struct dct_room {
    block_fft_room fft; /* the same bytes hold the coefficients: results, or an inverse's input */
};

__device__ __forceinline__ float *coefficients(dct_room &room)
{
    return &room.fft.z[0].re;
}

/*
 * Where the elements 4 i to 4 i + 3 of the block go. They make two complex numbers of the FFT's
 * input: number q of a chunk and number m - 1 - q. (The input, as reals, is the chunk's even
 * elements in order, then its odd elements in reverse.)
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

/* ---- elements to numbers ---- */

/* Loads the block's elements as the complex numbers of the FFT's input. Adds error feedback.
 * Elements from in.n on are 0. Called by every thread of the block; ends with a barrier. */
__device__ __forceinline__ void load_folded(dct_room &room, const gcb_device_input &in,
                                            uint64_t start, unsigned m)
{
#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const unsigned four = threadIdx.x + i * kBlockThreads;
        const dct_quad q(four, m);
        float v[4];

        load_input(v, in, start + 4 * four);
        at(room.fft, q.first) = {v[0], v[2]};
        at(room.fft, q.second) = {v[3], v[1]};
    }
    sync_block();
}

/* The first-round butterfly j of this thread. It is chosen so that butterfly 255 - j belongs to the
 * same warp: to lane 31 - lane(). */
__device__ __forceinline__ unsigned mirrored_butterfly()
{
    const unsigned half = kWarp / 2, pairs = threadIdx.x / kWarp * half;

    return lane() < half ? pairs + lane() : kBlockThreads - kWarp - pairs + lane();
}

/* Loads the numbers of butterfly j. Adds error feedback. A thread reads four elements at a time.
 * Two of them belong to its own butterfly, and two to the mirrored butterfly of lane 31 - lane().
 * Called by every thread of the warp. */
__device__ __forceinline__ void load_first(complex *v, const gcb_device_input &in, uint64_t start,
                                           unsigned j)
{
#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        float x[4];

        load_input_inside(x, in, start + 4 * (j + i * kBlockThreads));
        v[i] = {x[0], x[2]};
        v[kBlockEach - 1 - i] = {shfl_xor(x[3], kWarp - 1), shfl_xor(x[1], kWarp - 1)};
    }
}

/* ---- numbers to coefficients ---- */

/* Where the coefficients from numbers k and m - k of the complex transform go: up[0] and up[m] are
 * coefficients k and k + m, down[0] and down[m] are m - k and 2 m - k. Numbers 0 and m / 2 have no
 * partner, so one thread handles both as a pair; then `down` belongs to m / 2. */
struct coefficient_places {
    float *up, *down;

    /* The places for the pair whose lower number is greater by k. */
    __device__ coefficient_places later(unsigned k) const
    {
        return {up + k, down - k};
    }
};

__device__ __forceinline__ coefficient_places places_of(float *to, unsigned k, unsigned m)
{
    return {to + k, to + (k ? m - k : m / 2)};
}

/* The coefficients from a pair of numbers, named like their places in coefficient_places. */
struct four_coefficients {
    float up, up_m, down, down_m;

    __device__ void store(const coefficient_places &to, unsigned m) const
    {
        to.up[0] = up;
        to.up[m] = up_m;
        to.down[0] = down;
        to.down[m] = down_m;
    }
};

/* The coefficients from numbers 0 and m / 2. */
__device__ __forceinline__ four_coefficients rotate_ends(complex zero, complex middle,
                                                         const dct_twiddles &t)
{
    four_coefficients y;

    y.up = 2.0f * (zero.re + zero.im) * sqrtf(0.5f);
    y.up_m = 2.0f * ((zero.re - zero.im) * t.rotation[t.m].re);
    rotate({2.0f * middle.re, -2.0f * middle.im}, t.rotation[t.m / 2], &y.down, &y.down_m);
    return y;
}

/* Twiddle factors for complex numbers k and m - k. `split` is the factor that turns the pair into
 * two bins of a real FFT. `near` rotates bin k, and `far` rotates bin m - k. */
struct number_twiddles {
    const complex *split, *near, *far;

    __device__ number_twiddles later(unsigned k) const
    {
        return {split + k, near + k, far - k};
    }
};

__device__ __forceinline__ number_twiddles twiddles_of(const dct_twiddles &t, unsigned k)
{
    return {t.split + k, t.rotation + k, t.rotation + (t.m - k)};
}

/* The coefficients from numbers k and m - k. */
__device__ __forceinline__ four_coefficients rotate_pair(complex k, complex m_k,
                                                         const number_twiddles &t)
{
    four_coefficients y;
    complex near, far;

    split_pair(k, m_k, 1.0f, *t.split, &near, &far);
    rotate(near, *t.near, &y.up, &y.down_m);
    rotate(far, *t.far, &y.down, &y.up_m);
    return y;
}

/* The last step of the DCT: replaces the results of the complex FFT in `room` (shared memory) by
 * coefficients. Called by every thread of the block. */
__device__ __forceinline__ void numbers_to_coefficients(dct_room &room, const dct_twiddles &t)
{
    four_coefficients y[kBlockFours];

#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const unsigned u = threadIdx.x + i * kBlockThreads, k = u & (t.m / 2 - 1);
        const unsigned base = (u - k) * 2;
        const complex z = at(room.fft, base + k);

        y[i] = k ? rotate_pair(z, at(room.fft, base + t.m - k), twiddles_of(t, k))
                 : rotate_ends(z, at(room.fft, base + t.m / 2), t);
    }
    sync_block();
#pragma unroll
    for (unsigned i = 0; i < kBlockFours; i++) {
        const unsigned u = threadIdx.x + i * kBlockThreads, k = u & (t.m / 2 - 1);

        y[i].store(places_of(coefficients(room) + (u - k) * 4, k, t.m), t.m);
    }
    sync_block();
}

/* Does the FFT's last round and the work of numbers_to_coefficients, with the numbers in registers
 * between the two. Only for a transform that fills the block. Called by every thread of the block,
 * after a barrier; ends with a barrier. */
__device__ __forceinline__ void last_round_to_coefficients(dct_room &room, const dct_twiddles &t)
{
    constexpr unsigned kPart = kLastPart;
    const unsigned near = threadIdx.x, far = mirrored_last();
    const number_twiddles near_twiddles = twiddles_of(t, near), far_twiddles = twiddles_of(t, far);
    float *const to = coefficients(room);
    const coefficient_places near_to = {to + near, to + (t.m - near)};
    const coefficient_places far_to = {to + far, to + (t.m - far)};
    last_pair v;
    four_coefficients y[4];

    read_last_pair(&v, room.fft, t.fft, near, far);
    pair_up(&v);
    y[0] = near ? rotate_pair(v.near[0], v.far[3], near_twiddles)
                : rotate_ends(v.near[0], v.far[3], t);
    y[1] = rotate_pair(v.near[1], v.far[2], near_twiddles.later(kPart));
    y[2] = rotate_pair(v.far[1], v.near[2], far_twiddles.later(kPart));
    y[3] = rotate_pair(v.far[0], v.near[3], far_twiddles);
    sync_block();
    y[0].store(places_of(to, near, t.m), t.m);
    y[1].store(near_to.later(kPart), t.m);
    y[2].store(far_to.later(kPart), t.m);
    y[3].store(far_to, t.m);
    sync_block();
}

/* Transforms the block's chunks from elements to coefficients, in `room` (shared memory). Adds
 * error feedback. Called by every thread of the block; ends with a barrier. */
template <bool Whole>
__device__ __forceinline__ void transform_block(dct_room &room, const gcb_device_input &in,
                                                const gcb_cuda_dct &d)
{
    const dct_twiddles t(d, half_of<Whole>(d.length));
    const uint64_t start = uint64_t{blockIdx.x} * kDctElements;

    if (Whole) {
        const unsigned j = mirrored_butterfly();
        complex v[kBlockEach];

        load_first(v, in, start, j);
        write_first(room.fft, v, j);
        middle_rounds(room.fft, t.fft);
        last_round_to_coefficients(room, t);
    } else {
        load_folded(room, in, start, t.m);
        block_fft(room.fft, t.fft, t.m);
        numbers_to_coefficients(room, t);
    }
}

} /* namespace gcb */

#endif
