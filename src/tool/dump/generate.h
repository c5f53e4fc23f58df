#ifndef SRC_TOOL_DUMP_GENERATE_H
#define SRC_TOOL_DUMP_GENERATE_H

#include "src/tool/dump/dump.h"
#include "src/tool/dump/synthetic.h"

/* A dump of synthetic gradients: every step and worker has each tensor of the layout. */
struct gcb_generate {
    struct gcb_synthetic dist;
    const char *layout; /* NULL or "flat": one tensor of `elements`; else as gcb_synthetic_layout */
    uint64_t elements;
    uint64_t steps;
    uint64_t workers;
    /*
     * Correlation of two workers' gradients of the same step, in [0, 1]; each worker's values keep their
     * distribution. Normal and autoregressive ones are mixed, sqrt(r) * common + sqrt(1 - r) * own;
     * of others each value is the common one with probability sqrt(r), else the worker's own.
     */
    double correlation;
    enum gcb_dtype dtype;
    uint64_t seed;
};

/*
 * Writes all of it into `dump`, which is left to be committed. Takes 4 bytes an element of the largest
 * tensor, 12 with a correlation. GCB_E_INVALID: an unknown layout (names in the words).
 */
int gcb_generate_write(struct gcb_dump *dump, const struct gcb_generate *config,
                       struct gcb_diag *diag);

#endif
