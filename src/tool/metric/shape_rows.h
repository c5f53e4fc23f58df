#ifndef SRC_TOOL_METRIC_SHAPE_ROWS_H
#define SRC_TOOL_METRIC_SHAPE_ROWS_H

#include "src/tool/metric/survey.h"
#include "src/tool/rows/row.h"

/* The row `tensor` (docs/rows.md) of what a survey found. Release it with gcb_row_fini. */
void gcb_shape_rows_tensor(struct gcb_row *row, const struct gcb_survey_item *item);

/* Where rows of one tensor go, and what they say of themselves. */
struct gcb_shape_rows {
    const char *tensor;
    const char *of; /* "input", "decoded" or "error"; NULL: rows have no such field */
    const struct gcb_method *method; /* of what was decoded; NULL: rows name none */
    int (*put)(void *ctx, struct gcb_row *row, struct gcb_diag *diag); /* releases the row */
    void *ctx;
};

/*
 * Hands on the rows `histogram` and `spectrum` (docs/rows.md); either of the two may be NULL. Ends at the
 * first failure of put, and returns it.
 */
int gcb_shape_rows_put(const struct gcb_shape_rows *to, const struct gcb_histogram *histogram,
                       const struct gcb_spectrum *spectrum, struct gcb_diag *diag);

#endif
