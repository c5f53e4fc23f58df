#include "kernels/cuda/grid.cuh"
#include "kernels/fft/dct_cuda.h"
#include "kernels/memory/feedback.cuh"
#include "src/lib/base/status.h"

#include <math.h>

using namespace gcb;

/* A thread handles one element or one bin in each turn of its loop. Neighbouring threads access
 * neighbouring elements, or every second one. */
namespace
{

constexpr unsigned kThreads = 256;

struct complex64 {
    double re, im;
};

/* The number of bits of k that index `lower` in twiddle_table: half of the bits of `length`,
 * rounded up. */
unsigned lower_bits(uint64_t length)
{
    unsigned bits = 1;

    while ((length >> bits) >> bits)
        bits++;
    return bits;
}

/* Computes exp(i pi k / (2 length)) as the product of two table entries. */
struct twiddle_table {
    const complex64 *upper, *lower;
    uint64_t bits; /* 64 bits, so that the kernel argument has no padding */

    __device__ float2 operator()(uint64_t k) const
    {
        const complex64 a = upper[k >> bits], b = lower[k & ((uint64_t{1} << bits) - 1)];

        return make_float2(static_cast<float>(a.re * b.re - a.im * b.im),
                           static_cast<float>(a.re * b.im + a.im * b.re));
    }
};

twiddle_table twiddle_table_of(const gcb_cuda_dct *d)
{
    const unsigned bits = lower_bits(d->length);
    const complex64 *upper = static_cast<const complex64 *>(d->table);

    return {upper, upper + (d->length / 2 >> bits) + 1, bits};
}

/* The place of element i: a chunk's even elements in order, then its odd elements in reverse. The
 * length may be odd, unlike in fft::folded. */
__device__ uint64_t folded_place(uint64_t i, uint64_t length)
{
    const uint64_t j = i % length;

    return i - j + (j % 2 ? length - 1 - j / 2 : j / 2);
}

__global__ void fold_elements(float *__restrict__ folded, const float *__restrict__ x,
                              gcb_cuda_dct d)
{
    for (uint64_t i = thread_of_grid(); i < d.count; i += threads_of_grid())
        folded[folded_place(i, d.length)] = x[i];
}

__global__ void unfold_elements(float *__restrict__ x, const float *__restrict__ folded,
                                const float *__restrict__ from, gcb_cuda_dct d)
{
    for (uint64_t i = thread_of_grid(); i < d.count; i += threads_of_grid())
        x[i] = decoded_or_residual(from, i, folded[folded_place(i, d.length)]);
}

/* Turns bin k of each chunk into coefficients k and length - k. */
__global__ void rotate_bins(float *__restrict__ coef, const float2 *__restrict__ bins,
                            twiddle_table twiddles, gcb_cuda_dct d, gcb_device_result *result)
{
    const uint64_t per = d.length / 2 + 1, all = d.count / d.length * per;
    bool bad = false;

    for (uint64_t i = thread_of_grid(); i < all; i += threads_of_grid()) {
        const uint64_t k = i % per;
        const float2 v = bins[i], t = twiddles(k);
        const float sum = 2.0f * (v.x * t.x + v.y * t.y);
        const float near = (k ? sum : sum * sqrtf(0.5f)) * d.scale;
        const float far = 2.0f * (v.x * t.y - v.y * t.x) * d.scale;
        float *to = coef + i / per * d.length;

        to[k] = near;
        bad |= gcb_magnitude(near) >= GCB_INF_BITS;
        if (k && 2 * k != d.length) {
            to[d.length - k] = far;
            bad |= gcb_magnitude(far) >= GCB_INF_BITS;
        }
    }
    if (bad)
        set_status(&result->status, GCB_E_SEND_RAW);
}

/* A coefficient in the scale of the inverse. */
__device__ float scaled(float y, const gcb_cuda_dct &d)
{
    return y * d.unitary * d.scale;
}

/* Turns coefficients k and length - k into bin k. Sets the imaginary parts of the bins that are
 * real in a real transform to 0, whatever the coefficients are. */
__global__ void unrotate_coefficients(float2 *__restrict__ bins, const float *__restrict__ coef,
                                      twiddle_table twiddles, gcb_cuda_dct d)
{
    const uint64_t per = d.length / 2 + 1, all = d.count / d.length * per;

    for (uint64_t i = thread_of_grid(); i < all; i += threads_of_grid()) {
        const uint64_t k = i % per;
        const float *from = coef + i / per * d.length;
        const float a = scaled(from[k], d), b = k ? scaled(from[d.length - k], d) : 0.0f;
        const float2 t = twiddles(k);

        bins[i] = make_float2(k ? t.x * a + t.y * b : a * sqrtf(2.0f),
                              k && 2 * k != d.length ? t.y * a - t.x * b : 0.0f);
    }
}

/* Writes exp(i step k) for k < count. */
void fill_exponentials(complex64 *to, uint64_t count, double step)
{
    for (uint64_t k = 0; k < count; k++)
        to[k] = {cos(step * static_cast<double>(k)), sin(step * static_cast<double>(k))};
}

} /* namespace */

uint64_t gcb_cuda_dct_from_fft_bytes(uint64_t length)
{
    const unsigned bits = lower_bits(length);

    return ((length / 2 >> bits) + 1 + (uint64_t{1} << bits)) * sizeof(complex64);
}

void gcb_cuda_dct_from_fft_table(void *table, uint64_t length)
{
    const unsigned bits = lower_bits(length);
    const uint64_t upper = (length / 2 >> bits) + 1;
    const double step = acos(-1.0) / (2.0 * static_cast<double>(length));
    complex64 *to = static_cast<complex64 *>(table);

    fill_exponentials(to, upper, step * static_cast<double>(uint64_t{1} << bits));
    fill_exponentials(to + upper, uint64_t{1} << bits, step);
}

int gcb_cuda_dct_fold(gcb_device_stream *s, float *folded, const float *x, const gcb_cuda_dct *d)
{
    return launch(fold_elements, grid_over(pieces_of(d->count, kThreads), kManyBlocks), kThreads, 0,
                  s, folded, x, *d);
}

int gcb_cuda_dct_unfold(gcb_device_stream *s, float *x, const float *folded, const float *from,
                        const gcb_cuda_dct *d)
{
    return launch(unfold_elements, grid_over(pieces_of(d->count, kThreads), kManyBlocks), kThreads,
                  0, s, x, folded, from, *d);
}

int gcb_cuda_dct_rotate(gcb_device_stream *s, float *coef, const float *bins, const gcb_cuda_dct *d,
                        gcb_device_result *result)
{
    return launch(rotate_bins, grid_over(pieces_of(d->count, kThreads), kManyBlocks), kThreads, 0,
                  s, coef, reinterpret_cast<const float2 *>(bins), twiddle_table_of(d), *d, result);
}

int gcb_cuda_dct_unrotate(gcb_device_stream *s, float *bins, const float *coef,
                          const gcb_cuda_dct *d)
{
    return launch(unrotate_coefficients, grid_over(pieces_of(d->count, kThreads), kManyBlocks),
                  kThreads, 0, s, reinterpret_cast<float2 *>(bins), coef, twiddle_table_of(d), *d);
}
