#ifndef SRC_TOOL_PLOT_PLOT_PAGE_H
#define SRC_TOOL_PLOT_PLOT_PAGE_H

#include <math.h>
#include <stdio.h>

#include "src/tool/plot/plot_series.h"
#include "src/tool/rows/fields.h"

/*
 * The output of a plot for its gnuplot script: variables, with which the script begins, and a file of data. The
 * program chooses the names of variables and columns; texts may contain anything.
 *
 * A text in a variable is in single quotes, where gnuplot runs and expands nothing. Quotes in the text are doubled,
 * and control characters become '?'. The data has blocks, which gnuplot numbers from 0. A block is a line with the
 * names of its columns, then rows of cells: numbers, or texts in double quotes (a double quote in a text becomes two
 * single quotes). A number that is not finite is written as NaN. Writing never fails; gcb_plot_page_close says whether
 * memory was enough for all of the output.
 */
struct gcb_plot_page {
    const char *heading;     /* copy of `heading` in struct gcb_plot */
    struct gcb_plot_set set; /* the series of the page's rows, if the plot asks for them */
    FILE *vars, *data;
    char *vars_text, *data_text; /* complete after gcb_plot_page_close */
    size_t vars_size, data_size;
    size_t cells, blocks; /* cells in the current row; blocks so far */
    size_t items_left;    /* items that the current array still needs */
};

int gcb_plot_page_open(struct gcb_plot_page *page, struct gcb_diag *diag);
int gcb_plot_page_close(struct gcb_plot_page *page, struct gcb_diag *diag);
void gcb_plot_page_fini(struct gcb_plot_page *page); /* a zeroed struct is allowed */

/* Write "name = 'text'" or "name = value". A text of NULL is written as ''. */
void gcb_plot_var_text(struct gcb_plot_page *page, const char *name, const char *text);
void gcb_plot_var_real(struct gcb_plot_page *page, const char *name, double value);
/* A range of values for an axis. gcb_plot_range_add widens it for a finite value, gcb_plot_range_add_positive only for
 * a finite value above 0. gcb_plot_var_range writes its ends as NAME_low and NAME_high, and NAME_tics, tics for a
 * logarithmic axis: `set xtics (@NAME_tics)`. */
struct gcb_plot_range {
    double low, high;
};
#define GCB_PLOT_RANGE_EMPTY ((struct gcb_plot_range){INFINITY, -INFINITY})
void gcb_plot_range_add(struct gcb_plot_range *range, double value);
void gcb_plot_range_add_positive(struct gcb_plot_range *range, double value);
void gcb_plot_var_range(struct gcb_plot_page *page, const char *name,
                        const struct gcb_plot_range *range); /* writes 1 to 1 if range is empty */
/* The same with a unit at each tic, as people write it: "30 ms", "1 s". `units` is ordered from the largest, and ends with a
 * name of NULL. There are about `most` tics. The axis is linear if it begins at 0. */
struct gcb_plot_unit {
    double size;
    const char *name;
};
void gcb_plot_var_units(struct gcb_plot_page *page, const char *name,
                        const struct gcb_plot_range *range, const struct gcb_plot_unit *units,
                        size_t most);
extern const struct gcb_plot_unit gcb_plot_seconds[];
/* Writes an error as 0.31, 0.014 or 0; "?" if it is unknown. Returns out. */
#define GCB_PLOT_ERROR 16
char *gcb_plot_error(char out[GCB_PLOT_ERROR], double error);
/* Returns what pictures call a kind of error of `payoff`. */
const char *gcb_plot_kind(const char *kind);
/* Write an array: call gcb_plot_array_begin, then write `count` items. gnuplot counts items from 1 and has no empty
 * arrays, so an array without items is written as [1]. A text of more than `width` columns loses its middle. */
void gcb_plot_array_begin(struct gcb_plot_page *page, const char *name, size_t count);
void gcb_plot_array_text(struct gcb_plot_page *page, const char *text, size_t width);
void gcb_plot_array_real(struct gcb_plot_page *page, double value);

/* Starts a block of data. `columns` has the names of the columns, ending with NULL. A column that shows a field of the
 * rows is named like the field. */
#define GCB_PLOT_FIELD(id) gcb_field_name(GCB_FIELD_##id)
void gcb_plot_block(struct gcb_plot_page *page, const char *const *columns);
#define GCB_PLOT_BLOCK(page, ...) gcb_plot_block(page, (const char *const[]){__VA_ARGS__, NULL})
/* Writes numbers, then `text` unless it is NULL, and ends the row. Other texts of the row come first, with
 * gcb_plot_cell_text. */
void gcb_plot_row(struct gcb_plot_page *page, const double *values, size_t count, const char *text);
#define GCB_PLOT_ROW(page, text, ...) \
    gcb_plot_row(page, (const double[]){__VA_ARGS__}, \
                 sizeof((const double[]){__VA_ARGS__}) / sizeof(double), text)
void gcb_plot_cell_text(struct gcb_plot_page *page, const char *text);

enum gcb_plot_by { GCB_PLOT_BY_ERROR, GCB_PLOT_BY_TIME };
/* Sets the variables plot_title, plot_file and plot_machine. `like` is any row of the page. */
void gcb_plot_heading(struct gcb_plot_page *page, const char *title,
                      const struct gcb_plot_data *data, const struct gcb_plot_record *like,
                      enum gcb_plot_by by);
/* Does the same as gcb_plot_heading, for rows without a file or a scope: `file` and `scope` may be "". */
void gcb_plot_heading_of(struct gcb_plot_page *page, const char *title, const char *file,
                         const char *scope, const struct gcb_plot_record *env);
/* Sets `series`, the number of series, and the arrays label, members (how many points a series has), and those of the
 * series' styles: colour, ink, point and dash.
 * Returns the approximate width in pixels of a legend with these labels. */
double gcb_plot_legend(struct gcb_plot_page *page, const struct gcb_plot_set *set);
/* Set plot_width and plot_height for one picture, or two, with a legend of this many pixels at the side (`panel` in
 * plots/style.gp), which has one column. */
void gcb_plot_one_panel(struct gcb_plot_page *page, double legend);
void gcb_plot_two_panels(struct gcb_plot_page *page, double legend);

/* A bar of a chart, for one case of a set. The pointers are borrowed. */
struct gcb_plot_bar {
    const struct gcb_plot_record *item;
    const char *label;
};
/*
 * Makes a bar for each case of the page (with GCB_PLOT_APART) and sorts the bars with `compare`. A chart shows the
 * first *shown bars; the variables `rows` and `rows_left_out` say how many are shown and left out. Release *out with
 * gcb_free. Returns GCB_E_NOMEM if memory runs out.
 */
int gcb_plot_bars(struct gcb_plot_bar **out, size_t *shown, struct gcb_plot_page *page,
                  int (*compare)(const void *a, const void *b), struct gcb_diag *diag);
/* Makes the bars, and gives the shown ones to `put`, which writes them as rows. Sets plot_height too: `around` pixels and
 * `each` pixels for a bar. GCB_E_NOMEM. */
int gcb_plot_bar_rows(struct gcb_plot_page *page, double around, double each,
                      int (*compare)(const void *a, const void *b),
                      void (*put)(struct gcb_plot_page *out, const struct gcb_plot_bar *bars,
                                  size_t count),
                      struct gcb_diag *diag);
/* Writes the bars' labels as the array `label`. */
void gcb_plot_bar_labels(struct gcb_plot_page *page, const struct gcb_plot_bar *bars, size_t count);

#endif
