#ifndef SRC_TOOL_PAGE_PAGE_H
#define SRC_TOOL_PAGE_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "src/lib/base/diag.h"

/*
 * Result files as one page of HTML (docs/plots.md): an answer, charts, a table for each kind of
 * record, and pictures. The page loads nothing, and its own script (page.js) makes it from the
 * rows, which it has as JSON.
 */
struct gcb_page_config {
    const char *title; /* NULL: the title is made from the names of the inputs */
    const char *const *files;
    size_t file_count;
    /* An existing folder for temporary files of plots. NULL: no plots. */
    const char *plot_folder;
    bool (*stop)(void); /* says whether to stop before a plot; may be NULL */
};

struct gcb_page_outcome {
    size_t plots;      /* number of plots drawn */
    char without[512]; /* why plots are missing; "" if no plot is missing */
    bool stopped;
};

/*
 * Reads the files and writes the page. Fails as gcb_results_read does; also returns GCB_E_CORRUPT
 * if no row of the files has a place on the page. If a plot cannot be drawn, the page says why;
 * this is not a failure.
 */
int gcb_page_write(FILE *out, struct gcb_page_outcome *outcome,
                   const struct gcb_page_config *config, struct gcb_diag *diag);

/* Made by embed_page.py from page.html, page.css and page.js: lines that end with NULL. The data
 * stand between them. */
extern const char *const page_before[], *const page_after[];

#endif
