#ifndef SRC_TOOL_MEASURE_SHAPE_ROWS_H
#define SRC_TOOL_MEASURE_SHAPE_ROWS_H

#include "src/tool/measure/survey.h"
#include "src/tool/rows/row.h"

/* Makes a `tensor` row (docs/rows.md) from an item of a survey. Release it with gcb_row_fini. */
void gcb_shape_rows_tensor(struct gcb_row *row, const struct gcb_survey_item *item);

/* The fields that all rows of a tensor share, and the receiver of the rows. */
struct gcb_shape_rows {
    const char *tensor;
    const char *of; /* "input", "decoded" or "error"; NULL leaves the field out of the rows */
    const struct gcb_method *method; /* the method that decoded the tensor; NULL without a method */
    int (*put)(void *ctx, struct gcb_row *row, struct gcb_diag *diag); /* must release the row */
    void *ctx;
};

/* Makes the `histogram` and `spectrum` rows (docs/rows.md). `histogram` and `spectrum` may be NULL. Returns the first
 * error of put(). */
int gcb_shape_rows_put(const struct gcb_shape_rows *to, const struct gcb_histogram *histogram,
                       const struct gcb_spectrum *spectrum, struct gcb_diag *diag);

#endif
