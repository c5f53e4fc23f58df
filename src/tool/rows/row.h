#ifndef SRC_TOOL_ROWS_ROW_H
#define SRC_TOOL_ROWS_ROW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/lib/base/diag.h"
#include "src/lib/codec/method.h"
#include "src/tool/rows/fields.h"

/*
 * A row of results: a JSON object whose fields keep the order in which they were set. Setters never fail
 * on their own; one that found no memory marks the row, and the sink that is given it says so.
 *
 * Text is untrusted: it is stored escaped (gcb_escape), whole. What is not finite is stored as null.
 */
struct gcb_row {
    json_t *json; /* owned; NULL when init found no memory */
    bool failed;
};

/* Starts {"record": record, "schema": 1}. */
void gcb_row_init(struct gcb_row *row, enum gcb_record record);
void gcb_row_fini(struct gcb_row *row); /* zeroed is fine */

void gcb_row_text(struct gcb_row *row, enum gcb_field field, const char *text); /* NULL: null */
void gcb_row_real(struct gcb_row *row, enum gcb_field field, double value);
void gcb_row_u64(struct gcb_row *row, enum gcb_field field, uint64_t value);
void gcb_row_bool(struct gcb_row *row, enum gcb_field field, bool value);
void gcb_row_null(struct gcb_row *row, enum gcb_field field);
/* An array of reals; NULL: null. */
void gcb_row_reals(struct gcb_row *row, enum gcb_field field, const double *values, size_t count);
/* Any JSON value; its reference is taken over, also on failure. NULL marks the row as failed. */
void gcb_row_json(struct gcb_row *row, enum gcb_field field, json_t *value);

/* `method`, `spec` (full) and `params` (an object with every parameter that has a meaning). */
void gcb_row_method(struct gcb_row *row, const struct gcb_method *method);

/* Building blocks, for arrays and nested objects: NULL when there is no memory. */
json_t *gcb_row_make_text(const char *text);
json_t *gcb_row_make_real(double value);

#endif
