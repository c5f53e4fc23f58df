#ifndef SRC_TOOL_ROWS_RESULTS_H
#define SRC_TOOL_ROWS_RESULTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/lib/base/diag.h"
#include "src/tool/rows/fields.h"

/*
 * Result files read back: JSON Lines as `--results` and `--format json` write them (docs/rows.md). They are
 * read a row at a time and handed on, because a file of a hundred thousand rows takes a gigabyte as JSON
 * values: a reader keeps what it needs of each.
 *
 * A file is untrusted: lines have a limit (GCB_RESULTS_LINE bytes), each must be one object with a `record`
 * and "schema": 1. Records that nobody knows are handed on too; a reader passes over them.
 */
#define GCB_RESULTS_LINE (UINT64_C(64) << 20)

/* Everything is borrowed for the call. */
struct gcb_results_row {
    const json_t *json;   /* an object */
    const char *record;   /* its field `record` */
    enum gcb_record kind; /* the same; GCB_RECORDS: not known */
    const char *path;     /* of the file, as given */
    uint64_t line;        /* from 1 */
};

/* 0, or a negative status with words in diag, which ends the reading. */
typedef int gcb_results_visit_fn(void *ctx, const struct gcb_results_row *row,
                                 struct gcb_diag *diag);

/*
 * Calls `visit` for every row of a file, in order; "-" is standard input. GCB_E_IO: cannot be read; GCB_E_CORRUPT
 * with file and line: no JSON Lines, a line cut off in the middle, a schema that is not known.
 * A file without any row is GCB_E_CORRUPT too.
 */
int gcb_results_read(const char *path, gcb_results_visit_fn *visit, void *ctx,
                     struct gcb_diag *diag);
/* The same from a stream, which stays open; `path` is its name in messages and rows. */
int gcb_results_read_stream(FILE *file, const char *path, gcb_results_visit_fn *visit, void *ctx,
                            struct gcb_diag *diag);

/* Fields of a row. Absent, null, or of another type: NULL, NAN, 0, false. Texts are borrowed from the row
 * and stand escaped in it (gcb_escape). */
const char *gcb_results_text(const json_t *row, enum gcb_field field);
double gcb_results_real(const json_t *row, enum gcb_field field);
uint64_t gcb_results_u64(const json_t *row, enum gcb_field field);
bool gcb_results_bool(const json_t *row, enum gcb_field field);
/* Any value; NULL where it is absent. Borrowed from the row. */
json_t *gcb_results_json(const json_t *row, enum gcb_field field);

#endif
