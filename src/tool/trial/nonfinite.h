#ifndef SRC_TOOL_TRIAL_NONFINITE_H
#define SRC_TOOL_TRIAL_NONFINITE_H

#include <stdbool.h>

#include "kernels/kernels.h"
#include "src/tool/dump/source.h"

/* What happens to a tensor that holds an infinity or a NaN. */
enum gcb_nonfinite_policy {
    GCB_POLICY_ERROR, /* all such tensors are found before work starts, and it does not start */
    GCB_POLICY_SKIP,  /* the step is left out for all workers, as a loss scaler does */
    GCB_POLICY_ZERO,  /* such elements become 0 */
    GCB_POLICY_RAW,   /* a message with such a tensor goes raw, every bit kept */
};

/* Infinities and NaNs in x[0..n); one read when there are none. */
uint64_t gcb_nonfinite_count(const float *x, uint64_t n, const struct gcb_kernels *kernels);

/* Makes them 0. */
void gcb_nonfinite_zero(float *x, uint64_t n);

/* What a pass over a whole dump found. Starts zeroed. */
struct gcb_nonfinite_scan {
    uint64_t tensors; /* with infinities or NaNs */
    uint64_t *steps;  /* of these tensors, ascending, each once; step_count of them */
    size_t step_count, step_cap;
    char text[360]; /* the first few: "step 0 worker 1 fc.weight (3 of 100), ..." */
};

/*
 * Reads every tensor of the source. `buffer` holds the largest. `progress` may be NULL; it is told the
 * elements of each tensor, and a false from it ends the scan (which then counts as complete).
 */
struct gcb_nonfinite_watch {
    bool (*progress)(void *ctx, uint64_t elements);
    void *ctx;
};
int gcb_nonfinite_scan(struct gcb_nonfinite_scan *out, struct gcb_source *source, float *buffer,
                       const struct gcb_kernels *kernels, const struct gcb_nonfinite_watch *watch,
                       struct gcb_diag *diag);
void gcb_nonfinite_scan_fini(struct gcb_nonfinite_scan *scan); /* zeroed is fine */

bool gcb_nonfinite_has_step(const struct gcb_nonfinite_scan *scan, uint64_t step);

#endif
