#ifndef SRC_TOOL_ROWS_SINK_H
#define SRC_TOOL_ROWS_SINK_H

#include <stdio.h>

#include "src/tool/rows/row.h"

/*
 * A sink writes rows to a FILE in one format. It flushes after each row, so an interrupted run
 * keeps all rows that were finished.
 *
 * A failed write is GCB_E_IO; the message names the stream. If the reader went away (EPIPE; the
 * caller ignores SIGPIPE), the message is empty: nobody is left to read it, and the command ends
 * quietly.
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
 * `file` and `name` (of the stream, for messages) are borrowed. csv and tsv show only rows of
 * `records`, a set of GCB_RECORD_BIT, all in the columns of gcb_field_columns; their header is
 * written here. A cell is empty if its row does not have the field, or has null there.
 */
int gcb_sink_create(struct gcb_sink **out, enum gcb_format format, FILE *file, const char *name,
                    unsigned records, struct gcb_diag *diag);
int gcb_sink_put(struct gcb_sink *sink, const struct gcb_row *row, struct gcb_diag *diag);
void gcb_sink_destroy(struct gcb_sink *sink); /* NULL is fine; the FILE stays open */

#endif
