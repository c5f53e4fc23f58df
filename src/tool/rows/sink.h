#ifndef SRC_TOOL_ROWS_SINK_H
#define SRC_TOOL_ROWS_SINK_H

#include <stdio.h>

#include "src/tool/rows/row.h"

/*
 * Where rows go. A sink writes to a FILE it borrows, a whole row at a time, flushed, so that what was
 * measured before an interruption is there.
 *
 * Failures are GCB_E_IO and name the stream. A reader that went away (EPIPE; SIGPIPE is the caller's to
 * ignore) is GCB_E_IO with empty words: there is nobody left to tell, and the command ends quietly.
 */
enum gcb_format {
    GCB_FORMAT_TABLE, /* for people: the command prints it itself, this sink takes rows and drops them */
    GCB_FORMAT_JSON, /* JSON Lines */
    GCB_FORMAT_CSV,
    GCB_FORMAT_TSV,
    GCB_FORMAT_COUNT
};

/*
 * What csv and tsv show: rows of these records under one header; others are left out. A value stands in
 * the column of its name; what a row lacks is empty, and so is null.
 */
struct gcb_columns {
    unsigned records; /* a set of GCB_RECORD_BIT */
    enum gcb_field fields[GCB_FIELDS];
    size_t count;
};
/* The records of most commands. */
#define GCB_RESULT_RECORDS (GCB_RECORD_BIT(GCB_RECORD_RESULT) | GCB_RECORD_BIT(GCB_RECORD_SUMMARY))

struct gcb_sink;

/* `file` and `name` (of the stream, for messages) are borrowed. csv and tsv write their header here. */
int gcb_sink_create(struct gcb_sink **out, enum gcb_format format, FILE *file, const char *name,
                    unsigned records, struct gcb_diag *diag);
int gcb_sink_put(struct gcb_sink *sink, const struct gcb_row *row, struct gcb_diag *diag);
void gcb_sink_destroy(struct gcb_sink *sink); /* NULL is fine; the FILE stays open */

/*
 * What a format's own file provides: its header, if it has one, and one row. 0 or GCB_E_IO; whether the
 * bytes arrived is the sink's to find out.
 */
struct gcb_sink_ops {
    int (*begin)(FILE *file, const struct gcb_columns *columns);
    int (*put)(FILE *file, const json_t *row, const struct gcb_columns *columns);
};
extern const struct gcb_sink_ops gcb_sink_json; /* src/tool/rows/sink_json.c */
extern const struct gcb_sink_ops gcb_sink_csv;  /* src/tool/rows/sink_csv.c */
extern const struct gcb_sink_ops gcb_sink_tsv;  /* src/tool/rows/sink_csv.c */

#endif
