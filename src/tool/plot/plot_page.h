#ifndef SRC_TOOL_PLOT_PLOT_PAGE_H
#define SRC_TOOL_PLOT_PLOT_PAGE_H

#include <math.h>
#include <stdio.h>

#include "src/tool/plot/plot_series.h"

/*
 * The output of a plot for its gnuplot script: variables, with which the script begins, and a table
 * of data in CSV, which the script reads by the names of columns.
 *
 * A text in a variable is in single quotes, where gnuplot runs and expands nothing. Quotes in the
 * text are doubled, and control characters become '?'. A text in the data is in double quotes; a
 * double quote in the text becomes two single quotes. A number that is not finite is written as
 * NaN. The functions that write return no error; gcb_plot_page_close fails if memory ran out.
 */
struct gcb_plot_page {
    const struct gcb_plot *plot;
    const struct gcb_plot_data *data;
    const struct gcb_plot_record *first; /* the first row of the page */
    struct gcb_plot_set set;             /* the series of the page */
    FILE *script, *csv;
    char *script_text, *csv_text; /* complete after gcb_plot_page_close */
    size_t script_size, csv_size;
    size_t rows; /* rows of data written so far */
    bool gap;    /* an empty line comes before the next row */
};

/* Opens both streams of a page whose `plot`, `data` and `first` are set. Release the page with
 * gcb_plot_page_fini. */
void gcb_plot_page_open(struct gcb_plot_page *page);
/* Writes everything: the heading, what the plot's `add` writes, the columns of the plot's table,
 * and the series. */
void gcb_plot_page_fill(struct gcb_plot_page *page);
/* Completes script_text and csv_text. */
void gcb_plot_page_close(struct gcb_plot_page *page);
void gcb_plot_page_fini(struct gcb_plot_page *page); /* zeroed is fine */

/* Collects the rows of a page, sorted by `compare`, which takes pointers to pointers to rows.
  * Release cases->items with gcb_free. */
void gcb_plot_cases_of(struct gcb_plot_cases *cases, const struct gcb_plot_page *page,
                       int (*compare)(const void *a, const void *b));

/* Write "name = 'text'" or "name = value". A text of NULL is written as ''. */
void gcb_plot_var_text(struct gcb_plot_page *page, const char *name, const char *text);
void gcb_plot_var_real(struct gcb_plot_page *page, const char *name, double value);

/* Writes plot_title, plot_input, which says what was read, and plot_machine. If `input` is NULL,
 * the first row gives the words for plot_input. */
void gcb_plot_heading(struct gcb_plot_page *page, const char *title, const char *input);

/* Starts the data with the names of its columns, which end with NULL. */
void gcb_plot_columns(struct gcb_plot_page *page, const char *const *names);
#define GCB_PLOT_COLUMNS(page, ...) gcb_plot_columns(page, (const char *const[]){__VA_ARGS__, NULL})
/* The name of the column for a field. */
#define GCB_PLOT_FIELD(id) gcb_field_name(GCB_FIELD_##id)
/* Ends a curve: the next row comes after an empty line, which separates curves for gnuplot. pandas
 * and other readers of CSV skip the line. */
void gcb_plot_break(struct gcb_plot_page *page);
/* Writes a row: a text unless it is NULL, then numbers. */
void gcb_plot_row(struct gcb_plot_page *page, const char *text, const double *values, size_t count);
#define GCB_PLOT_ROW(page, text, ...) \
    gcb_plot_row(page, text, (const double[]){__VA_ARGS__}, \
                 sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* The functions gcb_plot.add of plots whose data are not simply columns of rows. */
void gcb_plot_add_errors(struct gcb_plot_page *page);   /* plot_values.c */
void gcb_plot_add_spectrum(struct gcb_plot_page *page); /* plot_values.c */
void gcb_plot_add_ways(struct gcb_plot_page *page);     /* plot_ways.c */
void gcb_plot_add_history(struct gcb_plot_page *page);  /* plot_runs.c */
void gcb_plot_add_training(struct gcb_plot_page *page); /* plot_runs.c */

/* Returns the date of a run as a number, which grows with time; NAN: no date. */
double gcb_plot_date(const struct gcb_plot_record *row);

/* True if the number is positive and neither so large nor so small that gnuplot fails. */
bool gcb_plot_is_sane(double value);

#endif
