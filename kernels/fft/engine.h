#ifndef KERNELS_FFT_ENGINE_H
#define KERNELS_FFT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/fft/lanes.h"

enum gcb_fft_kind {
    GCB_FFT_REAL, /* real-to-complex DFT, as above */
    /* DCT-II forward, DCT-III inverse, in the scales of FFTW's REDFT10 and REDFT01: a chunk of
     * length L has L bins of one float each, and inverse(forward(x)) = 2 L x. Made from real DFTs
     * of length L (fft.c), because FFTW is much faster at those than at its DCTs. */
    GCB_FFT_DCT,
};

enum gcb_fft_engine {
    GCB_FFT_OWN,  /* our own for even lengths with the factors 2, 3, 5 and 7, FFTW for all others */
    GCB_FFT_FFTW, /* FFTW for all lengths, with estimated plans */
    GCB_FFT_FFTW_MEASURE, /* FFTW with plans chosen by timing */
};

/*
 * What transforms chunks of one length: our own FFT (own.c), or FFTW (fftw.c). gcb_fft (fft.c)
 * gives whole chunks and a shorter last chunk to an engine each.
 */
struct gcb_fft_need {
    enum gcb_fft_kind kind;
    uint64_t length; /* of a chunk */
    uint64_t chunks; /* at least one */
    uint64_t zeros;  /* the last elements of the last chunk, which x does not have */
    int threads;     /* at least one */
    /* True if the chunk is a whole message, which FFTW may transform with several threads. */
    bool whole;
    bool inverse;
    enum gcb_fft_engine engine;
    const struct gcb_fft_fns *fns;
};

/* Some chunks: numbers first, first + apart, ... The worker's room is used. */
struct gcb_fft_chunks {
    uint64_t first, apart;
    unsigned count;
    uint64_t worker;
};

struct gcb_fft_engine_ops {
    /* Returns 0, GCB_E_NOMEM or, if this library has no engine for the length, GCB_E_UNSUPPORTED.
     * On failure *state may be set, too. */
    int (*create)(void **state, const struct gcb_fft_need *need);
    void (*destroy)(void *state); /* may be NULL */
    /* As gcb_fft_forward and gcb_fft_inverse. */
    void (*forward)(void *state, const float *x, float *bins);
    void (*inverse)(void *state, float *bins, float *x);
    bool (*has_room)(const void *state); /* as gcb_fft_has_room. NULL: there is always room */
    /* As gcb_fft_group, gcb_fft_forward_chunks and gcb_fft_inverse_chunks. NULL: chunks are only
     * transformed all together. */
    unsigned (*group)(const void *state, unsigned *workers);
    void (*forward_chunks)(void *state, const float *x, const struct gcb_fft_chunks *which,
                           float *bins);
    void (*inverse_chunks)(void *state, const float *bins, const struct gcb_fft_chunks *which,
                           float *x);
};

/* Functions, because programs and the modules that they load may both have these tables. */
const struct gcb_fft_engine_ops *gcb_fft_own(void);
const struct gcb_fft_engine_ops *gcb_fft_fftw(void);

/* Floats between the bins of two chunks. */
static inline uint64_t gcb_fft_floats(enum gcb_fft_kind kind, uint64_t length)
{
    return kind == GCB_FFT_DCT ? length : 2 * (length / 2 + 1);
}

/* Waking a worker for fewer floats than this costs more than it saves. */
#define GCB_FFT_SHARE 16384

/* The number of workers that is worthwhile, at least one. Results do not depend on it. */
static inline int gcb_fft_workers(uint64_t floats, uint64_t most, int threads)
{
    const uint64_t shares = floats / GCB_FFT_SHARE, useful = shares < most ? shares : most;

    return useful < 1 ? 1 : useful < (uint64_t)threads ? (int)useful : threads;
}

/* The first of `all` items of a worker. If `worker` is the number of workers, returns `all`. */
static inline uint64_t gcb_fft_first(uint64_t all, uint64_t worker, uint64_t workers)
{
    const uint64_t extra = all % workers;

    return all / workers * worker + (worker < extra ? worker : extra);
}

#endif
