#ifndef KERNELS_FFT_SHORT_REAL_CUH
#define KERNELS_FFT_SHORT_REAL_CUH

/*
 * The step between a real FFT of length 2 m and the complex FFT of m numbers that computes it
 * (short_fft.cuh): bins k and m - k come from numbers k and m - k. `split` is exp(-2 pi i k / 2 m).
 */
#include <math.h>
#include <stdint.h>

#include "kernels/fft/short_fft.cuh"

namespace gcb
{

constexpr unsigned kShortElements = 2 * kShortPoints; /* of a block: whole chunks */
constexpr unsigned kShortFours = kShortElements / 4 / kShortThreads;

struct complex_pair {
    complex k, m_k; /* from number k, and from number m - k */
};

__device__ __forceinline__ complex_pair split_pair(complex k, complex m_k, complex split)
{
    const complex far = conj(m_k), sum = add(k, far), other = turn_right(sub(k, far));
    const complex even = {0.5f * sum.re, 0.5f * sum.im};
    const complex odd = mul(split, {0.5f * other.re, 0.5f * other.im});

    return {add(even, odd), conj(sub(even, odd))};
}

/* Both bins times two. */
__device__ __forceinline__ complex_pair split_twice(complex k, complex m_k, complex split)
{
    const complex far = conj(m_k), even = add(k, far), odd = mul(split, turn_right(sub(k, far)));

    return {add(even, odd), conj(sub(even, odd))};
}

/* The inverse, times two, with real and imaginary parts swapped. Swapping the parts before and
 * after a forward transform makes it an inverse one. */
__device__ __forceinline__ complex_pair join_pair(complex k, complex m_k, complex split)
{
    const complex w = conj(m_k), g = add(k, w), q = mul(conj(split), sub(k, w));

    return {{g.im + q.re, g.re - q.im}, {q.re - g.im, g.re + q.im}};
}

/* If one transform fills the block, a thread has two butterflies of the last round: `near` and
 * `far`. Element r of each is number i + 512 r. */
struct last_pair {
    complex near[4], far[4];
};

__device__ __forceinline__ void read_last_pair(last_pair *v, short_room &room, const complex *turns,
                                               unsigned near, unsigned far)
{
    read_last(v->near, room, turns, near);
    read_last(v->far, room, turns, far);
}

/* The butterfly that has the numbers m - k for the numbers k of butterfly t. Butterflies 0 and 256
 * mirror themselves; thread 0 has both. */
__device__ __forceinline__ unsigned mirrored_last()
{
    return threadIdx.x ? kLastPart - threadIdx.x : kLastPart / 2;
}

/* Afterwards, for k = near[r], far[3 - r] is number m - k, and for k = far[r] near[3 - r] is (r <
 * 2). That is already so except in thread 0. There the partner of k = 0 is m / 2. */
__device__ __forceinline__ void pair_up(last_pair *v)
{
    if (threadIdx.x == 0) {
        const complex middle = v->near[2], next = v->near[3];

        v->near[2] = v->far[2];
        v->near[3] = v->far[3];
        v->far[2] = next;
        v->far[3] = middle;
    }
}

/* The inverse of pair_up. */
__device__ __forceinline__ void pair_down(last_pair *v)
{
    if (threadIdx.x == 0) {
        const complex middle = v->far[3], next = v->far[2];

        v->far[2] = v->near[2];
        v->far[3] = v->near[3];
        v->near[2] = middle;
        v->near[3] = next;
    }
}

/* Fills a table on the host: exp(i angle k step) for k < count. */
inline void fill_turns(complex *to, uint64_t count, double angle, uint64_t step = 1)
{
    for (uint64_t k = 0; k < count; k++)
        to[k] = {static_cast<float>(cos(angle * static_cast<double>(k * step))),
                 static_cast<float>(sin(angle * static_cast<double>(k * step)))};
}

/* Fills the factors that short_fft takes, at most m. */
inline void fill_rounds(complex *to, uint64_t m)
{
    const double angle = -2.0 * acos(-1.0) / static_cast<double>(m);
    uint64_t p = m < 8 ? m : 8;

    while (p < m) {
        const uint64_t radix = m / p < 8 ? m / p : 8;

        for (uint64_t r = 1; r < radix; r++, to += p)
            fill_turns(to, p, angle, r * (m / (radix * p)));
        p *= radix;
    }
}

} /* namespace gcb */

#endif
