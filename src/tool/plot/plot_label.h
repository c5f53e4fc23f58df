#ifndef SRC_TOOL_PLOT_PLOT_LABEL_H
#define SRC_TOOL_PLOT_PLOT_LABEL_H

#include "src/tool/plot/plot_series.h"

/*
 * Labels of cases: the method, and those of its parameters that are not the same in all its cases on a page.
 * Specs are "method:key=value,key=value".
 */
#define GCB_PLOT_KEYS 24
#define GCB_PLOT_VALUES 64

/* A piece of a spec. */
struct gcb_plot_piece {
    const char *at;
    size_t length;
};

struct gcb_plot_key {
    struct gcb_plot_piece name;
    struct gcb_plot_piece values[GCB_PLOT_VALUES];
    size_t distinct;
};

/* Of a method's cases on a page. Specs are borrowed. */
struct gcb_plot_keys {
    struct gcb_plot_key items[GCB_PLOT_KEYS];
    size_t count;
    const struct gcb_plot_key
        *curve; /* the one with most values, which runs along a curve; or NULL */
};

/* With `apart` there is no curve. */
void gcb_plot_keys_of(struct gcb_plot_keys *keys, const struct gcb_plot_cases *cases,
                      const char *method, bool apart);

/* The method and what sets this case apart from others of it, but for where it is along its curve. */
void gcb_plot_label_of(char label[GCB_PLOT_LABEL], const struct gcb_plot_case *c,
                       const struct gcb_plot_keys *keys);

/* Columns of a legend; a longer label loses its middle there. */
#define GCB_PLOT_LABEL_WIDTH 46

/* Appends ", theta 0.5 to 0.99" where the curve runs through numbers, and that is not too long: what sets a curve apart
 * from others has to stay. */
void gcb_plot_label_range(struct gcb_plot_series *s, const struct gcb_plot_cases *cases,
                          const struct gcb_plot_key *key);

/* The value of a key of a spec as a number, NAN where it is none; and as text, "" where it has no such key. */
double gcb_plot_spec_real(const char *spec, const char *key);
char *gcb_plot_spec_text(char out[32], const char *spec, const char *key);

/* The place of a baseline among baselines, from 1; 0: it is none. */
unsigned gcb_plot_baseline(const char *method);

#endif
