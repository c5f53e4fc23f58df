#ifndef SRC_TOOL_TRIAL_SHAPES_H
#define SRC_TOOL_TRIAL_SHAPES_H

#include "src/tool/rows/row.h"
#include "src/tool/run/run.h"

/*
 * Histograms and spectra of inputs and decoded tensors, for each tensor (or bucket), summed over steps and workers. The
 * rows are those of `inspect` with a field `of`: "input", "decoded" or "error" (input minus decoded, only in
 * histograms). Rows of decoded tensors and of errors have `method` and `spec` too. A spectrum leaves out messages with
 * infinities or NaNs, and messages whose size differs from the first of the same name.
 */
struct gcb_shapes_config {
    bool histogram, spectrum;
    size_t methods;
    const struct gcb_queue *queue; /* borrowed until the shapes are destroyed */
};

struct gcb_shapes;

int gcb_shapes_create(struct gcb_shapes **out, const struct gcb_shapes_config *config,
                      struct gcb_diag *diag);
void gcb_shapes_destroy(struct gcb_shapes *s); /* NULL is fine */

/* Adds the input and the decoded tensor of a trial. For each message the trial of method 0 must come first. */
int gcb_shapes_add(struct gcb_shapes *s, const struct gcb_run_trial *trial, struct gcb_diag *diag);

/* `put` receives each row and releases it. */
struct gcb_shapes_sink {
    int (*put)(void *ctx, struct gcb_row *row, struct gcb_diag *diag);
    void *ctx;
};
int gcb_shapes_rows(const struct gcb_shapes *s, const struct gcb_method *methods,
                    const struct gcb_shapes_sink *sink, struct gcb_diag *diag);

#endif
