#ifndef SRC_TOOL_PAGE_PAGE_PARTS_H
#define SRC_TOOL_PAGE_PAGE_PARTS_H

#include <jansson.h>

#include "src/tool/page/page.h"
#include "src/tool/plot/plot.h"

/* page_plots.c: appends {title, svg} of each plot that the page shows. Fails only if memory runs out. */
int page_draw_figures(json_t *out, struct gcb_page_outcome *outcome,
                      const struct gcb_page_config *config, const struct gcb_plot_data *data,
                      struct gcb_diag *diag);

/* Made by embed_page.py from page.html, page.css and page.js: lines that end with NULL. The data stand between them. */
extern const char *const page_before[], *const page_after[];

#endif
