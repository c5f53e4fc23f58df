#ifndef SRC_TOOL_ROWS_SINK_H
#define SRC_TOOL_ROWS_SINK_H

#include <stdio.h>

#include "src/tool/rows/row.h"

/*
 * A sink writes rows to a FILE in one format. It flushes after each row, so an interrupted run
 * keeps all finished rows.
 *
 * If a write fails, functions return GCB_E_IO with a message that names the stream. If the reader
 * of a pipe is gone (EPIPE; the caller ignores SIGPIPE), the message is empty, so that the command
 * ends quietly.
 */
enum gcb_format {
    /* for people: the command prints the table itself, and the sink drops the rows */
    GCB_FORMAT_TABLE,
    GCB_FORMAT_JSON, /* JSON Lines */
    GCB_FORMAT_CSV,
    GCB_FORMAT_TSV,
    GCB_FORMAT_COUNT
};

/* The records that most commands show in csv and tsv. */
#define GCB_RESULT_RECORDS (GCB_RECORD_BIT(GCB_RECORD_RESULT) | GCB_RECORD_BIT(GCB_RECORD_SUMMARY))

struct gcb_sink;

/*
 * Creates a sink; for csv and tsv it also writes the header. `name` is what messages call the
 * stream. `file` and `name` are borrowed. csv and tsv show only rows of `records`, a set of
 * GCB_RECORD_BIT, in the columns of gcb_field_columns. A cell is empty if its row does not have the
 * field, or has null, a list or an object there. GCB_E_IO: *out is unchanged.
 */
int gcb_sink_create(struct gcb_sink **out, enum gcb_format format, FILE *file, const char *name,
                    unsigned records, struct gcb_diag *diag);
/* Writes a row, which stays the caller's. */
int gcb_sink_put(struct gcb_sink *sink, const struct gcb_row *row, struct gcb_diag *diag);
void gcb_sink_destroy(struct gcb_sink *sink); /* NULL is fine; the FILE stays open */

#endif
