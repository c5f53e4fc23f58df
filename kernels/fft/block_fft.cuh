#ifndef KERNELS_FFT_BLOCK_FFT_CUH
#define KERNELS_FFT_BLOCK_FFT_CUH

/*
 * Complex FFTs in shared memory. A block of 256 threads transforms 2048 numbers: several transforms
 * of `m` numbers each, m a power of two from 4 on. In Stockham's order each round (a stage of the
 * FFT) leaves its results sorted, so no bit reversal is needed. Rounds have radix 8 as long as that
 * fits, then a last round may have radix 4 or 2. In a round a thread holds 8 numbers.
 */
#include <math.h>
#include <stdint.h>

#include "kernels/cuda/grid.cuh"

namespace gcb
{

constexpr unsigned kBlockThreads = 256;
constexpr unsigned kBlockEach = 8;
constexpr unsigned kBlockPoints = kBlockThreads * kBlockEach;

struct alignas(8) complex {
    float re, im;
};

__device__ __forceinline__ complex add(complex a, complex b)
{
    return {a.re + b.re, a.im + b.im};
}

__device__ __forceinline__ complex sub(complex a, complex b)
{
    return {a.re - b.re, a.im - b.im};
}

__device__ __forceinline__ complex mul(complex a, complex b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ __forceinline__ complex conj(complex a)
{
    return {a.re, -a.im};
}

/* a times -i. */
__device__ __forceinline__ complex times_minus_i(complex a)
{
    return {a.im, -a.re};
}

/* One number of padding after every 16. So half a warp accesses different banks both when it writes
 * every eighth number and when it reads 16 in a row. */
__host__ __device__ constexpr unsigned padded(unsigned i)
{
    return i + i / 16;
}

struct block_fft_room {
    complex z[padded(kBlockPoints)];
};

__device__ __forceinline__ complex &at(block_fft_room &room, unsigned i)
{
    return room.z[padded(i)];
}

__device__ __forceinline__ void dft4(complex &a, complex &b, complex &c, complex &d)
{
    const complex s = add(a, c), t = sub(a, c), u = add(b, d), v = times_minus_i(sub(b, d));

    a = add(s, u);
    b = add(t, v);
    c = sub(s, u);
    d = sub(t, v);
}

/* Transforms v[0..R) in place; the results are in order. */
template <unsigned R> __device__ __forceinline__ void dft(complex *v)
{
    if (R == 2) {
        const complex a = v[0], b = v[1];

        v[0] = add(a, b);
        v[1] = sub(a, b);
    } else if (R == 4) {
        dft4(v[0], v[1], v[2], v[3]);
    } else {
        const float h = 0.70710678118654752f;
        complex e[4] = {v[0], v[2], v[4], v[6]}, o[4] = {v[1], v[3], v[5], v[7]};

        dft4(e[0], e[1], e[2], e[3]);
        dft4(o[0], o[1], o[2], o[3]);
        o[1] = {h * (o[1].re + o[1].im), h * (o[1].im - o[1].re)};
        o[2] = times_minus_i(o[2]);
        o[3] = {h * (o[3].im - o[3].re), -h * (o[3].re + o[3].im)};
#pragma unroll
        for (unsigned k = 0; k < 4; k++) {
            v[k] = add(e[k], o[k]);
            v[k + 4] = sub(e[k], o[k]);
        }
    }
}

/*
 * A round of radix R has m / R butterflies per transform; p is the product of the radices before
 * it, and i is the number of a butterfly in the block. `twiddles` has exp(-2 pi i k r / (R p)) at
 * (r - 1) p + k, for k < p and 0 < r < R. If Whole, one transform fills the block, so offsets are
 * constants.
 */
template <unsigned R, bool Whole>
__device__ __forceinline__ void read_butterfly(complex *v, block_fft_room &room,
                                               const complex *__restrict__ twiddles, unsigned m,
                                               unsigned p, unsigned i)
{
    const unsigned part = m / R, j = Whole ? i : i & (part - 1);
    const unsigned from = Whole ? i : (i - j) * R + j;
    const complex *const turn = twiddles + (Whole && p == part ? i : j & (p - 1));
    const complex *const z = &at(room, from);

#pragma unroll
    for (unsigned r = 0; r < R; r++) {
        const complex number = Whole ? z[padded(r * part)] : at(room, from + r * part);

        v[r] = r && p > 1 ? mul(number, turn[(r - 1) * p]) : number;
    }
    dft<R>(v);
}

template <unsigned R, bool Whole>
__device__ __forceinline__ void write_butterfly(block_fft_room &room, const complex *v, unsigned m,
                                                unsigned p, unsigned i)
{
    const unsigned j = Whole ? i : i & (m / R - 1), k = j & (p - 1);
    const unsigned to = (i - j) * R + (j - k) * R + k;
    complex *const z = &at(room, to);

#pragma unroll
    for (unsigned r = 0; r < R; r++)
        if (Whole)
            z[padded(r * p)] = v[r];
        else
            at(room, to + r * p) = v[r];
}

template <unsigned R, bool Whole>
__device__ __forceinline__ void
fft_round(block_fft_room &room, const complex *__restrict__ twiddles, unsigned m, unsigned p)
{
    complex v[kBlockEach];

#pragma unroll
    for (unsigned b = 0; b < kBlockEach / R; b++)
        read_butterfly<R, Whole>(v + b * R, room, twiddles, m, p, threadIdx.x + b * kBlockThreads);
    sync_block();
#pragma unroll
    for (unsigned b = 0; b < kBlockEach / R; b++)
        write_butterfly<R, Whole>(room, v + b * R, m, p, threadIdx.x + b * kBlockThreads);
    sync_block();
}

/* Does all rounds in shared memory. The numbers must be in `room` before a barrier; a barrier
 * follows the results. `twiddles` has the twiddle factors of each round except the first, m minus
 * the first radix in all (fill_rounds). Called by every thread of the block. */
__device__ __forceinline__ void block_fft(block_fft_room &room,
                                          const complex *__restrict__ twiddles, unsigned m)
{
    unsigned p = 1;

#pragma unroll 1
    for (; p * 8 <= m; p *= 8) {
        fft_round<8, false>(room, twiddles, m, p);
        twiddles += p > 1 ? 7 * p : 0;
    }
    if (p * 4 == m)
        fft_round<4, false>(room, twiddles, m, p);
    else if (p * 2 == m)
        fft_round<2, false>(room, twiddles, m, p);
}

/*
 * One transform of all 2048 numbers, whose offsets are constants: three rounds of radix 8, then one
 * of radix 4. The last round's butterflies end in registers: a thread computes its own and a second
 * one that the caller chooses.
 */
constexpr unsigned kLastPart = kBlockPoints / 4; /* distance of a butterfly's results */

__device__ __forceinline__ void write_first(block_fft_room &room, complex *v, unsigned j)
{
    dft<8>(v);
    write_butterfly<8, true>(room, v, kBlockPoints, 1, j);
    sync_block();
}

__device__ __forceinline__ void middle_rounds(block_fft_room &room,
                                              const complex *__restrict__ twiddles)
{
    fft_round<8, true>(room, twiddles, kBlockPoints, 8);
    fft_round<8, true>(room, twiddles + 7 * 8, kBlockPoints, 64);
}

__device__ __forceinline__ void read_last(complex *v, block_fft_room &room,
                                          const complex *__restrict__ twiddles, unsigned i)
{
    read_butterfly<4, true>(v, room, twiddles + 7 * 8 + 7 * 64, kBlockPoints, kLastPart, i);
}

/*
 * ---- real FFTs ---- A real FFT of length 2 m is computed by a complex FFT of m numbers: bins k
 * and m - k come from numbers k and m - k. `split` is exp(-2 pi i k / 2 m).
 */

constexpr unsigned kBlockElements = 2 * kBlockPoints; /* elements of a thread block: whole chunks */
constexpr unsigned kBlockFours = kBlockElements / 4 / kBlockThreads;

/* Half of a chunk's length, m, which is a constant if a block has one chunk. */
template <bool Whole> __device__ __forceinline__ unsigned half_of(uint64_t length)
{
    return Whole ? kBlockPoints : static_cast<unsigned>(length / 2);
}

struct complex_pair {
    complex k, m_k; /* made from number k, and from number m - k */
};

__device__ __forceinline__ complex_pair split_pair(complex k, complex m_k, complex split)
{
    const complex far = conj(m_k), sum = add(k, far), other = times_minus_i(sub(k, far));
    const complex even = {0.5f * sum.re, 0.5f * sum.im};
    const complex odd = mul(split, {0.5f * other.re, 0.5f * other.im});

    return {add(even, odd), conj(sub(even, odd))};
}

/* Computes both bins, multiplied by two. */
__device__ __forceinline__ complex_pair split_twice(complex k, complex m_k, complex split)
{
    const complex far = conj(m_k), even = add(k, far), odd = mul(split, times_minus_i(sub(k, far)));

    return {add(even, odd), conj(sub(even, odd))};
}

/* Computes both numbers from both bins, multiplied by two, with real and imaginary parts swapped.
 * Swapping the parts before and after a forward transform makes it an inverse one. */
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

__device__ __forceinline__ void read_last_pair(last_pair *v, block_fft_room &room,
                                               const complex *twiddles, unsigned near, unsigned far)
{
    read_last(v->near, room, twiddles, near);
    read_last(v->far, room, twiddles, far);
}

/* The butterfly that has the numbers m - k for the numbers k of butterfly t. Butterflies 0 and 256
 * mirror themselves; thread 0 has both. */
__device__ __forceinline__ unsigned mirrored_last()
{
    return threadIdx.x ? kLastPart - threadIdx.x : kLastPart / 2;
}

/* Afterwards (r < 2), if near[r] is number k, far[3 - r] is number m - k; and if far[r] is number
 * k, near[3 - r] is number m - k. That is already so except in thread 0. There the partner of k = 0
 * is m / 2. */
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

/* Undoes pair_up. */
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
inline void fill_twiddles(complex *to, uint64_t count, double angle, uint64_t step = 1)
{
    for (uint64_t k = 0; k < count; k++)
        to[k] = {static_cast<float>(cos(angle * static_cast<double>(k * step))),
                 static_cast<float>(sin(angle * static_cast<double>(k * step)))};
}

/* Fills the factors that block_fft takes, at most m. */
inline void fill_rounds(complex *to, uint64_t m)
{
    const double angle = -2.0 * acos(-1.0) / static_cast<double>(m);
    uint64_t p = m < 8 ? m : 8;

    while (p < m) {
        const uint64_t radix = m / p < 8 ? m / p : 8;

        for (uint64_t r = 1; r < radix; r++, to += p)
            fill_twiddles(to, p, angle, r * (m / (radix * p)));
        p *= radix;
    }
}

} /* namespace gcb */

#endif
