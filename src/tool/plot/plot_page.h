#ifndef SRC_TOOL_PLOT_PLOT_PAGE_H
#define SRC_TOOL_PLOT_PLOT_PAGE_H

#include <math.h>
#include <stdio.h>

#include "src/tool/plot/plot_series.h"
#include "src/tool/rows/fields.h"

/*
 * What a plot hands to its script: variables, which the script begins with, and a file of data. Names of variables
 * and columns are the program's own words; texts may be anything.
 *
 * A variable's text is in single quotes, where gnuplot runs nothing and expands nothing; quotes in it are doubled,
 * control characters and invalid bytes become '?'. Data has blocks, which gnuplot numbers from 0. A block is a line
 * with the names of its columns, then rows of cells: numbers, or texts in double quotes (a double quote inside is
 * shown as two single ones). A number that is not finite is NaN. Writing never fails; gcb_plot_page_close says
 * whether all of it was kept.
 */
struct gcb_plot_page {
    const char *heading;     /* of struct gcb_plot */
    struct gcb_plot_set set; /* the series of the page's rows, if the plot asks for them */
    FILE *vars, *data;
    char *vars_text, *data_text; /* complete once closed */
    size_t vars_size, data_size;
    size_t cells, blocks; /* cells of the row; blocks so far */
    size_t items_left;    /* of the array */
};

int gcb_plot_page_open(struct gcb_plot_page *page, struct gcb_diag *diag);
int gcb_plot_page_close(struct gcb_plot_page *page, struct gcb_diag *diag);
void gcb_plot_page_fini(struct gcb_plot_page *page); /* zeroed is fine */

/* name = 'text'. NULL is ''. */
void gcb_plot_var_text(struct gcb_plot_page *page, const char *name, const char *text);
void gcb_plot_var_real(struct gcb_plot_page *page, const char *name, double value);
/* The ends of a range, as NAME_low and NAME_high. A range grows by values that are finite (and above 0). */
struct gcb_plot_range {
    double low, high;
};
#define GCB_PLOT_RANGE_EMPTY ((struct gcb_plot_range){INFINITY, -INFINITY})
void gcb_plot_range_add(struct gcb_plot_range *range, double value);
void gcb_plot_range_add_positive(struct gcb_plot_range *range, double value);
void gcb_plot_var_range(struct gcb_plot_page *page, const char *name,
                        const struct gcb_plot_range *range); /* an empty range is 1 to 1 */
/* An array, from 1: begin, then `count` items. gnuplot has no empty arrays: one without items is written as [1]. A text
 * of more than `width` columns loses its middle. */
void gcb_plot_array_begin(struct gcb_plot_page *page, const char *name, size_t count);
void gcb_plot_array_text(struct gcb_plot_page *page, const char *text, size_t width);
void gcb_plot_array_real(struct gcb_plot_page *page, double value);

/* Starts a block of data. `columns` has the names of the columns, ending with NULL. A column that shows a field of the
 * rows is named like the field. */
#define GCB_PLOT_FIELD(id) gcb_field_name(GCB_FIELD_##id)
void gcb_plot_block(struct gcb_plot_page *page, const char *const *columns);
#define GCB_PLOT_BLOCK(page, ...) gcb_plot_block(page, (const char *const[]){__VA_ARGS__, NULL})
/* Ends a row with numbers and, unless it is NULL, a text. Further texts of the row stand before them. */
void gcb_plot_row(struct gcb_plot_page *page, const double *values, size_t count, const char *text);
#define GCB_PLOT_ROW(page, text, ...) \
    gcb_plot_row(page, (const double[]){__VA_ARGS__}, \
                 sizeof((const double[]){__VA_ARGS__}) / sizeof(double), text)
void gcb_plot_cell_text(struct gcb_plot_page *page, const char *text);

enum gcb_plot_by { GCB_PLOT_BY_ERROR, GCB_PLOT_BY_TIME };
/* Sets plot_title, plot_file and plot_machine of a page whose rows are like this one. */
void gcb_plot_heading(struct gcb_plot_page *page, const char *title,
                      const struct gcb_plot_data *data, const struct gcb_plot_record *like,
                      enum gcb_plot_by by);
/* The same for other rows. `file` and `scope` may be "". */
void gcb_plot_heading_of(struct gcb_plot_page *page, const char *title, const char *file,
                         const char *scope, const struct gcb_plot_record *env);
/* Sets `series`, the number of series, and the arrays label, style and members (how many points a series has).
 * Returns the approximate width in pixels of a legend with these labels. */
double gcb_plot_legend(struct gcb_plot_page *page, const struct gcb_plot_set *set);
/* Set plot_width for a legend this many pixels wide beside one picture, or two (`panel` in plots/style.gp). */
void gcb_plot_one_panel(struct gcb_plot_page *page, double legend);
void gcb_plot_two_panels(struct gcb_plot_page *page, double legend);

/* A case of a set as a bar of a chart. Borrowed. */
struct gcb_plot_bar {
    const struct gcb_plot_record *item;
    const char *label;
};
/*
 * Makes bars of the page's cases (GCB_PLOT_APART), in the order of `compare` (of two bars), and sets `rows` and
 * `rows_left_out`: a chart shows the first *shown bars. Release *out with gcb_free. GCB_E_NOMEM.
 */
int gcb_plot_bars(struct gcb_plot_bar **out, size_t *shown, struct gcb_plot_page *page,
                  int (*compare)(const void *a, const void *b), struct gcb_diag *diag);
/* Sets the array label. */
void gcb_plot_bar_labels(struct gcb_plot_page *page, const struct gcb_plot_bar *bars, size_t count);

/* A point of a picture with a short text beside it, all in pixels. */
struct gcb_plot_spot {
    double x, y;           /* the centre of the point */
    double radius;         /* of the point; 0: it has no mark, and texts may cover it */
    double width, height;  /* of the text; a width of 0: there is no text */
    double text_x, text_y; /* found: the centre of the text */
};
/*
 * Finds a place for each text beside its point, in this order. It tries two rings of places around the point and takes the
 * place that covers least of other points and of texts placed before, and that does not leave the picture of
 * `width` x `height`; the upper right if all are equal. Deterministic.
 */
void gcb_plot_place_texts(struct gcb_plot_spot *spots, size_t count, double width, double height);

#endif
