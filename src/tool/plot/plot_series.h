#ifndef SRC_TOOL_PLOT_PLOT_SERIES_H
#define SRC_TOOL_PLOT_PLOT_SERIES_H

#include "src/tool/plot/plot_rows.h"
#include "src/tool/plot/plot_style.h"

/* A list of cases, which are rows of a gcb_plot_data. The rows are borrowed. */
struct gcb_plot_cases {
    const struct gcb_plot_record **items;
    size_t count, cap;
};

/*
 * A series: usually a curve through cases of a method that differ in one parameter, in the order of bits per element.
 * The label says what distinguishes the curve from other curves on the page, and the range of the parameter.
 */
#define GCB_PLOT_LABEL 128
#define GCB_PLOT_LABEL_WIDTH 46 /* columns of a legend; a longer label loses its middle there */
struct gcb_plot_series {
    char label[GCB_PLOT_LABEL];
    size_t name_length; /* bytes of the label without the parameter's range */
    const char *method; /* name of the method; interned */
    struct gcb_plot_style style;
    size_t first, count; /* index of the first case in the set, and number of cases */
};

/* The cases of a page, one for each spec, and the series of these cases. Zero the struct before use; release it with
 * gcb_plot_set_fini. */
struct gcb_plot_set {
    struct gcb_plot_cases cases;
    struct gcb_plot_series *items;
    size_t count, cap;
    /* Speed of the `memcpy` row, which is not a case but an upper bound for methods; NAN if there is no such row. */
    double memcpy_gbps;
};
/* Collects the cases of the page that begins with the row `first`, and makes the series (gcb_plot_set_divide). */
int gcb_plot_set_collect(struct gcb_plot_set *set, const struct gcb_plot_data *data,
                         const struct gcb_plot_split *split, const struct gcb_plot_record *first,
                         bool apart, struct gcb_diag *diag);
/* Adds a row that has a method and a spec, of any kind, unless the set already has a row with the same setting. */
int gcb_plot_set_add(struct gcb_plot_set *set, const struct gcb_plot_record *row,
                     struct gcb_diag *diag);
/* Makes the series and sorts the cases by series. With `apart` each case is a series of its own, and series i has case
 * i. */
int gcb_plot_set_divide(struct gcb_plot_set *set, bool apart, struct gcb_diag *diag);
/* Adds an empty series of a method. Its style is that of the method's next variant, in a colour that no other method of the
 * set has, as long as there are enough. NULL if memory runs out. */
struct gcb_plot_series *gcb_plot_set_name(struct gcb_plot_set *set, const char *label,
                                          const char *method);
void gcb_plot_set_fini(struct gcb_plot_set *set);

/* Split summary rows that have an error, times, or both. Cases on one page have the same file and scope. If the page
 * shows times, they also have the same run, device, threads, instruction set and cache. */
extern const struct gcb_plot_split gcb_plot_cases_by_error, gcb_plot_cases_by_time,
    gcb_plot_cases_by_both;

/* Return the value of a key in a spec "method:key=value,key=value". As a text, the value is "" if the spec lacks the
 * key. As a number, it is NAN if the spec lacks the key or the value is no number. */
double gcb_plot_spec_real(const char *spec, const char *key);
char *gcb_plot_spec_text(char out[32], const char *spec, const char *key);

#endif
