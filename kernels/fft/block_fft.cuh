#ifndef KERNELS_FFT_BLOCK_FFT_CUH
#define KERNELS_FFT_BLOCK_FFT_CUH

/*
 * Complex FFTs in shared memory. A block of 256 threads transforms 2048 numbers: several transforms
 * of `m` numbers each; m is a power of two and at least 4. In Stockham's order each round (a stage
 * of the FFT) leaves its results sorted, so no bit reversal is needed. Rounds have radix 8; if m is
 * not a power of 8, one last round has radix 4 or 2. In a round a thread holds 8 numbers.
 */
#include "kernels/cuda/grid.cuh"
#include "kernels/fft/number.cuh"

namespace gcb
{

constexpr unsigned kBlockThreads = 256;
constexpr unsigned kBlockEach = 8;
constexpr unsigned kBlockPoints = kBlockThreads * kBlockEach;

/* The place of number i in shared memory: one number of padding follows every 16 numbers. So half a
 * warp accesses different banks, both when it writes every eighth number and when it reads 16
 * numbers in a row. */
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

/*
 * Reads butterfly number i of the block, and computes it. A round of radix R has m / R butterflies
 * per transform; p is the product of the radices of the rounds before. `twiddles` has exp(-2 pi
 * sqrt(-1) k r / (R p)) at (r - 1) p + k, for k < p and 0 < r < R. If Whole, one transform fills
 * the block, so offsets are constants.
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
    dft(v, R);
}

/* Writes the results of butterfly i. */
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

/* Does one round for all numbers of the block. Called by every thread of the block; ends with a
 * barrier. */
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

/* Does all rounds in shared memory. A barrier must lie between the writes to `room` and the call;
 * the function ends with a barrier. `twiddles` has the twiddle factors of each round except the
 * first, m minus the first radix in all (fill_rounds). Called by every thread of the block. */
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
 * The rounds of one transform of all 2048 numbers: three of radix 8 (write_first, middle_rounds),
 * then one of radix 4 (read_last). The last round leaves its results in registers: a thread
 * computes two butterflies, which the caller chooses. The functions are called by every thread of
 * the block; write_first and middle_rounds end with a barrier.
 */
constexpr unsigned kLastPart = kBlockPoints / 4; /* distance between a last butterfly's results */

__device__ __forceinline__ void write_first(block_fft_room &room, complex *v, unsigned j)
{
    dft(v, 8);
    write_butterfly<8, true>(room, v, kBlockPoints, 1, j);
    sync_block();
}

/* Rounds 2 and 3. Round 2 takes 7 * 8 twiddle factors, round 3 takes 7 * 64. */
__device__ __forceinline__ void middle_rounds(block_fft_room &room,
                                              const complex *__restrict__ twiddles)
{
    fft_round<8, true>(room, twiddles, kBlockPoints, 8);
    fft_round<8, true>(room, twiddles + 7 * 8, kBlockPoints, 8 * 8);
}

__device__ __forceinline__ void read_last(complex *v, block_fft_room &room,
                                          const complex *__restrict__ twiddles, unsigned i)
{
    read_butterfly<4, true>(v, room, twiddles + 7 * 8 + 7 * 64, kBlockPoints, kLastPart, i);
}

/*
 * ---- real FFTs ----
 *
 * A real FFT of length 2 m is computed by a complex FFT of m numbers: bins k and m - k come from
 * numbers k and m - k.
 */

/* The number of elements of a thread block, which handles whole chunks. */
constexpr unsigned kBlockElements = 2 * kBlockPoints;
/* The number of groups of four elements that a thread handles. */
constexpr unsigned kBlockFours = kBlockElements / 4 / kBlockThreads;

/* Half of a chunk's length, m, which is a constant if a block has one chunk. */
template <bool Whole> __device__ __forceinline__ unsigned half_of(uint64_t length)
{
    return Whole ? kBlockPoints : static_cast<unsigned>(length / 2);
}

/* The two last butterflies of a thread, if one transform fills the block. Element r of butterfly i
 * is number i + kLastPart * r. */
struct last_pair {
    complex near[4], far[4];
};

__device__ __forceinline__ void read_last_pair(last_pair *v, block_fft_room &room,
                                               const complex *twiddles, unsigned near, unsigned far)
{
    read_last(v->near, room, twiddles, near);
    read_last(v->far, room, twiddles, far);
}

/* The butterfly that has number m - k for each number k of butterfly threadIdx.x. Butterflies 0 and
 * kLastPart / 2 mirror themselves, so thread 0 has both. */
__device__ __forceinline__ unsigned mirrored_last()
{
    return threadIdx.x ? kLastPart - threadIdx.x : kLastPart / 2;
}

/* Orders the results so that near[r] and far[3 - r] are a pair of numbers k and m - k, and so are
 * far[r] and near[3 - r], for r < 2. This is already true except in thread 0, where near[0] is
 * number 0; its partner becomes number m / 2. */
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

/* Fills a table on the host with exp(2 pi i a k / b), k < count. */
inline void fill_twiddles(complex *to, uint64_t count, uint64_t a, uint64_t b)
{
    for (uint64_t k = 0; k < count; k++)
        gcb_fft_unit(&to[k].re, a * k, b);
}

/* Fills the twiddle factors that block_fft takes; fewer than m. */
inline void fill_rounds(complex *to, uint64_t m)
{
    uint64_t p = m < 8 ? m : 8;

    while (p < m) {
        const uint64_t radix = m / p < 8 ? m / p : 8, whole = radix * p;

        for (uint64_t r = 1; r < radix; r++, to += p)
            fill_twiddles(to, p, whole - r, whole);
        p = whole;
    }
}

} /* namespace gcb */

#endif
