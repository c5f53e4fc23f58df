#ifndef SRC_TOOL_PAGE_PAGE_PARTS_H
#define SRC_TOOL_PAGE_PAGE_PARTS_H

#include "src/tool/page/page.h"
#include "src/tool/page/page_rows.h"

/* The parts of the report page. page.c puts them together. */

/* A column of a table on the page. src/tool/rows/fields.def says how its field is shown. */
struct page_column {
    const char *title;
    enum gcb_field field;
    enum gcb_field low, high; /* ends of an interval, which is shown in brackets after the value */
    enum gcb_field seconds;   /* if set, the value is a rate, and low and high are seconds */
    bool explained;           /* the meaning of the field is printed under the table */
};
#define PAGE_COLUMNS 15 /* most columns of a table */
struct page_table {
    const char *id, *title;
    enum page_record record; /* which rows the table shows */
    const char *intro;       /* sentences under the title, or NULL */
    /* The table is shown only if some row has a value in this field. GCB_FIELD_NONE: shown if there are rows. */
    enum gcb_field needs;
    const char *folds; /* text of the line under which many rows are folded; NULL: never fold */
    bool where; /* show where cases ran: in columns, or in a line above if it is the same for all */
    bool plots_follow; /* the plots and the table of tensors come after this table */
    /* The first column names the row. A column without a title ends the list. */
    struct page_column columns[PAGE_COLUMNS + 1];
};
bool page_table_shows(const struct page_table *table, const struct page *page);
/* Prints a section with the table; prints nothing if page_table_shows returns false. */
void page_table(FILE *out, const struct page_table *table, const struct page *page);

/* page_tables.c: the tables in the order of the page. A table without a title ends the list. */
extern const struct page_table page_tables[];

/* page_head.c: page_head prints the title, the machine and reasons to doubt the times; page_cards prints the main
 * figures. */
void page_head(FILE *out, const struct page *page, const char *title);
void page_cards(FILE *out, const struct page *page);

/* page_source.c: the machine, the build and the command of each run. */
void page_environments(FILE *out, const struct page *page);

/* page_tensors.c: the errors by tensor and method. */
void page_tensors_table(FILE *out, const struct page_tensors *t);

/* page_plots.c: page_draw_figures draws all plots as figures and fails only if memory runs out. page_plots prints their
 * section. */
int page_draw_figures(FILE *out, struct gcb_page_outcome *outcome, const struct page *page,
                      const struct gcb_page_config *config, struct gcb_diag *diag);
void page_plots(FILE *out, const struct gcb_page_outcome *outcome, const char *figures);
bool page_has_plots(const struct gcb_page_outcome *outcome); /* does the section of plots exist? */

extern const char page_style[]; /* page_style.c */

#endif
