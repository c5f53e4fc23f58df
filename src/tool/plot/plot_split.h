#ifndef SRC_TOOL_PLOT_PLOT_SPLIT_H
#define SRC_TOOL_PLOT_PLOT_SPLIT_H

#include "src/tool/plot/plot_rows.h"

/*
 * How rows are split into pages: those of one array that are wanted, and of these the ones that may stand in one picture.
 * `same_page` is an equivalence of wanted rows. Pages are in the order of their first rows, at most
 * GCB_PLOT_PAGES.
 */
struct gcb_plot_split {
    size_t array; /* offset of the gcb_plot_array in struct gcb_plot_data */
    size_t size;  /* of a row */
    bool (*is_wanted)(const void *row);
    bool (*same_page)(const void *a, const void *b);
};

size_t gcb_plot_split_pages(const struct gcb_plot_split *split, const struct gcb_plot_data *data);
/* The first row of a page, which names the page in all that follows. NULL with GCB_E_INVALID in diag: no such page. */
const void *gcb_plot_split_first(const struct gcb_plot_split *split,
                                 const struct gcb_plot_data *data, size_t page,
                                 struct gcb_diag *diag);
/* Rows of the page of `first` one after the other: the next one past `at`, its first for NULL; NULL past the last. */
const void *gcb_plot_split_next(const struct gcb_plot_split *split,
                                const struct gcb_plot_data *data, const void *first,
                                const void *at);

/* Pages of cases are files and scopes and, where times are shown, also runs, devices, threads, instruction sets and
 * caches; src/tool/plot/plot_cases.c. */
extern const struct gcb_plot_split gcb_plot_cases_by_error, gcb_plot_cases_by_time;
/* Pages of histograms are result files that have some of the input, or of errors; src/tool/plot/plot_bins.c. */
extern const struct gcb_plot_split gcb_plot_bins_of_inputs, gcb_plot_bins_of_errors;

#endif
