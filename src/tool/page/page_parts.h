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

/* A chart of a table's columns, which the page's script draws from the cells. */
struct page_chart {
    const char *caption; /* NULL: there is no chart */
    enum gcb_field x, y; /* the chart is shown only if x differs between rows */
    /* names of columns, between blanks: if their values differ, the chart shows one value, and the reader chooses it */
    const char *hold;
    bool
        lines; /* a line joins rows with the same text in the first column; otherwise rows of one method */
};
#define PAGE_CHARTS 2
#define PAGE_COLUMNS 20 /* most columns of a table */
struct page_table {
    const char *id, *title;
    enum page_record record; /* which rows the table shows */
    const char *intro;       /* sentences under the title, or NULL */
    /* Only rows with a value in this field are shown, and the table only if there are such rows. GCB_FIELD_NONE: all. */
    enum gcb_field needs;
    const char *folds; /* text of the line under which many rows are folded; NULL: never fold */
    const char *
        quiet; /* text of the line under which rows of rank 2 (page_row_rank) are folded; NULL: they are not */
    bool folded; /* fold few rows too */
    bool where; /* show where cases ran: in columns, or in a line above if it is the same for all */
    bool plots_follow; /* the plots and the table of tensors come after this table */
    /* The first column names the row. A column without a title ends the list. */
    struct page_column columns[PAGE_COLUMNS + 1];
    struct page_chart charts[PAGE_CHARTS];
};
bool page_table_shows(const struct page_table *table, const struct page *page);
/* Prints a section with the table and its charts except `first`; prints nothing if page_table_shows returns false. */
void page_table(FILE *out, const struct page_table *table, const struct page *page,
                const struct page_chart *first);
/* Returns the chart that stands at the top of the page, and its table; NULL if no table has a chart. */
const struct page_chart *page_first_chart(const struct page_table **table, const struct page *page);
void page_chart(FILE *out, const struct page_chart *chart, const struct page_table *table);

/* page_tables.c: the tables in the order of the page. A table without a title ends the list. */
extern const struct page_table page_tables[];

/* page_head.c: page_head prints the title and the machine, page_remarks the reasons to doubt the times. */
void page_head(FILE *out, const struct page *page, const char *title);
void page_remarks(FILE *out, const struct page *page);

/* page_answer.c: page_answer prints what the commands answered, or what the rows say; page_methods prints the boxes that
 * show and hide methods. */
void page_answer(FILE *out, const struct page *page);
void page_methods(FILE *out, const struct page *page);

/* page_history.c: adds the rows PAGE_HISTORY of cases that ran at several dates, and marks all summary rows of these cases
 * except the newest as older. 0, or -1 if memory runs out. */
int page_add_history(struct page *page);

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

/* Made from page.css and page.js by embed_page.py: lines that end with NULL, and the script's hash. */
extern const char *const page_style[], *const page_script[], page_script_hash[];

#endif
