#ifndef SRC_TOOL_ROWS_TABLE_H
#define SRC_TOOL_ROWS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "src/tool/rows/fields.h"

/*
 * An aligned table for people. Cells are copied and kept until the table is printed, because its
 * widths depend on all of them. Cell text must be safe for a terminal (gcb_escape). A table may be
 * NULL in all functions except gcb_table_print.
 */
struct gcb_table_column {
    const char *title; /* borrowed as long as the table */
    bool text;         /* aligned to the left; other columns are numbers, aligned to the right */
    /* A column of text that shrinks if the table would be too wide. Long text of the first column
     * then stands on lines of its own, broken after commas. Long text of another column is cut in
     * the middle: "layers..weight". */
    bool elastic;
    /* The field that the caller shows in this column; GCB_FIELD_NONE: another text. The table does
     * not read this member. */
    enum gcb_field field;
};

struct gcb_table;

#define GCB_TABLE_COLUMNS 32 /* most columns of a table */
/* Creates a table without rows. `columns` is borrowed as long as the table. The caller frees the
 * table with gcb_table_destroy. */
struct gcb_table *gcb_table_create(const struct gcb_table_column *columns, size_t count);
/* Adds the next cell, from the left; after the last column a new row begins. NULL is shown as
 * "-". */
void gcb_table_cell(struct gcb_table *table, const char *text);
/* Adds a row that is only a text: a title of the rows below it. Call it after a whole row. */
void gcb_table_title(struct gcb_table *table, const char *text);
/* Returns the number of whole rows, including rows of gcb_table_title; 0 for a NULL table. */
size_t gcb_table_rows(const struct gcb_table *table);

/*
 * Prints the table. To be at most `width` columns wide (0: no limit), elastic columns shrink first,
 * down to 8 columns, then always the widest other column, down to its title, but at least 4
 * columns. A table may still be wider, and rows of gcb_table_title are never cut. A number that
 * does not fit its column is shown as "?", and a line below the table says so. A text that does not
 * fit is cut in the middle. With `color` the header is bold. The caller finds write errors by
 * ferror.
 */
void gcb_table_print(const struct gcb_table *table, FILE *out, unsigned width, bool color);
void gcb_table_destroy(struct gcb_table *table);

#endif
