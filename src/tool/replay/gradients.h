#ifndef SRC_TOOL_REPLAY_GRADIENTS_H
#define SRC_TOOL_REPLAY_GRADIENTS_H

#include "kernels/kernels.h"
#include "src/tool/read/layout.h"

/*
 * Some tensors of a dump in memory, the same for all its workers and steps: what the error of a
 * mean is measured on (mean.h). Infinities and NaNs become 0.
 */
struct gcb_gradients {
    size_t steps;
    unsigned workers; /* the first ones of the dump */
    uint64_t count;   /* elements of one worker in one step */
    uint64_t all;     /* the same for all tensors of the dump */
    struct gcb_gradients_tensor {
        const struct gcb_tensor *tensor; /* of the source, for its path and shape */
        uint64_t count; /* elements that are in memory; fewer than the tensor's: its first ones */
        uint64_t offset;
    } * tensors;
    size_t tensor_count, all_tensors;
    float *data;        /* steps x workers x count */
    float *means;       /* of the workers: steps x count */
    uint64_t nonfinite; /* infinities and NaNs that became 0 */
    /*
     * What the workers share, and what they do not, in squared norms, over up to 32 steps: the true
     * gradient, and one worker's noise, so that a mean of n workers has the squared norm signal +
     * noise / n. With one worker: noise is 0.
     */
    double signal, noise;
};

struct gcb_gradients_config {
    unsigned workers; /* the most workers; 0: all */
    size_t steps;     /* the most steps, evenly spread; 0: all */
    /* The most elements of one worker, and of all workers and steps together; 0: no limit. If
     * there are more, whole tensors are drawn, each the more likely the larger it is; but of a
     * tensor of more than a sixteenth of the limit the first rows are taken, as large a share as
     * that of all elements. */
    uint64_t most, most_together;
};

/*
 * Reads the gradients. `layout` has the scope `tensor`, and nothing is dense. GCB_E_INVALID: the
 * steps or workers of the dump do not have the same tensors, or there is no element. GCB_E_NOMEM.
 * The source must outlive *out.
 */
int gcb_gradients_read(struct gcb_gradients *out, struct gcb_source *source,
                       const struct gcb_layout *layout, const struct gcb_gradients_config *config,
                       const struct gcb_kernels *kernels, struct gcb_diag *diag);
void gcb_gradients_fini(struct gcb_gradients *g); /* zeroed is fine */

/* The elements of a row of a tensor, along all dimensions but the first; 1 if it has only one
 * dimension. */
uint64_t gcb_gradients_row(const struct gcb_tensor *tensor);

const float *gcb_gradients_at(const struct gcb_gradients *g, size_t step, unsigned worker);

#endif
