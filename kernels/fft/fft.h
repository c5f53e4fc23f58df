#ifndef KERNELS_FFT_FFT_H
#define KERNELS_FFT_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/fft/engine.h"

/*
 * Real-to-complex FFT of n floats, whole or in chunks: our own (steps.h) for even lengths with the
 * factors 2, 3, 5 and 7, FFTW's single-precision library for all others. Only this folder sees
 * FFTW.
 *
 * A chunk of length L has L/2 + 1 bins. Chunks are stored one after the other, each bin as (re,
 * im). The forward transform has the sign of exp(-2 pi i jk / L). The last chunk may be shorter: it
 * is not padded, but transformed at its own length. chunk = 0, or a chunk of n or more, means one
 * chunk of n. The transforms are unscaled: inverse(forward(x)) = L * x. The inverse ignores the
 * imaginary parts of a chunk's first bin and, for even L, of its last.
 *
 * The last of the n elements may be zeros that x does not have (gcb_fft_zeros), which make a length
 * one of our own: forward adds them, inverse drops them.
 *
 * Chunks are distributed over threads. Our own gives the same bytes on every CPU and with any number
 * of threads. FFTW does on one CPU model and library build, with estimated plans; but a whole
 * message (chunk = 0) with several threads, and GCB_FFT_FFTW_MEASURE, promise a tolerance only
 * (docs/method.md).
 *
 * Memory of our own: tables; for each thread, room for as many chunks as a vector has lanes (above
 * 8192 elements: rows of about the root of the length); above 8192 elements one chunk, and for a
 * DCT a table of one chunk. Memory of FFTW: a whole real DFT is done in the caller's bins; else
 * scratch of one chunk per busy thread; a DCT also needs a table as large as a chunk. While plans
 * are made there is also a buffer of one transform. Forward and inverse do not allocate, but FFTW
 * itself may while it executes lengths with a large prime factor. FFTW ends the process when it
 * finds no memory. So before planning, create checks that the memory can be allocated, and returns
 * GCB_E_NOMEM if not. Callers of forward or inverse should call gcb_fft_has_room first. Another
 * thread or process may still take the memory in between.
 *
 * A process has one FFTW planner. This family guards it with its own lock, sets its number of
 * threads, and forgets its wisdom after measuring, so that later estimated plans do not change. A
 * process that also plans with FFTW itself must not do so at the same time; wisdom that it loads
 * changes the plans made here.
 */
struct gcb_fft;

struct gcb_fft_config {
    enum gcb_fft_kind kind;
    uint64_t n;
    /* the last of the n elements, which x does not have: fewer than the last chunk has */
    uint64_t zeros;
    uint64_t chunk; /* 0: one chunk of n */
    int threads;
    enum gcb_fft_engine engine;
    /* Of our own FFT. They must stay, and may only change to ones with fewer lanes. NULL: those of
     * plain C. */
    const struct gcb_fft_fns *fns;
    int inverse; /* 0: forward plans, 1: inverse plans */
};

/* Number of bins of GCB_FFT_REAL over all chunks; never more than n. `chunk` is as in the
 * config. */
static inline uint64_t gcb_fft_bins(uint64_t n, uint64_t chunk)
{
    if (n == 0)
        return 0;
    if (chunk == 0 || chunk > n)
        chunk = n;
    return n / chunk * (chunk / 2 + 1) + (n % chunk ? n % chunk / 2 + 1 : 0);
}

/* The next even number of at least n whose prime factors are 2, 3, 5 and 7; 0 for n = 0. n is at
 * most 2^62. */
uint64_t gcb_fft_smooth(uint64_t n);

/* The zeros after n elements that make the last chunk as long as gcb_fft_smooth says, but not
 * longer than `chunk`. So a last chunk that is as long as the others gets none. */
uint64_t gcb_fft_zeros(uint64_t n, uint64_t chunk);

/* True if this build can transform a chunk of this length: with FFTW any length. */
bool gcb_fft_can(uint64_t length);

/* Makes plans and per-thread scratch. threads below 1 count as 1. Thread-safe. On failure *out is
 * NULL: GCB_E_NOMEM or, in a build without FFTW that would need it, GCB_E_UNSUPPORTED. */
int gcb_fft_create(struct gcb_fft **out, const struct gcb_fft_config *config);
void gcb_fft_destroy(struct gcb_fft *fft); /* NULL does nothing */

/* x: n - zeros floats, any alignment. bins: 2 * gcb_fft_bins floats (DCT: n), aligned to 64. They
 * must not overlap. `fft` was made with inverse = 0. A call uses the scratch of `fft`, so only one
 * call at a time per object. */
void gcb_fft_forward(const struct gcb_fft *fft, const float *x, float *bins);

/* Like gcb_fft_forward, but `fft` was made with inverse = 1. bins is overwritten. */
void gcb_fft_inverse(const struct gcb_fft *fft, float *bins, float *x);

/*
 * Chunks apart, so that their bins are still in the cache when the caller takes them.
 *
 * gcb_fft_group returns how many chunks are best transformed at once, at most GCB_FFT_LANES, and
 * sets how many workers there are: each may make one call at a time. It returns 0 if this transform
 * cannot take its chunks apart.
 *
 * The other two transform chunks `which`: at most a group of whole ones, or the shorter last one
 * alone. x is that of the whole message, but bins are those of these chunks only. The chunks of an
 * inverse follow each other (apart = 1).
 */
unsigned gcb_fft_group(const struct gcb_fft *fft, unsigned *workers);
void gcb_fft_forward_chunks(const struct gcb_fft *fft, const float *x,
                            const struct gcb_fft_chunks *which, float *bins);
void gcb_fft_inverse_chunks(const struct gcb_fft *fft, const float *bins,
                            const struct gcb_fft_chunks *which, float *x);

/* True if the memory that FFTW may take in the next call can be allocated. Only lengths from
 * 65,536 on are checked. */
bool gcb_fft_has_room(const struct gcb_fft *fft);

/* FFTW's version, static: "3.3.10 ...". NULL in a build without FFTW. */
const char *gcb_fft_version(void);

#endif
