#ifndef KERNELS_FFT_FFT_H
#define KERNELS_FFT_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Real-to-complex FFT of n floats, whole or in chunks, over FFTW's single-precision library. This is
 * the only folder that sees FFTW.
 *
 * A chunk of length L has L/2 + 1 bins; chunks lie one after the other, each bin as (re, im). The
 * forward transform has the sign of exp(-2 pi i jk / L). The last chunk may be shorter: it is not
 * padded but a transform of its own length, with a plan of its own. chunk = 0 means one chunk of n;
 * so does a chunk of n or more. The transforms are unscaled: inverse(forward(x)) = L * x. The inverse
 * ignores the imaginary parts of a chunk's first bin and, for even L, of its last.
 *
 * Chunks are spread over threads, each transformed by one thread: with GCB_FFT_ESTIMATE they are the
 * same bytes for any number of threads, on one CPU model and library build. A whole-message transform
 * (chunk = 0) is threaded inside FFTW and promises a tolerance only (docs/method.md), and so does
 * GCB_FFT_MEASURE, which chooses by timing.
 *
 * Memory: whole messages, and one chunk that covers n, are transformed in the caller's bins and need
 * nothing more; other chunks, and any DCT, need scratch of one chunk per busy thread, and a DCT a table as
 * large as a chunk. While plans are made, a buffer of one transform exists too, which only
 * GCB_FFT_MEASURE touches. Forward and inverse do not allocate, but FFTW itself may while it executes,
 * for lengths with a large prime factor. FFTW ends the process when it finds no memory; before planning, room for
 * what it takes is looked for, so that this is GCB_E_NOMEM, and whoever calls forward or inverse asks
 * gcb_fft_has_room before. Others may take that room meanwhile.
 *
 * FFTW's planner is one per process. This family holds a lock of its own around it, sets its number of
 * threads, and forgets its wisdom after measuring, so that later estimates stay what they were. A
 * process that plans with FFTW itself must not do so at the same time, and wisdom it loads
 * changes the plans here.
 */
struct gcb_fft;

enum gcb_fft_kind {
    GCB_FFT_REAL, /* real-to-complex DFT, as above */
    GCB_FFT_DCT, /* DCT-II forward, DCT-III inverse (in the scales of FFTW's REDFT10, REDFT01): a chunk of
                     length L has L bins, each one float, and inverse(forward(x)) = 2 L x. From real DFTs
                     of length L (kernels/fft/dct.h), which FFTW does much faster than its own */
};

enum gcb_fft_rigor { GCB_FFT_ESTIMATE, GCB_FFT_MEASURE };

struct gcb_fft_config {
    enum gcb_fft_kind kind;
    uint64_t n;
    uint64_t chunk; /* 0: whole */
    int threads;
    enum gcb_fft_rigor rigor;
    int inverse; /* 0: forward plans, 1: inverse plans */
};

/* Number of bins of GCB_FFT_REAL over all chunks; never more than n. chunk as in the config. */
uint64_t gcb_fft_bins(uint64_t n, uint64_t chunk);

/* Plans and per-thread scratch; threads below 1 count as 1. Thread-safe. 0, or GCB_E_NOMEM (*out is
 * NULL then). */
int gcb_fft_create(struct gcb_fft **out, const struct gcb_fft_config *config);
void gcb_fft_destroy(struct gcb_fft *fft); /* NULL is fine */

/* x: n floats, any alignment. bins: 2 * gcb_fft_bins floats (DCT: n), 64-byte aligned. No overlap.
 * `fft` was made with inverse = 0; it lends its scratch, so one call at a time for each object. */
void gcb_fft_forward(const struct gcb_fft *fft, const float *x, float *bins);

/* As above, with inverse = 1; bins is destroyed. */
void gcb_fft_inverse(const struct gcb_fft *fft, float *bins, float *x);

/* Is there the memory that FFTW may take in the next call, of lengths from 65,536 on? */
bool gcb_fft_has_room(const struct gcb_fft *fft);

/* FFTW's version text, static. */
const char *gcb_fft_version(void);

#endif
