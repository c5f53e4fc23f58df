#ifndef KERNELS_FFT_DCT_H
#define KERNELS_FFT_DCT_H

#include <stddef.h>
#include <string.h>

#include "kernels/fft/steps.h"

/*
 * The steps that make a DCT-II of n floats from a real FFT of n floats, and a DCT-III from its
 * inverse (Makhoul, "A fast cosine transform in one and two dimensions", 1980). The FFT's input is
 * the even elements in order, then the odd elements in reverse. Bin k times exp(-i pi k / (2 n))
 * gives coefficients k and n - k. Scales are those of FFTW's REDFT10 and REDFT01: the DCT-III of
 * the DCT-II of x is 2 n x.
 */

/* Fills `twiddle`, which has 2 (n/2 + 1) floats: pair k is the cosine and the sine of pi k / (2 n),
 * times scale. scale is 2 for the DCT-II, 1 for the DCT-III. */
static inline void dct_twiddles(float *twiddle, size_t n, float scale)
{
    for (size_t k = 0; k <= n / 2; k++) {
        gcb_fft_unit(twiddle + 2 * k, k, 4 * n);
        twiddle[2 * k] *= scale;
        twiddle[2 * k + 1] *= scale;
    }
}

/* Turns n elements into the input v of the forward FFT. x has the first `given` elements; the
 * others are 0. There are two loops, because a compiler can vectorise each of them but not both as
 * one. */
static inline void dct_fold(float *restrict v, const float *restrict x, size_t given, size_t n)
{
    for (size_t j = 0; j < given / 2; j++)
        v[j] = x[2 * j];
    for (size_t j = 0; j < given / 2; j++)
        v[n - 1 - j] = x[2 * j + 1];
    if (given % 2)
        v[given / 2] = x[given - 1];
    memset(v + (given + 1) / 2, 0, (n - given) * sizeof(*v));
}

/* Turns the n/2 + 1 bins of the forward FFT into n coefficients y. */
static inline void dct_rotate(float *restrict y, const float *restrict bins,
                              const float *restrict twiddle, size_t n)
{
    y[0] = twiddle[0] * bins[0];
    for (size_t k = 1; k <= n / 2; k++) {
        const float re = bins[2 * k], im = bins[2 * k + 1];
        const float c = twiddle[2 * k], s = twiddle[2 * k + 1];

        y[n - k] = re * s - im * c;
        y[k] = re * c + im * s;
    }
}

/* Turns n coefficients y into the n/2 + 1 bins of the inverse FFT. */
static inline void dct_unrotate(float *restrict bins, const float *restrict y,
                                const float *restrict twiddle, size_t n)
{
    bins[0] = twiddle[0] * y[0];
    bins[1] = 0.0f;
    for (size_t k = 1; k <= n / 2; k++) {
        const float a = y[k], b = y[n - k];
        const float c = twiddle[2 * k], s = twiddle[2 * k + 1];

        bins[2 * k] = c * a + s * b;
        bins[2 * k + 1] = s * a - c * b;
    }
}

/* Turns the output v of the inverse FFT, n floats, into elements. Writes the first `given` of them
 * to x. */
static inline void dct_unfold(float *restrict x, const float *restrict v, size_t given, size_t n)
{
    for (size_t j = 0; j < given / 2; j++) {
        x[2 * j] = v[j];
        x[2 * j + 1] = v[n - 1 - j];
    }
    if (given % 2)
        x[given - 1] = v[given / 2];
}

#endif
