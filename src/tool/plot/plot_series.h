#ifndef SRC_TOOL_PLOT_PLOT_SERIES_H
#define SRC_TOOL_PLOT_PLOT_SERIES_H

#include "src/tool/plot/plot_rows.h"

/*
 * The cases of a page, one of each spec, and which of them are one curve. `first` is the page's (gcb_plot_split_first).
 */
struct gcb_plot_cases {
    const struct gcb_plot_case **items; /* borrowed from the data, unless they are owned */
    size_t count, cap;
    bool owned;
};
/* Release with gcb_plot_cases_fini, also on failure. */
int gcb_plot_cases_of(struct gcb_plot_cases *out, const struct gcb_plot_data *data,
                      const struct gcb_plot_split *split, const void *first, struct gcb_diag *diag);
/* Appends a case unless one of its spec is there. */
int gcb_plot_cases_add(struct gcb_plot_cases *cases, const struct gcb_plot_case *c,
                       struct gcb_diag *diag);
/* The same of rows that are no cases but name a method: one with nothing but that, owned. Not to be mixed. */
int gcb_plot_cases_add_spec(struct gcb_plot_cases *cases, const char *method, const char *spec,
                            struct gcb_diag *diag);
/* memcpy is a bound of methods and none itself: takes it out of borrowed cases and returns its GB/s. NAN: it is not there. */
double gcb_plot_cases_take_memcpy(struct gcb_plot_cases *cases);
void gcb_plot_cases_fini(struct gcb_plot_cases *cases); /* zeroed is fine */

/*
 * A curve: cases of a method that differ in one parameter, in the order of bits per element; the label
 * says what distinguishes it from other curves of the page and which values it runs through.
 */
#define GCB_PLOT_LABEL 128
#define GCB_PLOT_LABEL_WIDTH 46 /* columns of a legend; a longer label loses its middle there */
struct gcb_plot_series {
    char label[GCB_PLOT_LABEL];
    unsigned style;      /* from 1; of baselines (fp16, bf16, identity) from 101 */
    size_t first, count; /* in the cases, which were put in order */
};
struct gcb_plot_set {
    struct gcb_plot_series *items;
    size_t count, cap;
};
/* Reorders the cases by method. With `apart` every case is a series of its own, so that series i is case i. */
int gcb_plot_set_of(struct gcb_plot_set *out, struct gcb_plot_cases *cases, bool apart,
                    struct gcb_diag *diag);
void gcb_plot_set_fini(struct gcb_plot_set *set);

/* Pages of cases are files and scopes; where times are shown, also runs, devices, threads, instruction sets and
 * caches. */
extern const struct gcb_plot_split gcb_plot_cases_by_error, gcb_plot_cases_by_time;

/* The value of a key in a spec, "method:key=value,key=value": as a number, NAN if it is none; as text, "" if the spec
 * lacks the key. */
double gcb_plot_spec_real(const char *spec, const char *key);
char *gcb_plot_spec_text(char out[32], const char *spec, const char *key);

/* The place of a baseline among baselines, from 1; 0: the method is no baseline. */
unsigned gcb_plot_baseline(const char *method);

#endif
