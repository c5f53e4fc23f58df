#ifndef SRC_TOOL_PLOT_PLOT_SERIES_H
#define SRC_TOOL_PLOT_PLOT_SERIES_H

#include "src/tool/plot/plot_rows.h"

/* Rows, borrowed from the data. */
struct gcb_plot_cases {
    const struct gcb_plot_record **items;
    size_t count, cap;
};

/*
 * A curve: cases of a method that differ in one parameter, in the order of bits per element. The label says what
 * distinguishes the curve from others of the page, and which values the parameter runs through.
 */
#define GCB_PLOT_LABEL 128
#define GCB_PLOT_LABEL_WIDTH 46 /* columns of a legend; a longer label loses its middle there */
struct gcb_plot_series {
    char label[GCB_PLOT_LABEL];
    unsigned style;      /* from 1; baselines (fp16, bf16, identity): from 101 */
    size_t first, count; /* among the cases of the set */
};

/* The cases of a page, one of each spec, and the series that they make. Starts zeroed; release with
 * gcb_plot_set_fini. */
struct gcb_plot_set {
    struct gcb_plot_cases cases;
    struct gcb_plot_series *items;
    size_t count, cap;
    double
        memcpy_gbps; /* of the row `memcpy`, which is a bound of methods and not a case; NAN: there is none */
};
/* The set of the page of `first`, and its series (gcb_plot_set_divide). */
int gcb_plot_set_collect(struct gcb_plot_set *set, const struct gcb_plot_data *data,
                         const struct gcb_plot_split *split, const struct gcb_plot_record *first,
                         bool apart, struct gcb_diag *diag);
/* Adds a row of any kind that has a method and a spec, unless one with its spec is there. */
int gcb_plot_set_add(struct gcb_plot_set *set, const struct gcb_plot_record *row,
                     struct gcb_diag *diag);
/* Makes the series and puts the cases into their order. With `apart` each case is a series of its own: series i is
 * case i. */
int gcb_plot_set_divide(struct gcb_plot_set *set, bool apart, struct gcb_diag *diag);
void gcb_plot_set_fini(struct gcb_plot_set *set);

/* Summaries that have an error, times, or both. Cases on one page share file and scope; if the page shows times, also
 * run, device, threads, instruction set and cache. */
extern const struct gcb_plot_split gcb_plot_cases_by_error, gcb_plot_cases_by_time,
    gcb_plot_cases_by_both;

/* The value of a key in a spec, "method:key=value,key=value": as a number, NAN if it is none; as text, "" if the spec
 * lacks the key. */
double gcb_plot_spec_real(const char *spec, const char *key);
char *gcb_plot_spec_text(char out[32], const char *spec, const char *key);

/* The place of a baseline among baselines, from 1; 0: the method is no baseline. */
unsigned gcb_plot_baseline(const char *method);

#endif
