#ifndef SRC_TOOL_PLOT_PLOT_SERIES_H
#define SRC_TOOL_PLOT_PLOT_SERIES_H

#include "src/tool/plot/plot_rows.h"
#include "src/tool/plot/plot_style.h"

/* A list of cases, which are rows of a gcb_plot_data. The rows are borrowed. Release `items` with
 * gcb_free. */
struct gcb_plot_cases {
    const struct gcb_plot_record **items;
    size_t count, cap;
};
/* Appends a row. */
void gcb_plot_cases_add(struct gcb_plot_cases *cases, const struct gcb_plot_record *row);

/*
 * A series: usually a curve through cases of a method that differ in one parameter, in the order of
 * bits per element. The label says what distinguishes the curve from other curves on the page, and
 * the range of the parameter.
 */
#define GCB_PLOT_LABEL 192 /* bytes of a label */
struct gcb_plot_series {
    char label[GCB_PLOT_LABEL];
    const char *method; /* name of the method; interned */
    struct gcb_plot_style style;
    size_t first, count; /* index of the first case in the set, and number of cases */
    double rank;         /* the series with the lowest ranks get names; INFINITY: it gets none */
    bool named;          /* in the legend; other series are grey, and the legend counts them */
};

/* The cases of a page, one for each setting, and the series of these cases. Zero the struct before
 * use; release it with gcb_plot_set_fini. */
struct gcb_plot_set {
    struct gcb_plot_cases cases;
    struct gcb_plot_series *items;
    size_t count, cap, named;
    /* Speed of the `memcpy` row, which is not a case but an upper bound for methods; NAN if there
     * is no such row. */
    double memcpy_gbps;
};
/* Collects the cases of the page of the row `first`, and makes the series as plot->series
 * says. */
void gcb_plot_set_collect(struct gcb_plot_set *set, const struct gcb_plot_data *data,
                          const struct gcb_plot *plot, const struct gcb_plot_record *first);
/* Adds a row with a method and a spec as a case, unless the set has a case with this setting. */
void gcb_plot_set_add(struct gcb_plot_set *set, const struct gcb_plot_record *row);
/* Makes the series and sorts the cases by series. With `apart` each case is a series of its own. */
void gcb_plot_set_divide(struct gcb_plot_set *set, bool apart);
/* Adds a series of a method, without cases, and returns it. Its style is that of the method's next
 * variant, in a colour that no other method of the set has, as long as there are enough. */
struct gcb_plot_series *gcb_plot_set_name(struct gcb_plot_set *set, const char *label,
                                          const char *method);
/* Chooses at most `most` series that get names: the baselines, and the other series with the lowest
 * ranks. If the other series need them, they get at least half of the names. Sets the styles. Sorts
 * the series: first those with names, with the baselines last, then those without. */
void gcb_plot_set_choose(struct gcb_plot_set *set, size_t most);
/* Most names of a legend. It has twelve entries, and the last one counts the other series. */
#define GCB_PLOT_NAMED 11
void gcb_plot_set_fini(struct gcb_plot_set *set); /* zeroed is fine */

/* Copies the value of a key in a spec "method:key=value,key=value", cut to 31 bytes; "" if the spec
 * lacks the key. Returns out. */
char *gcb_plot_spec_text(char out[32], const char *spec, const char *key);

#endif
