#ifndef SRC_TOOL_TRIAL_SHAPES_H
#define SRC_TOOL_TRIAL_SHAPES_H

#include "src/tool/rows/row.h"
#include "src/tool/trial/run.h"

/*
 * Histograms and spectra of what went in and of what each method made of it, by tensor (or bucket),
 * added up over steps and workers. Rows are those of `inspect` with more fields: `of`, "input", "decoded"
 * or "error" (input minus decoded; histograms alone), and of the latter two `method` and `spec`. A message with infinities or NaNs, or of another
 * size than the first of its name, has no part in the spectrum.
 */
struct gcb_shapes_config {
    bool histogram, spectrum;
    size_t methods;
    const struct gcb_queue *queue; /* borrowed as long as the shapes */
};

struct gcb_shapes;

int gcb_shapes_create(struct gcb_shapes **out, const struct gcb_shapes_config *config,
                      struct gcb_diag *diag);
void gcb_shapes_destroy(struct gcb_shapes *s); /* NULL is fine */

/* Trials come by message, each message's first method first. */
int gcb_shapes_add(struct gcb_shapes *s, const struct gcb_run_trial *trial, struct gcb_diag *diag);

/* Hands every row to `put`, which releases it. */
struct gcb_shapes_sink {
    int (*put)(void *ctx, struct gcb_row *row, struct gcb_diag *diag);
    void *ctx;
};
int gcb_shapes_rows(const struct gcb_shapes *s, const struct gcb_method *methods,
                    const struct gcb_shapes_sink *sink, struct gcb_diag *diag);

#endif
