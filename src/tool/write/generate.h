#ifndef SRC_TOOL_WRITE_GENERATE_H
#define SRC_TOOL_WRITE_GENERATE_H

#include "src/tool/read/networks.h"
#include "src/tool/read/synthetic.h"
#include "src/tool/write/dump.h"

/* What to generate: each step and worker gets all tensors of the layout. */
struct gcb_generate {
    struct gcb_synthetic dist;
    const char
        *layout; /* NULL or "flat": one tensor of `elements`; or a name for gcb_network_layout */
    uint64_t elements;
    uint64_t steps;
    uint64_t workers;
    /*
     * Correlation r of two workers' gradients of the same step, in [0, 1]. The distribution of each worker's values
     * stays the same. Normal and autoregressive values are mixed: sqrt(r) * common + sqrt(1 - r) * own. With other
     * distributions, a worker takes the common value with probability sqrt(r), otherwise its own value.
     */
    double correlation;
    enum gcb_dtype dtype;
    uint64_t seed;
};

/*
 * Writes the tensors into `dump`; the caller commits it. Allocates 4 bytes per element of the largest tensor, or 12
 * bytes with a correlation. Returns GCB_E_INVALID if the layout is unknown.
 */
int gcb_generate_write(struct gcb_dump *dump, const struct gcb_generate *config,
                       struct gcb_diag *diag);

#endif
