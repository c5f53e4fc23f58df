#ifndef SRC_TOOL_PRINT_TABLE_H
#define SRC_TOOL_PRINT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "src/tool/rows/fields.h"

/*
 * An aligned table for people. Cells are copied and kept until the table is printed, because its
 * widths depend on all of them. Cell text must be safe for a terminal (gcb_escape). Functions that
 * add to a table do not fail; ask gcb_table_failed once at the end. A table may be NULL in all
 * functions except gcb_table_print.
 */
struct gcb_table_column {
    const char *title; /* borrowed as long as the table */
    bool text;         /* aligned to the left; other columns are numbers, aligned to the right */
    /* A text that shrinks if the table would be too wide. Text of the first column then stands on
     * lines of its own, broken after commas; text of another column is cut in the middle:
     * "layers..weight". */
    bool elastic;
    /* the figure that cells show, for a caller that fills them from a table of columns; 0: another
     * text */
    enum gcb_field field;
};

struct gcb_table;

#define GCB_TABLE_COLUMNS 32 /* most columns of a table */
/* Returns NULL if memory runs out. */
struct gcb_table *gcb_table_create(const struct gcb_table_column *columns, size_t count);
/* Adds the next cell, from the left; after the last column a new row begins. NULL is shown as
 * "-". */
void gcb_table_cell(struct gcb_table *table, const char *text);
/* Adds a row that is only a text: a title of the rows below it. Call it after a whole row. */
void gcb_table_title(struct gcb_table *table, const char *text);
size_t gcb_table_rows(const struct gcb_table *table);
bool gcb_table_failed(const struct gcb_table *table); /* memory ran out */

/*
 * Prints the table at most `width` columns wide (usually 80; 0: no limit), if the titles fit.
 * Elastic columns shrink first, then the widest of the others, down to its title. A number that
 * then does not fit is shown as "?", and a line below says so. With `color` the header is bold.
 * Write errors stay in the FILE.
 */
void gcb_table_print(const struct gcb_table *table, FILE *out, unsigned width, bool color);
void gcb_table_destroy(struct gcb_table *table);

#endif
