#ifndef KERNELS_FFT_DCT_H
#define KERNELS_FFT_DCT_H

#include <stddef.h>

/*
 * What turns a real FFT of n floats into a DCT-II of n, and its inverse into a DCT-III (Makhoul, "A fast
 * cosine transform in one and two dimensions", 1980): evens in order and odds in reverse, transformed, and
 * bin k turned by -pi k / 2n, are the coefficients k and n - k. Only kernels/fft/fft.c includes this.
 *
 * Scales are FFTW's: of REDFT10, and of REDFT01, its inverse but for 2n. Arrays do not overlap; bins are
 * n/2 + 1 pairs (re, im).
 */

/* 2 (n/2 + 1) floats: scale * (cos, sin)(pi k / 2n); 2 for the DCT-II, 1 for the DCT-III. Calls libm. */
void gcb_dct_turns(float *turn, size_t n, double scale);

/* x to what the forward FFT takes; its bins to coefficients y. */
void gcb_dct_fold(float *v, const float *x, size_t n);
void gcb_dct_turn(float *y, const float *bins, const float *turn, size_t n);

/* Coefficients y to the bins of the inverse FFT; what that gives to x. */
void gcb_dct_turn_back(float *bins, const float *y, const float *turn, size_t n);
void gcb_dct_unfold(float *x, const float *v, size_t n);

#endif
