#ifndef SRC_TOOL_PAGE_PAGE_H
#define SRC_TOOL_PAGE_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "src/lib/base/diag.h"

/*
 * Result files as one page of HTML (docs/report.md): a table for each kind of record, and plots. The page loads
 * nothing, runs nothing, and shows texts of files as they are.
 */
struct gcb_page_config {
    const char *title; /* NULL: made from the names of the inputs */
    const char *const *files;
    size_t file_count;
    /* An existing folder for temporary files of plots. NULL: no plots. */
    const char *plot_folder;
    void (*progress)(void *ctx, double share); /* of the plots; may be NULL */
    bool (*stop)(void *ctx);                   /* asked before each plot; NULL: never */
    void *ctx;
};

struct gcb_page_outcome {
    size_t plots;      /* drawn */
    char without[512]; /* why plots are missing; "" if none are */
    bool stopped;
};

/*
 * Reads the files, each as gcb_results_read does, and writes the page. GCB_E_CORRUPT: no row of the files has a place
 * on the page. Plots that cannot be drawn are not a failure: the page says why they are missing.
 */
int gcb_page_write(FILE *out, struct gcb_page_outcome *outcome,
                   const struct gcb_page_config *config, struct gcb_diag *diag);

#endif
