#ifndef SRC_TOOL_ROWS_RESULTS_H
#define SRC_TOOL_ROWS_RESULTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/lib/base/diag.h"
#include "src/tool/rows/fields.h"

/*
 * Reads result files: JSON Lines as `--results` and `--format json` write them (docs/rows.md). Rows
 * are passed on one at a time, because a hundred thousand rows take a gigabyte as JSON values. The
 * caller copies what it needs.
 *
 * A file is untrusted: a line has at most GCB_RESULTS_LINE bytes and must be one object with a
 * `record` and "schema": 1. Rows of unknown records are passed on too; callers ignore them.
 */
#define GCB_RESULTS_LINE (UINT64_C(64) << 20)

/* A row, valid only during the call of gcb_results_visit_fn. */
struct gcb_results_row {
    const json_t *json;   /* an object */
    const char *record;   /* the field `record` of the row */
    enum gcb_record kind; /* the record as an enum; GCB_RECORDS: unknown */
    const char *path;     /* path of the file, as given */
    uint64_t line;        /* line number, from 1 */
    uint64_t offset;      /* where the line begins in the file, in bytes */
    size_t length;        /* length of the line, without its newline */
};

/* Receives a row. `ctx` is the caller's. Returns 0, or a negative status with a message in diag,
 * which ends the reading. */
typedef int gcb_results_visit_fn(void *ctx, const struct gcb_results_row *row,
                                 struct gcb_diag *diag);

/* Value of `records` for gcb_results_read: all rows. */
#define GCB_RESULTS_ALL (~0u)

/*
 * Calls `visit` for each row of the file at `path`, in order; "-" is standard input. If `file` is
 * not NULL, reads this open stream, which stays open; `path` is then its name in messages and rows.
 * `records` is a set of GCB_RECORD_BIT. Rows of records outside the set are left out. Most of these
 * rows are not even parsed, so errors in them are not found.
 *
 * Returns 0, or the error of `visit`. GCB_E_IO: the file cannot be read. GCB_E_CORRUPT, with file
 * and line in the message: the file has no row, its last line is incomplete, or a row is empty, too
 * long or not JSON, has no `record`, has another schema, or has a field (fields.def) of a wrong
 * type or with an impossible number.
 */
int gcb_results_read(FILE *file, const char *path, unsigned records, gcb_results_visit_fn *visit,
                     void *ctx, struct gcb_diag *diag);

/* Return a field of a row; NULL, NAN, 0 or false if it is absent, null or of another type. A count
 * is also 0 if it is negative, or a real, as rows have it from 2^63 on. Texts are borrowed from the
 * row and stand as in the file. gcbench writes them escaped, but a file from elsewhere may not:
 * escape them again (gcb_escape_again) before a terminal shows them. */
const char *gcb_results_text(const json_t *row, enum gcb_field field);
double gcb_results_real(const json_t *row, enum gcb_field field);
/* Like gcb_results_real, but returns 0 for a number nearer to 0 than 1e-30, and NAN for one
 * further than 1e30. So products of a few numbers from an untrusted file are finite, and ratios
 * too if the divisor is not 0. */
double gcb_results_amount(const json_t *row, enum gcb_field field);
uint64_t gcb_results_u64(const json_t *row, enum gcb_field field);
bool gcb_results_bool(const json_t *row, enum gcb_field field);
/* Returns a field of any type, borrowed from the row; NULL if it is absent. */
json_t *gcb_results_json(const json_t *row, enum gcb_field field);

#endif
