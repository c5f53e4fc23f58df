#ifndef SRC_TOOL_TRIAL_EXTENT_H
#define SRC_TOOL_TRIAL_EXTENT_H

#include "src/tool/read/source.h"

/* The size of a dump, for the line above a table. */
struct gcb_extent {
    uint64_t steps, workers, tensors; /* how many different steps, workers and tensors */
    bool full;                        /* each step has all workers, and each worker all tensors */
    uint64_t elements, bytes;         /* `bytes`: size in the source's types */
    enum gcb_dtype dtype;
    bool mixed_dtypes;
};

int gcb_extent_of(struct gcb_extent *out, const struct gcb_source *source, struct gcb_diag *diag);

#endif
