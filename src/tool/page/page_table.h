#ifndef SRC_TOOL_PAGE_PAGE_TABLE_H
#define SRC_TOOL_PAGE_PAGE_TABLE_H

#include "src/tool/page/page_rows.h"

/* page_table.c: what a column shows, and how. */
enum page_kind {
    PAGE_TEXT,
    PAGE_PROSE,  /* a sentence */
    PAGE_CODE,   /* a name: shown as it is, breakable */
    PAGE_NUMBER, /* three digits */
    PAGE_COSINE, /* four decimals */
    PAGE_PERCENT,
    PAGE_SIZE,  /* bytes */
    PAGE_WHOLE, /* a count */
    PAGE_SECONDS,
    PAGE_UNIT,  /* by the row's field `unit`: seconds, bytes, or a number */
    PAGE_BELOW, /* Gb/s: null is any, 0 is none */
    PAGE_YES,   /* a mark where it is true */
    PAGE_WORD,  /* a verdict or a status: its class in the page is its name in small letters */
};
struct page_column {
    const char *title;
    enum gcb_field field;
    enum page_kind kind;
    /* ends of an interval in brackets after it */
    enum gcb_field low, high;
    /* the interval is of these seconds, to which the value is inverse */
    enum gcb_field seconds;
    const char *help; /* under the table */
};
struct page_table {
    const char *id, *title;
    enum page_record record; /* its rows */
    const char *intro;       /* sentences under the title, or NULL */
    enum gcb_field needs;    /* shown only if some row has this; NONE: if there are rows */
    const char *folds;       /* what stands for its rows if they are many; NULL: they are shown */
    bool
        where; /* where a case ran: columns behind the first for what differs, the rest in a line above */
    bool plots_follow; /* and the table of tensors */
    const struct page_column
        *columns; /* ends with one without a title; the first is each row's name */
};
bool page_table_shows(const struct page_table *table, const struct page *page);
/* A section with the table; nothing unless page_table_shows. */
void page_table(FILE *out, const struct page_table *table, const struct page *page);
char *page_number(char *out, double value); /* three digits that say something; 32 bytes */

#endif
