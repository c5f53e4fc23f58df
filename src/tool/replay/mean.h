#ifndef SRC_TOOL_REPLAY_MEAN_H
#define SRC_TOOL_REPLAY_MEAN_H

#include "kernels/kernels.h"
#include "src/lib/exchange/local.h"
#include "src/tool/base/watch.h"
#include "src/tool/measure/evict.h"
#include "src/tool/read/layout.h"
#include "src/tool/run/input.h"

/*
 * Gradients of some tensors of a dump in memory, on which the error of a mean is measured
 * (gcb_mean_measure). The tensors are the same for all workers and steps. Infinities and NaNs
 * become 0.
 */
struct gcb_gradients {
    size_t steps;
    unsigned workers; /* number of workers: the first of the dump */
    uint64_t count;   /* elements of one worker in one step that are in memory */
    uint64_t all;     /* elements of one worker in one step in the dump */
    struct gcb_gradients_tensor {
        const struct gcb_tensor *tensor; /* of the source, for its path and shape */
        uint64_t count;                  /* how many of the tensor's first elements are in memory */
        uint64_t offset; /* elements of earlier tensors in a worker's part of `data` */
    } * tensors;
    size_t tensor_count; /* tensors in memory */
    size_t all_tensors;  /* tensors of one worker in one step in the dump */
    float *data;         /* steps x workers x count */
    float *means;        /* of the workers: steps x count */
    uint64_t nonfinite;  /* infinities and NaNs that became 0 in all steps that were read */
    /*
     * The squared norm of a mean of n workers is about signal + noise / n: `signal` is the squared
     * norm of the true gradient, and `noise` that of the noise of one worker. Both are sums over
     * the steps that were read: at least 32, or all steps of the dump. With one worker, noise is 0.
     */
    double signal, noise;
};

struct gcb_gradients_config {
    unsigned workers; /* the most workers; 0: all */
    size_t steps;     /* the most steps, evenly spread; 0: all */
    /*
     * The most elements of one worker in one step, and of all workers and steps together; 0: no
     * limit. If the dump has more elements, whole tensors are drawn, and a large tensor is drawn
     * with a higher probability. A tensor of more than a sixteenth of the limit is not drawn: its
     * first rows are taken, in the ratio of the limit to all elements.
     */
    uint64_t most, most_together;
};

/*
 * Reads the gradients. `layout` has the scope `tensor`, and no message is dense. The source must
 * outlive *out. Returns GCB_E_INVALID if the steps or workers of the dump do not have the same
 * tensors, or if the dump has no elements. May also return an error of reading, or GCB_E_NOMEM. On
 * failure *out is zeroed.
 */
int gcb_gradients_read(struct gcb_gradients *out, struct gcb_source *source,
                       const struct gcb_layout *layout, const struct gcb_gradients_config *config,
                       const struct gcb_kernels *kernels, struct gcb_diag *diag);
void gcb_gradients_fini(struct gcb_gradients *g); /* a zeroed struct is allowed */

/* Returns the elements of a row: the product of all dimensions except the first. Returns 1 for a
 * tensor of one dimension. */
uint64_t gcb_gradients_row(const struct gcb_tensor *tensor);

/* Returns the `count` elements of a worker in a step. `worker` counts modulo `workers`. */
const float *gcb_gradients_at(const struct gcb_gradients *g, size_t step, unsigned worker);

/*
 * gcb_mean_measure measures the update that workers get from an exchange, and gcb_mean_time what
 * the exchange costs them. The exchanges are real, between workers in this process.
 *
 * Error of the mean: the L2 distance of the workers' update from the true mean, relative to the
 * norm of the true mean. Its square is the vNMSE of Vargaftik et al. (DRIVE, NeurIPS 2021). Over
 * steps and draws, the root mean square is taken. A draw is an exchange of a step with other random
 * numbers.
 *
 * Lasting error: the part of the error of the mean that does not average out over draws. Let R be
 * the number of draws, a the error of one draw, and c the error of the mean of all draws. Then
 * lasting^2 = max(0, (R c^2 - a^2) / (R - 1)). The lasting error is 0 for a rounding that is right
 * on average. The lasting error is the whole error for a rounding that is the same in each draw. A
 * memory adds what was not sent to the next draw, so the lasting error is smaller.
 */
struct gcb_mean_config {
    struct gcb_compute compute; /* not on a device */
    struct gcb_evict *evict;    /* empties the caches before a timed exchange; NULL: not emptied */
    unsigned draws;             /* number of draws, R above: 1 to 1000 */
    struct gcb_watch watch;     /* may stop the measurement */
};

struct gcb_mean {
    double error;        /* error of the mean */
    double lasting;      /* lasting error; NAN with one draw */
    double second_error; /* error of encoding sums again, relative to the sums; NAN: not done */
    /* The error of an all-reduce over the error of an all-gather of the same method. It is above 1
     * if all workers have to take the largest of their scales. It is 1 where this is not measured:
     * for other collectives, one worker, baselines, and methods for which gcb_mean_averages
     * is false. */
    double shared;
    /*
     * Bytes for each element of the gradient. In an all-gather or an all-reduce: the bytes that a
     * worker contributes. In a two-shot, also a hierarchical one: the mean of the bytes that a
     * worker contributes and those of the encoded sum. In a ring or tree: the bytes that a worker
     * encodes. In a sparse all-reduce: the bytes on a worker's link, times n / (n - 1) for n
     * workers.
     */
    double bytes;
    unsigned reductions; /* number of rounds in which the values of a message are reduced */
    bool varies;         /* lengths of messages vary, so that workers exchange the lengths first */
};

/* True if the method rounds each element by itself, so that part of its error averages out. */
bool gcb_mean_averages(const struct gcb_method *method);

/*
 * Returns the expected error of the mean of n messages, each of a sum of `each` workers. `mean` was
 * measured with `measured` workers. `signal` and `noise` are those of struct gcb_gradients.
 *
 * For a method that rounds each element by itself, the error shrinks with n as far as the workers'
 * gradients differ. The error also grows with the shared scale: mean->shared grows by the same
 * factor each time the number of workers doubles. If `measured` is 1, the error neither shrinks nor
 * grows. mean->second_error, and the error of all other methods, stay. In a ring or tree the error
 * depends only on the sums: more workers encode more sums, each with the same relative error.
 */
double gcb_mean_among(const struct gcb_method *method, const struct gcb_mean *mean, double signal,
                      double noise, double measured, double n, double each);

/*
 * Runs the method's exchange between all workers of `g`. Steps whose mean is 0 do not count in
 * `error` and `lasting`. Returns 0, or 1 after a stop; then *out is not complete. Returns
 * GCB_E_INVALID if the mean of every step is 0, GCB_E_NONFINITE if a memory overflowed, and the
 * errors of gcb_exchange_create.
 */
int gcb_mean_measure(struct gcb_mean *out, const struct gcb_gradients *g,
                     const struct gcb_mean_config *config, const struct gcb_method *method,
                     struct gcb_diag *diag);

/*
 * Seconds of a worker's thread in an exchange of n workers, for each element of the gradient or for
 * the whole gradient.
 */
struct gcb_cost {
    double code;       /* encoding; negative: unknown */
    double code_share; /* encoding a share of the sum takes code_share / n */
    double decode;     /* decoding the result, except in all-gathers and sparse all-reduces */
    /* Decoding and adding what arrives takes add + n * add_each. In a ring or tree `add` is the
     * time for one sum of the whole gradient. */
    double add, add_each;
    double combine; /* adding two workers' values, as a network library does to all-reduce */
};
/* Returns the cost with all times multiplied by `by`. */
struct gcb_cost gcb_cost_scale(struct gcb_cost c, double by);

/*
 * Times an exchange of the first step, after an exchange that is not timed. *out has the seconds
 * for each element. The exchange has as many workers as `g`, but at least two; if `g` has only one
 * worker, both have its gradients. The times are the CPU time of worker 0's thread, which other
 * programs do not change much. Returns 0, GCB_E_NOMEM, or an error of the exchange. After an error
 * *out is not valid.
 */
int gcb_mean_time(struct gcb_cost *out, const struct gcb_gradients *g,
                  const struct gcb_mean_config *config, const struct gcb_method *method,
                  struct gcb_diag *diag);

/* Sets *out to the bytes for each element that a worker contributes to an all-reduce of `workers`
 * workers, with a method whose collective is the all-reduce. Sums of integers take more bytes if
 * there are more workers. Errors are those of gcb_mean_time. */
int gcb_mean_reduced(double *out, const struct gcb_gradients *g,
                     const struct gcb_mean_config *config, const struct gcb_method *method,
                     unsigned workers, struct gcb_diag *diag);

#endif
