#ifndef SRC_TOOL_REPLAY_MEAN_H
#define SRC_TOOL_REPLAY_MEAN_H

#include "src/lib/exchange/local.h"
#include "src/tool/measure/evict.h"
#include "src/tool/replay/gradients.h"

/*
 * Measures the update that workers get from an exchange, and what it costs them, with real
 * exchanges between workers in this process.
 *
 * Error of the mean: the L2 distance of the workers' update from the true mean, relative to the
 * norm of the true mean; its square is the vNMSE of Vargaftik et al. (DRIVE, NeurIPS 2021). Over
 * steps and draws: the root mean square.
 *
 * Lasting error: the part of it that stays when a step is repeated with other random numbers. With
 * R draws, a the error of one draw and c that of the mean of all: lasting^2 = max(0, (R c^2 - a^2)
 * / (R - 1)). It is 0 for a rounding that is right on average, and the whole error for one that is
 * the same in each draw. A memory carries what was not sent into the next draw, so it makes less of
 * the error last.
 */
struct gcb_mean_config {
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    uint64_t seed;
    enum gcb_fft_engine fft_engine;
    /* empties the caches before what is timed; NULL: they stay as they are */
    struct gcb_evict *evict;
    unsigned draws;          /* R; with 1, `lasting` is NAN */
    bool (*stop)(void *ctx); /* may be NULL */
    void *ctx;
};

struct gcb_mean {
    double error;
    double lasting; /* NAN with one draw */
    /* the error of encoding the sums again, relative to their norm; NAN: they are not encoded
     * again */
    double second_error;
    /* how many times as large the error of an all-reduce is as that of an all-gather of the same
     * method, because all workers take the largest of their scales; 1 for others */
    double shared;
    /* Bytes for each element of the gradient. Of an all-gather, a two-shot or an all-reduce:
     * what a worker gives; a two-shot sends this twice, in shares. Of a sparse all-reduce: what
     * goes through a worker's link, times n / (n - 1) for n workers. */
    double bytes;
    unsigned reductions; /* rounds in which the values of a message are reduced; 0: none */
    bool varies;         /* lengths of messages vary, so that workers exchange them first */
};

/* True if the method rounds each element by itself, so that part of its error averages out. */
bool gcb_mean_averages(const struct gcb_method *method);

/*
 * The error of the mean of n messages, each of a sum of `each` workers, from that of `measured`
 * workers. For methods that round each element by itself it shrinks with n as far as the workers'
 * gradients differ, and grows with the shared scale, which grows by the same factor with each
 * doubling of the workers. `second`, the error of encoding sums again (NAN: none), and the error of
 * all other methods stay. `shared`: as in struct gcb_mean.
 */
double gcb_mean_among(const struct gcb_method *method, double error, double second, double shared,
                      double signal, double noise, double measured, double n, double each);

/*
 * Runs the method's exchange between all workers of `g`. Steps whose mean is 0 do not count.
 * GCB_E_INVALID: there are only such steps. GCB_E_NONFINITE: the memory overflowed; errors of
 * gcb_exchange_create. After a stop, *out is not set, and the function returns 1.
 */
int gcb_mean_measure(struct gcb_mean *out, const struct gcb_gradients *g,
                     const struct gcb_mean_config *config, const struct gcb_method *method,
                     struct gcb_diag *diag);

/*
 * Seconds of a worker's thread in an exchange of n workers, for each element of the gradient or for
 * all of it.
 */
struct gcb_cost {
    double code;       /* encoding; negative: unknown */
    double code_share; /* encoding a share of the sum takes code_share / n */
    double decode;     /* decoding the result of an all-reduce or a two-shot */
    double add;        /* decoding and adding what arrives takes add + add_each n */
    double add_each;
    /* adding one worker's values to another's, as a network library does in an all-reduce */
    double combine;
};
struct gcb_cost gcb_cost_scale(struct gcb_cost c, double by);

/*
 * Times one exchange, after one that is not timed, for each element, of as many workers as `g` has,
 * but at least two: a single recorded worker then stands for both. The times are those of worker
 * 0's processor, by thread CPU time, which other programs do not change much.
 */
int gcb_mean_time(struct gcb_cost *out, const struct gcb_gradients *g,
                  const struct gcb_mean_config *config, const struct gcb_method *method,
                  struct gcb_diag *diag);

/* Bytes for each element in the all-reduce of a number of workers: sums of integers get wider
 * with it. */
int gcb_mean_reduced(double *out, const struct gcb_gradients *g,
                     const struct gcb_mean_config *config, const struct gcb_method *method,
                     unsigned workers, struct gcb_diag *diag);

#endif
