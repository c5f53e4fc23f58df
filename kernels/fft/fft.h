#ifndef KERNELS_FFT_FFT_H
#define KERNELS_FFT_FFT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Real-to-complex FFT of n floats, whole or in chunks, over FFTW's single-precision library. This is
 * the only folder that sees FFTW.
 *
 * A chunk of length L has L/2 + 1 bins; chunks lie one after the other, each bin as (re, im). The last
 * chunk may be shorter and is a transform of its own length. chunk = 0 means one chunk of n.
 * The transforms are unscaled: inverse(forward(x)) = L * x.
 *
 * Chunks are spread over threads and byte-stable on one CPU model and library build. A whole-message
 * transform is threaded inside FFTW and promises a tolerance only (docs/method.md).
 */
struct gcb_fft;

enum gcb_fft_rigor { GCB_FFT_ESTIMATE, GCB_FFT_MEASURE };

struct gcb_fft_config {
    uint64_t n;
    uint64_t chunk; /* 0: whole */
    int threads;
    enum gcb_fft_rigor rigor;
    int inverse; /* 0: forward plans, 1: inverse plans */
};

/* Number of bins over all chunks; 0 for n = 0. chunk as in the config. */
uint64_t gcb_fft_bins(uint64_t n, uint64_t chunk);

/* Plans and per-thread scratch. Thread-safe (FFTW's planner is held under a lock). 0, or GCB_E_NOMEM. */
int gcb_fft_create(struct gcb_fft **out, const struct gcb_fft_config *config);
void gcb_fft_destroy(struct gcb_fft *fft); /* NULL is fine */

/* x: n floats, any alignment. bins: 2 * gcb_fft_bins floats, 64-byte aligned. Neither allocates. */
void gcb_fft_forward(const struct gcb_fft *fft, const float *x, float *bins);

/* As above; bins is destroyed. */
void gcb_fft_inverse(const struct gcb_fft *fft, float *bins, float *x);

/* FFTW's version text, static. */
const char *gcb_fft_version(void);

#endif
