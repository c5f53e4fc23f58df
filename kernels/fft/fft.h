#ifndef KERNELS_FFT_FFT_H
#define KERNELS_FFT_FFT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/fft/engine.h"

/*
 * Real-to-complex FFT of n floats, whole or in chunks, and the DCTs made from it (GCB_FFT_DCT): our
 * own (steps.h) for even lengths with the factors 2, 3, 5 and 7, unless `engine` asks for FFTW;
 * FFTW's single-precision library for all others. Only this folder sees FFTW.
 *
 * A chunk of length L has L/2 + 1 bins (of a DCT: engine.h). Chunks are stored one after the other,
 * each bin as (re, im). The exponent of the forward transform is negative: exp(-2 pi i jk / L). The
 * last chunk may be shorter; it is transformed at its own length, without padding. chunk = 0, or a
 * chunk of n or more, means one chunk of n. The transforms are unscaled: inverse(forward(x)) = L *
 * x. The inverse ignores the imaginary part of a chunk's first bin and, for even L, of its last
 * bin.
 *
 * x does not have the last `zeros` of the n elements: forward adds them as zeros, and inverse drops
 * them. So a caller can pad a message to a length that our own FFT can transform
 * (gcb_fft_zeros).
 *
 * Threads share the chunks, or the work on one chunk if it is long. Our own FFT gives the same
 * bytes on every CPU and with any number of threads. FFTW with estimated plans gives the same bytes
 * on one CPU model with one build of the library. FFTW promises only a tolerance for a whole
 * message (chunk = 0) with several threads, and for GCB_FFT_FFTW_MEASURE (docs/method.md).
 *
 * Our own FFT takes memory for tables and, for each thread, room for twice as many chunks as a
 * vector has lanes. For a length above 8192, a thread's room has rows of about the square root of
 * the length instead, and a DCT needs a table as large as a chunk. A length above 8192, or `zeros`,
 * takes memory for one more chunk.
 *
 * FFTW takes scratch of one chunk per busy thread, except that a whole real DFT is done in the
 * caller's bins. A DCT also needs a table as large as a chunk, and planning needs a buffer of one
 * transform. Forward and inverse do not allocate, but FFTW itself may, while it executes lengths
 * with a large prime factor. FFTW ends the process when it finds no memory. So before planning for
 * a length of at least 65,536, gcb_fft_create checks that the memory can be allocated, and returns
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
    /* number of elements at the end that x does not have: fewer than the last chunk has */
    uint64_t zeros;
    uint64_t chunk; /* 0: one chunk of n */
    int threads;
    enum gcb_fft_engine engine;
    /* The functions of our own FFT; NULL: plain C. Must stay valid as long as the object, and may
     * only change to functions with fewer lanes. */
    const struct gcb_fft_fns *fns;
    int inverse; /* 0: forward plans, 1: inverse plans */
};

/* Number of bins of GCB_FFT_REAL over all chunks; never more than n. `chunk` is as in struct
 * gcb_fft_config. */
static inline uint64_t gcb_fft_bins(uint64_t n, uint64_t chunk)
{
    if (n == 0)
        return 0;
    if (chunk == 0 || chunk > n)
        chunk = n;
    return n / chunk * (chunk / 2 + 1) + (n % chunk ? n % chunk / 2 + 1 : 0);
}

/* The smallest even number of at least n that has no prime factors except 2, 3, 5 and 7; 0 for n =
 * 0. n is at most 2^61. */
uint64_t gcb_fft_smooth(uint64_t n);

/* The number of zeros to append to n elements, so that the last chunk, of r elements, gets length
 * gcb_fft_smooth(r), but at most `chunk`. 0 if the last chunk is as long as the others. chunk = 0:
 * one chunk of n. */
uint64_t gcb_fft_zeros(uint64_t n, uint64_t chunk);

/* True if this build can transform a chunk of this length: with FFTW any length. */
bool gcb_fft_can(uint64_t length);

/* Makes plans and per-thread scratch. threads below 1 count as 1. Thread-safe. Returns 0,
 * GCB_E_NOMEM or, if a length or `engine` needs FFTW and the build is without it,
 * GCB_E_UNSUPPORTED. On failure *out is NULL. */
int gcb_fft_create(struct gcb_fft **out, const struct gcb_fft_config *config);
void gcb_fft_destroy(struct gcb_fft *fft); /* fft may be NULL */

/* Transforms x to bins. x has n - zeros floats, with any alignment. bins has 2 * gcb_fft_bins
 * floats (n for a DCT), aligned to 64 bytes. x and bins must not overlap. `fft` was made with
 * inverse = 0. A call uses the scratch of `fft`, so an object serves one call at a time. */
void gcb_fft_forward(const struct gcb_fft *fft, const float *x, float *bins);

/* Like gcb_fft_forward, but `fft` was made with inverse = 1. bins is overwritten. */
void gcb_fft_inverse(const struct gcb_fft *fft, float *bins, float *x);

/* The number of chunks that gcb_fft_forward_chunks best transforms at once, at most GCB_FFT_LANES;
 * 0 if only gcb_fft_forward can transform the message. Sets *workers to the number of calls that
 * may run at the same time, each with another which->worker below *workers; if the result is 0,
 * *workers may be left unset. */
unsigned gcb_fft_group(const struct gcb_fft *fft, unsigned *workers);

/* Transforms some chunks: at most a group of whole ones, or the shorter last one alone. x is the
 * whole message. bins has only the bins of these chunks, and is faster if it and which->pitch are
 * multiples of 64 bytes. What is between the bins of two chunks becomes unspecified. */
void gcb_fft_forward_chunks(const struct gcb_fft *fft, const float *x,
                            const struct gcb_fft_chunks *which, float *bins);

/* The inverse of gcb_fft_forward_chunks. which->apart must be 1. bins is overwritten. */
void gcb_fft_inverse_chunks(const struct gcb_fft *fft, float *bins,
                            const struct gcb_fft_chunks *which, float *x);

/* True if the memory that FFTW may take in the next call can be allocated. Lengths below 65,536 are
 * not checked, because FFTW takes little memory for them. */
bool gcb_fft_has_room(const struct gcb_fft *fft);

/* FFTW's version, a static string such as "3.3.10". NULL in a build without FFTW. */
const char *gcb_fft_version(void);

#endif
