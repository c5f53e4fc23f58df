#include <math.h>

#include "kernels/cuda/grid.cuh"
#include "kernels/fft/fft_cuda.h"
#include "kernels/fft/number.cuh"
#include "kernels/memory/feedback.cuh"
#include "src/lib/base/status.h"

using namespace gcb;

/* Each block transforms one chunk at a time. Parameters that are indexed by round are
 * __grid_constant__, because otherwise each thread would copy them to local memory. */
namespace
{

constexpr unsigned kMostThreads = 256;

/* ---- rounds, as in kernels/fft/lanes_body.h ---- */

/* The number of the first element of first-round butterfly b. */
__device__ unsigned first_element(const gcb_fft_steps *steps, unsigned b)
{
    unsigned step = steps->m / steps->radix[0], first = 0;

    for (unsigned t = 1; t < steps->rounds; t++) {
        step /= steps->radix[t];
        first += b % steps->radix[t] * step;
        b /= steps->radix[t];
    }
    return first;
}

FORCE void first_round(const gcb_fft_steps *steps, const complex *from, complex *to, unsigned R)
{
    const unsigned apart = steps->m / R;

    for (unsigned b = threadIdx.x; b < apart; b += blockDim.x) {
        const unsigned first = first_element(steps, b);
        complex v[GCB_FFT_RADIX];

        for (unsigned r = 0; r < R; r++)
            v[r] = from[first + r * apart];
        dft(v, R);
        for (unsigned r = 0; r < R; r++)
            to[b * R + r] = v[r];
    }
    sync_block();
}

FORCE void next_round(complex *z, unsigned m, unsigned p, const float *twiddle, unsigned R)
{
    for (unsigned b = threadIdx.x; b < m / R; b += blockDim.x) {
        const unsigned k = b % p;
        complex *const first = z + (b - k) * R + k;
        complex v[GCB_FFT_RADIX];

        v[0] = first[0];
        for (unsigned r = 1; r < R; r++)
            v[r] = mul(first[r * p], {twiddle[2 * (r - 1) * p + k], twiddle[(2 * r - 1) * p + k]});
        dft(v, R);
        for (unsigned r = 0; r < R; r++)
            first[r * p] = v[r];
    }
    sync_block();
}

/* Does all rounds. A barrier must lie between the writes to `from` and the call. Ends with a
 * barrier. Called by every thread of the block. */
__device__ void transform(const gcb_fft_steps *steps, const complex *from, complex *to)
{
    GCB_FFT_TRANSFORM(steps, from, to);
}

/* ---- factors and places ---- */

__device__ complex split_of(const gcb_fft_steps &steps, unsigned k)
{
    return {steps.split_re[k], steps.split_im[k]};
}

__device__ complex turn_of(const gcb_fft_steps &steps, unsigned k)
{
    return {steps.cosine[k], steps.sine[k]};
}

/* The place of element e of a chunk among the floats of the numbers. */
template <bool Dct> __device__ size_t place_of(size_t e, unsigned m)
{
    return Dct ? fft::folded(e, m) : e;
}

/* ---- forward ---- */

/* Stores a float, and raises *top to its magnitude. */
__device__ void put(float *to, float v, uint32_t *top)
{
    *to = v;
    *top = larger(*top, gcb_magnitude(v));
}

/* Stores bin k. If Dct, `bin` is twice bin k, and its coefficients k and 2 m - k are stored, times
 * f.scale. */
template <bool Dct>
__device__ void put_bin(float *bins, const gcb_cuda_steps &f, unsigned k, complex bin,
                        uint32_t *top)
{
    if (Dct) {
        float up, down;

        rotate(bin, turn_of(f.steps, k), &up, &down);
        put(bins + k, up * f.scale, top);
        put(bins + 2 * f.steps.m - k, down * f.scale, top);
    } else {
        put(bins + 2 * k, bin.re, top);
        put(bins + 2 * k + 1, bin.im, top);
    }
}

/* Makes bins 0 and m, or coefficients 0 and m, from number 0. */
template <bool Dct>
__device__ void put_ends(float *bins, const gcb_cuda_steps &f, complex z, uint32_t *top)
{
    const unsigned m = f.steps.m;
    const float first = z.re + z.im, last = z.re - z.im;

    if (Dct) {
        put(bins, 2.0f * first * sqrtf(0.5f) * f.scale, top);
        put(bins + m, 2.0f * (last * f.steps.cosine[m]) * f.scale, top);
    } else {
        put_bin<false>(bins, f, 0, {first, 0.0f}, top);
        put_bin<false>(bins, f, m, {last, 0.0f}, top);
    }
}

/* Makes all bins or coefficients of a chunk from its numbers. */
template <bool Dct>
__device__ void put_bins(float *bins, const gcb_cuda_steps &f, const complex *z, uint32_t *top)
{
    const unsigned m = f.steps.m;
    const float by = Dct ? 1.0f : 0.5f;

    for (unsigned k = threadIdx.x; 2 * k <= m; k += blockDim.x)
        if (k == 0) {
            put_ends<Dct>(bins, f, z[0], top);
        } else if (2 * k == m) {
            put_bin<Dct>(bins, f, k, {2.0f * by * z[k].re, -2.0f * by * z[k].im}, top);
        } else {
            complex near, far;

            split_pair(z[k], z[m - k], by, split_of(f.steps, k), &near, &far);
            put_bin<Dct>(bins, f, k, near, top);
            put_bin<Dct>(bins, f, m - k, far, top);
        }
}

/* Writes the bins, and raises result->max_bits to their largest magnitude; or, if Dct, writes the
 * coefficients and checks that they are finite. */
template <bool Dct>
__global__ void __launch_bounds__(kMostThreads)
    steps_forward(float *__restrict__ bins, const float *__restrict__ x,
                  const __grid_constant__ gcb_cuda_steps f, gcb_device_result *result)
{
    const unsigned m = f.steps.m;
    complex *const from = &shared<complex>(), *const to = from + m;
    uint32_t top = 0;

    for (uint64_t c = blockIdx.x; c < f.chunks; c += gridDim.x) {
        for (unsigned e = threadIdx.x; e < 2 * m; e += blockDim.x)
            (&from->re)[place_of<Dct>(e, m)] = x[c * 2 * m + e];
        sync_block();
        transform(&f.steps, from, to);
        put_bins<Dct>(bins + c * 2 * (Dct ? m : m + 1), f, to, &top);
    }
    if (!Dct)
        raise_by_warp(&result->max_bits, top);
    else if (top >= GCB_INF_BITS)
        set_status(&result->status, GCB_E_SEND_RAW);
}

/* ---- inverse ---- */

/* Float i of the bins; if Dct, coefficient i in the scale of the inverse. */
template <bool Dct> __device__ float get(const float *bins, const gcb_cuda_steps &f, unsigned i)
{
    return Dct ? bins[i] * f.unitary * (i ? 1.0f : sqrtf(2.0f)) * f.scale : bins[i];
}

/* Bin k; if Dct, made from coefficients k and 2 m - k. */
template <bool Dct>
__device__ complex get_bin(const float *bins, const gcb_cuda_steps &f, unsigned k)
{
    if (Dct)
        return unrotate(get<true>(bins, f, k), get<true>(bins, f, 2 * f.steps.m - k),
                        turn_of(f.steps, k));
    return {bins[2 * k], bins[2 * k + 1]};
}

/* Makes number 0, times two and with its parts swapped (join_pair), from bins or coefficients 0 and
 * m. */
template <bool Dct> __device__ complex get_ends(const float *bins, const gcb_cuda_steps &f)
{
    const unsigned m = f.steps.m;
    const float first = get<Dct>(bins, f, 0);
    const float last =
        Dct ? (f.steps.cosine[m] + f.steps.sine[m]) * get<true>(bins, f, m) : bins[2 * m];

    return {first - last, first + last};
}

/* Makes all numbers of a chunk from its bins or coefficients. */
template <bool Dct> __device__ void get_bins(complex *z, const float *bins, const gcb_cuda_steps &f)
{
    const unsigned m = f.steps.m;

    for (unsigned k = threadIdx.x; 2 * k <= m; k += blockDim.x)
        if (k == 0) {
            z[0] = get_ends<Dct>(bins, f);
        } else if (2 * k == m) {
            const complex bin = get_bin<Dct>(bins, f, k);

            z[k] = {-2.0f * bin.im, 2.0f * bin.re};
        } else {
            join_pair(get_bin<Dct>(bins, f, k), get_bin<Dct>(bins, f, m - k), split_of(f.steps, k),
                      &z[k], &z[m - k]);
        }
}

/* Writes the elements or, if `subtract` is not NULL, `subtract` minus the elements. The parts of
 * the numbers are swapped (join_pair), so elements come from the other part (^ 1). */
template <bool Dct>
__global__ void __launch_bounds__(kMostThreads)
    steps_inverse(float *__restrict__ x, const float *__restrict__ bins,
                  const float *__restrict__ subtract, const __grid_constant__ gcb_cuda_steps f)
{
    const unsigned m = f.steps.m;
    complex *const from = &shared<complex>(), *const to = from + m;

    for (uint64_t c = blockIdx.x; c < f.chunks; c += gridDim.x) {
        get_bins<Dct>(from, bins + c * 2 * (Dct ? m : m + 1), f);
        sync_block();
        transform(&f.steps, from, to);
        for (unsigned e = threadIdx.x; e < 2 * m; e += blockDim.x)
            x[c * 2 * m + e] =
                decoded_or_residual(subtract, c * 2 * m + e, (&to->re)[place_of<Dct>(e, m) ^ 1]);
    }
}

/* The number of threads of a block: one for each GCB_FFT_RADIX numbers, in whole warps, at most
 * kMostThreads. */
unsigned threads_of(const gcb_cuda_steps *f)
{
    const unsigned warps = pieces_of(f->steps.m, kWarp * GCB_FFT_RADIX);

    return lesser(kWarp * warps, kMostThreads);
}

size_t shared_of(const gcb_cuda_steps *f)
{
    return 2 * f->steps.m * sizeof(complex);
}

} /* namespace */

int gcb_cuda_steps_forward(gcb_device_stream *s, float *bins, const float *x,
                           const gcb_cuda_steps *f, gcb_device_result *result)
{
    return launch(f->steps.cosine ? steps_forward<true> : steps_forward<false>,
                  grid_over(f->chunks, kManyBlocks), threads_of(f), shared_of(f), s, bins, x, *f,
                  result);
}

int gcb_cuda_steps_inverse(gcb_device_stream *s, float *x, const float *bins, const float *from,
                           const gcb_cuda_steps *f)
{
    return launch(f->steps.cosine ? steps_inverse<true> : steps_inverse<false>,
                  grid_over(f->chunks, kManyBlocks), threads_of(f), shared_of(f), s, x, bins, from,
                  *f);
}
