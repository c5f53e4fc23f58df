#ifndef SRC_TOOL_PAGE_PAGE_PARTS_H
#define SRC_TOOL_PAGE_PAGE_PARTS_H

#include "src/tool/page/page.h"
#include "src/tool/page/page_table.h"

/* The parts of the page that page.c puts together. */

extern const struct page_table
    page_tables[]; /* page_tables.c: in the order of the page; ends with one without a title */

/* page_head.c: title, machine, what speaks against the figures; then the main ones */
void page_head(FILE *out, const struct page *page, const char *title);
void page_cards(FILE *out, const struct page *page);

/* page_source.c: machine, build and command of each run */
void page_environments(FILE *out, const struct page *page);

/* page_tensors.c: the errors by tensor and method */
void page_tensors_table(FILE *out, const struct page_tensors *t);

/* page_plots.c: a section of plots. Fails only for want of memory. */
int page_plots(FILE *out, struct gcb_page_outcome *outcome, const struct page *page,
               const struct gcb_page_config *config, struct gcb_diag *diag);

extern const char page_style[]; /* page_style.c */

#endif
