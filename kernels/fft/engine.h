#ifndef KERNELS_FFT_ENGINE_H
#define KERNELS_FFT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/fft/lanes.h"

enum gcb_fft_kind {
    GCB_FFT_REAL, /* real-to-complex DFT (fft.h) */
    /* DCT-II forward, DCT-III inverse, in the scales of FFTW's REDFT10 and REDFT01: a chunk of
     * length L has L bins of one float each, and inverse(forward(x)) = 2 L x. Both are
     * made from real DFTs of length L (dct.h), because FFTW is much faster at DFTs than at DCTs. */
    GCB_FFT_DCT,
};

enum gcb_fft_engine {
    GCB_FFT_OWN,  /* our own for even lengths with the factors 2, 3, 5 and 7, FFTW for all others */
    GCB_FFT_FFTW, /* FFTW for all lengths, with estimated plans */
    GCB_FFT_FFTW_MEASURE, /* FFTW with plans chosen by timing */
};

/*
 * What an engine is asked to do: to transform chunks of one length. The engines are our own FFT
 * (own.c) and FFTW (fftw.c). struct gcb_fft (fft.c) has one engine for its whole chunks, and
 * another for a shorter last chunk.
 */
struct gcb_fft_need {
    enum gcb_fft_kind kind;
    uint64_t length; /* of a chunk */
    uint64_t chunks; /* at least one */
    uint64_t zeros;  /* number of elements at the end of the last chunk that x does not have */
    int threads;     /* at least one */
    /* True if no chunks were asked for (chunk = 0): FFTW may transform the message with several
     * threads. */
    bool whole;
    bool inverse;
    enum gcb_fft_engine engine;
    const struct gcb_fft_fns *fns;
};

/* The chunks first, first + apart, ..., `count` of them. The bins of a chunk begin `pitch` floats
 * after those of the chunk before. The scratch of `worker` is used. */
struct gcb_fft_chunks {
    uint64_t first, apart, pitch;
    unsigned count;
    uint64_t worker;
};

struct gcb_fft_engine_ops {
    /* Sets *state. Returns 0 or GCB_E_NOMEM. The caller destroys *state on failure, too. */
    int (*create)(void **state, const struct gcb_fft_need *need);
    void (*destroy)(void *state); /* state may be NULL */
    /* As gcb_fft_forward and gcb_fft_inverse. */
    void (*forward)(void *state, const float *x, float *bins);
    void (*inverse)(void *state, float *bins, float *x);
    bool (*has_room)(const void *state); /* as gcb_fft_has_room; NULL: always true */
    /* As gcb_fft_group, gcb_fft_forward_chunks and gcb_fft_inverse_chunks. NULL: chunks are only
     * transformed all together. */
    unsigned (*group)(const void *state, unsigned *workers);
    void (*forward_chunks)(void *state, const float *x, const struct gcb_fft_chunks *which,
                           float *bins);
    void (*inverse_chunks)(void *state, float *bins, const struct gcb_fft_chunks *which, float *x);
};

/* Functions return the tables, because a program and a module that it loads may both have this
 * code, and two global tables of one name would break the one-definition rule. */
const struct gcb_fft_engine_ops *gcb_fft_own(void);
const struct gcb_fft_engine_ops *gcb_fft_fftw(void);

/* The distance, in floats, from the first bin of a chunk to that of the next chunk. */
static inline uint64_t gcb_fft_floats(enum gcb_fft_kind kind, uint64_t length)
{
    return kind == GCB_FFT_DCT ? length : 2 * (length / 2 + 1);
}

/* The number of elements of chunk c that x has. */
static inline uint64_t gcb_fft_given(const struct gcb_fft_need *need, uint64_t c)
{
    return c + 1 == need->chunks ? need->length - need->zeros : need->length;
}

/* The least number of floats for each of several workers: waking a worker for fewer floats costs
 * more than it saves. */
#define GCB_FFT_SHARE 16384

/* The number of workers to use for `floats` floats in `most` pieces of work: at least one, at most
 * `threads`. Only the results of FFTW for a whole message depend on the number (fft.h). */
static inline int gcb_fft_workers(uint64_t floats, uint64_t most, int threads)
{
    const uint64_t shares = floats / GCB_FFT_SHARE, useful = shares < most ? shares : most;

    if (useful < 1)
        return 1;
    return useful < (uint64_t)threads ? (int)useful : threads;
}

/* The first item of `worker`, if `workers` share `all` items. For worker = workers, returns `all`,
 * so that a worker's items end where those of the next begin. */
static inline uint64_t gcb_fft_first(uint64_t all, uint64_t worker, uint64_t workers)
{
    const uint64_t extra = all % workers;

    return all / workers * worker + (worker < extra ? worker : extra);
}

#endif
