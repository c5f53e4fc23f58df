#ifndef SRC_TOOL_PAGE_PAGE_H
#define SRC_TOOL_PAGE_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "src/lib/base/diag.h"

/*
 * Result files as one page of HTML (docs/report.md): tables of what records there are, and plots in between. It
 * loads nothing, runs nothing, and shows texts of files as they are.
 */
struct gcb_page_config {
    const char *title; /* NULL: one from what was read */
    const char *const *files;
    size_t file_count;
    /* Plots are drawn with the help of temporary files in this folder, an existing one. NULL: no plots. */
    const char *plot_folder;
    void (*progress)(void *ctx, double share); /* of the plots; may be NULL */
    bool (*stop)(void *ctx);                   /* asked before each plot; NULL: never */
    void *ctx;
};

/* What became of it. */
struct gcb_page_outcome {
    size_t plots;      /* drawn */
    char without[512]; /* why there are none, or not all; "" if nothing is missing */
    bool stopped;
};

/*
 * Reads the files, each as gcb_results_read does (not "-": plots read them again), and writes the page. GCB_E_INVALID:
 * no row in them has a place on the page. That plots cannot be drawn is no failure: the page says so.
 */
int gcb_page_write(FILE *out, struct gcb_page_outcome *outcome,
                   const struct gcb_page_config *config, struct gcb_diag *diag);

#endif
