#ifndef SRC_TOOL_PAGE_PAGE_PARTS_H
#define SRC_TOOL_PAGE_PAGE_PARTS_H

#include "src/tool/page/page.h"
#include "src/tool/page/page_rows.h"

/* The parts of the page, which page.c puts together. */

/* A column. The table of fields says how it is shown. */
struct page_column {
    const char *title;
    enum gcb_field field;
    enum gcb_field low, high; /* the ends of an interval, shown in brackets after the value */
    enum gcb_field seconds;   /* the interval is one of these seconds, and the value is a rate */
    bool explained;           /* its meaning stands under the table */
};
#define PAGE_COLUMNS 15 /* at most */
struct page_table {
    const char *id, *title;
    enum page_record record; /* its rows */
    const char *intro;       /* sentences under the title, or NULL */
    enum gcb_field
        needs; /* the table is shown only if some row has this field; NONE: if it has rows */
    const char *folds; /* many rows are folded under this line; NULL: never */
    bool where; /* says where cases ran: in columns, or in a line above if all ran in one place */
    bool plots_follow; /* the plots and the table of tensors stand after it */
    struct page_column
        columns[PAGE_COLUMNS + 1]; /* end before one without a title; the first is the row's name */
};
bool page_table_shows(const struct page_table *table, const struct page *page);
/* A section with the table; nothing unless page_table_shows. */
void page_table(FILE *out, const struct page_table *table, const struct page *page);

/* page_tables.c: in the order of the page; ends with a table without a title. */
extern const struct page_table page_tables[];

/* page_head.c: the title, the machine, and reasons to doubt the figures; then the main figures. */
void page_head(FILE *out, const struct page *page, const char *title);
void page_cards(FILE *out, const struct page *page);

/* page_source.c: the machine, the build and the command of each run. */
void page_environments(FILE *out, const struct page *page);

/* page_tensors.c: the errors by tensor and method. */
void page_tensors_table(FILE *out, const struct page_tensors *t);

/* page_plots.c: draws all plots as figures; then the section that has them, if there is something to say. Drawing fails
 * only if there is no memory. */
int page_draw_figures(FILE *out, struct gcb_page_outcome *outcome, const struct page *page,
                      const struct gcb_page_config *config, struct gcb_diag *diag);
void page_plots(FILE *out, const struct gcb_page_outcome *outcome, const char *figures);
bool page_has_plots(const struct gcb_page_outcome *outcome); /* does the section of plots exist? */

extern const char page_style[]; /* page_style.c */

#endif
