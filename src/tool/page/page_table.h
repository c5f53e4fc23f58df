#ifndef SRC_TOOL_PAGE_PAGE_TABLE_H
#define SRC_TOOL_PAGE_PAGE_TABLE_H

#include "src/tool/page/page_rows.h"

/* A column. The table of fields says how it is shown. */
struct page_column {
    const char *title;
    enum gcb_field field;
    enum gcb_field low, high; /* the ends of an interval, shown in brackets after the value */
    enum gcb_field seconds;   /* the interval is one of these seconds, and the value is a rate */
    bool explained;           /* its meaning stands under the table */
};
struct page_table {
    const char *id, *title;
    enum page_record record; /* its rows */
    const char *intro;       /* sentences under the title, or NULL */
    enum gcb_field needs;    /* shown only if some row has this field; NONE: if there are rows */
    const char *folds; /* many rows are folded, and this line opens them; NULL: never folded */
    bool where; /* has columns for where a case ran, or a line above if all ran in one place */
    bool plots_follow; /* the plots and the table of tensors stand after it */
    const struct page_column
        *columns; /* end with one without a title; the first is the row's name */
};
bool page_table_shows(const struct page_table *table, const struct page *page);
/* A section with the table; nothing unless page_table_shows. */
void page_table(FILE *out, const struct page_table *table, const struct page *page);

#endif
