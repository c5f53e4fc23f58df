#ifndef SRC_TOOL_PAGE_PAGE_H
#define SRC_TOOL_PAGE_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "src/lib/base/diag.h"

/*
 * Result files as one page of HTML (docs/plots.md): an answer, pictures of plots, tables of the
 * rows, and facts about the runs. The page has the rows as JSON and the pictures as SVG; its script
 * (page.js) makes everything else. The page needs no other file and no network.
 */
struct gcb_page_config {
    const char *title; /* NULL: the title is made from the names of the inputs */
    const char *const *files;
    size_t file_count;
    /* An existing folder for temporary files of plots. NULL: no plots. */
    const char *plot_folder;
    /* True if no further plot should be drawn. May be NULL. */
    bool (*stop)(void);
};

struct gcb_page_outcome {
    size_t plots;      /* number of pictures drawn; a plot may have several */
    char without[512]; /* why the first plot that failed could not be drawn; "": none failed */
    bool stopped;      /* config->stop returned true, so plots are missing */
};

/*
 * Reads the files and writes the page to `out`; the caller finds write errors by ferror. Fails as
 * gcb_results_read does, and with GCB_E_CORRUPT if the files have no row that the page shows,
 * except `environment` rows. A plot that cannot be drawn is no failure: the page says why the first
 * such plot is missing.
 */
int gcb_page_write(FILE *out, struct gcb_page_outcome *outcome,
                   const struct gcb_page_config *config, struct gcb_diag *diag);

/* The text of the page before and after its data: lines, then NULL. embed_page.py makes them from
 * page.html, page.css and page.js. */
extern const char *const page_before[], *const page_after[];

#endif
