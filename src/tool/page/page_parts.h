#ifndef SRC_TOOL_PAGE_PAGE_PARTS_H
#define SRC_TOOL_PAGE_PAGE_PARTS_H

#include "src/tool/page/page.h"
#include "src/tool/page/page_table.h"

/* The parts of the page, which page.c puts together. */

/* page_tables.c: in the order of the page; ends with a table without a title. */
extern const struct page_table page_tables[];

/* page_head.c: the title, the machine, and reasons to doubt the figures; then the main figures. */
void page_head(FILE *out, const struct page *page, const char *title);
void page_cards(FILE *out, const struct page *page);

/* page_source.c: the machine, the build and the command of each run. */
void page_environments(FILE *out, const struct page *page);

/* page_tensors.c: the errors by tensor and method. */
void page_tensors_table(FILE *out, const struct page_tensors *t);

/* page_plots.c: a section of plots. Fails only if there is no memory. */
int page_plots(FILE *out, struct gcb_page_outcome *outcome, const struct page *page,
               const struct gcb_page_config *config, struct gcb_diag *diag);

extern const char page_style[]; /* page_style.c */

#endif
