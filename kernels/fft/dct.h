#ifndef KERNELS_FFT_DCT_H
#define KERNELS_FFT_DCT_H

#include <stddef.h>

/*
 * The steps that make a DCT-II of n floats from a real FFT of n floats, and a DCT-III from its
 * inverse (Makhoul, "A fast cosine transform in one and two dimensions", 1980). Even elements in
 * order, then odd ones in reverse, are transformed; bin k times exp(-i pi k / 2n) gives
 * coefficients k and n - k. Only kernels/fft/fft.c includes this.
 *
 * Scales are those of FFTW's REDFT10 and REDFT01, which are inverse up to a factor 2n. Arrays do
 * not overlap; bins are n/2 + 1 pairs (re, im).
 */

/* 2 (n/2 + 1) floats: scale * (cos, sin)(pi k / 2n). scale is 2 for the DCT-II, 1 for the DCT-III.
 * Calls libm. */
void gcb_dct_turns(float *turn, size_t n, double scale);

/* Before the forward FFT: elements x to its input v. After it: bins to coefficients y. */
void gcb_dct_fold(float *v, const float *x, size_t n);
void gcb_dct_turn(float *y, const float *bins, const float *turn, size_t n);

/* Before the inverse FFT: coefficients y to bins. After it: its output v to elements x. */
void gcb_dct_turn_back(float *bins, const float *y, const float *turn, size_t n);
void gcb_dct_unfold(float *x, const float *v, size_t n);

#endif
