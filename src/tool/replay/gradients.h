#ifndef SRC_TOOL_REPLAY_GRADIENTS_H
#define SRC_TOOL_REPLAY_GRADIENTS_H

#include "kernels/kernels.h"
#include "src/tool/read/layout.h"

/*
 * Gradients of some tensors of a dump in memory, on which the error of a mean is measured (mean.h).
 * The tensors are the same for all workers and steps. Infinities and NaNs become 0.
 */
struct gcb_gradients {
    size_t steps;
    unsigned workers; /* the first workers of the dump */
    uint64_t count;   /* elements of one worker in one step that are in memory */
    uint64_t all;     /* elements of one worker in one step in the dump */
    struct gcb_gradients_tensor {
        const struct gcb_tensor *tensor; /* of the source, for its path and shape */
        uint64_t count;                  /* the first elements of the tensor that are in memory */
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
     * The most elements of one worker, and of all workers and steps together; 0: no limit. If the
     * dump has more elements, whole tensors are drawn, and a large tensor is drawn with a higher
     * probability. A tensor of more than a sixteenth of the limit is not drawn: its first rows are
     * taken, in the ratio of the limit to all elements.
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

#endif
