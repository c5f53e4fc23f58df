#ifndef SRC_TOOL_PLOT_PLOT_H
#define SRC_TOOL_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"
#include "src/tool/rows/fields.h"

/*
 * Plots of result files (docs/plots.md), which gnuplot draws.
 *
 * Rows are collected once into a gcb_plot_data. Rows that cannot share a picture, such as rows of
 * different files or scopes, go to different pages of a plot. A plot whose rows are missing has no
 * page. Scripts read data by the names of the data's columns. In scripts, texts from files are
 * always in single quotes, so gnuplot never runs a part of them.
 */
struct gcb_plot_data;
struct gcb_results_row; /* src/tool/rows/results.h */

/* Creates an empty collection of rows. */
struct gcb_plot_data *gcb_plot_data_create(void);
void gcb_plot_data_destroy(struct gcb_plot_data *data); /* NULL is fine */
/* Adds the rows of a result file; "-" is standard input. Fails as gcb_results_read does. */
int gcb_plot_data_read(struct gcb_plot_data *data, const char *path, struct gcb_diag *diag);
/* For a caller that reads the result file itself: call gcb_plot_data_begin, then pass each row to
 * gcb_plot_data_row. */
void gcb_plot_data_begin(struct gcb_plot_data *data);
void gcb_plot_data_row(struct gcb_plot_data *data, const struct gcb_results_row *row);

struct gcb_plot_page;   /* variables and data of a page (src/tool/plot/plot_page.h) */
struct gcb_plot_record; /* the fields of a row that plots need (src/tool/plot/plot_page.h) */

/*
 * How the cases of a page become series (src/tool/plot/plot_page.h). A case is the first row of
 * the page with its setting. NO_SERIES: `add` makes the series. CURVES: the cases of a method that
 * differ in one parameter are a series. APART: each case is a series.
 */
enum gcb_plot_series_kind { GCB_PLOT_NO_SERIES, GCB_PLOT_CURVES, GCB_PLOT_APART };

/* Which runs the rows of a page may come from. ANY_RUN: from any runs. ONE_RUN: all from one run;
 * all rows without an environment row count as one run, also those of different files. DATES: from
 * any runs whose inputs have the same file name, in any folder. */
enum gcb_plot_runs { GCB_PLOT_ANY_RUN, GCB_PLOT_ONE_RUN, GCB_PLOT_DATES };

#define GCB_PLOT_FIELDS 16 /* room of a list of fields, which ends with GCB_FIELD_NONE */

/* A plot: a row of the table in plots.c, and a script in plots/. */
struct gcb_plot {
    const char *name;    /* name for --only and the files */
    const char *script;  /* name of the script plots/SCRIPT.gp; NULL: the name of the plot */
    const char *title;   /* what the plot shows, for lists */
    const char *needs;   /* rows that the plot needs, and the command for them */
    const char *heading; /* heading above the picture; NULL: `add` writes it */
    enum gcb_record record;
    /* True if the plot shows this row, whose kind is `record`. */
    bool (*is_wanted)(const struct gcb_plot_record *row);
    enum gcb_plot_runs runs;
    enum gcb_field page[GCB_PLOT_FIELDS]; /* rows of one page agree in these fields */
    enum gcb_field axis; /* a page needs rows with two values of this field; NONE: no such field */
    enum gcb_plot_series_kind series;
    /* Compares two cases of APART for qsort, by pointers to pointers to records; NULL: cases stay
     * in the order of the files. */
    int (*compare)(const void *a, const void *b);
    enum gcb_field columns[GCB_PLOT_FIELDS]; /* columns of the data; none: `add` writes the data */
    /* Makes or ranks series, or writes further variables for the script, or all data; may be
     * NULL. */
    void (*add)(struct gcb_plot_page *page);
};

/* Returns plot i, in the order of lists; NULL after the last plot. */
const struct gcb_plot *gcb_plot_at(size_t i);
#define GCB_PLOT_MAX 16 /* upper limit on the number of plots */
/* Finds a plot by name. The name need not end with NUL. If no plot has this name, returns NULL and
 * sets diag to GCB_E_INVALID with a suggestion. */
const struct gcb_plot *gcb_plot_find(const char *name, size_t length, struct gcb_diag *diag);
/* Most pages of a plot, counted before pages without two values of `axis` are dropped. Rows of
 * further pages are left out. */
#define GCB_PLOT_PAGES 32
/* Returns the number of pages that the rows make; 0 if rows that the plot needs are missing. */
size_t gcb_plot_pages(const struct gcb_plot *plot, const struct gcb_plot_data *data);

enum gcb_plot_type { GCB_PLOT_PNG, GCB_PLOT_SVG, GCB_PLOT_PDF, GCB_PLOT_TEXT, GCB_PLOT_TYPES };
/* Names of the types, such as "png", which are also the endings of file names. The array ends with
 * NULL. */
extern const char *const gcb_plot_type_names[];

/* What to draw: page `page`, from 0 to gcb_plot_pages - 1. `folder` must exist: gcb_plot_draw makes
 * temporary files there and removes them. */
struct gcb_plot_job {
    const struct gcb_plot *plot;
    const struct gcb_plot_data *data;
    size_t page;
    const char *folder;
    enum gcb_plot_type type;
};
/* A page is three files. Together they are what a user needs to change the plot: gnuplot NAME.gp
 * draws it again. */
enum gcb_plot_file { GCB_PLOT_IMAGE, GCB_PLOT_SCRIPT, GCB_PLOT_DATA, GCB_PLOT_FILES };
#define GCB_PLOT_NAME 64 /* bytes of a file's name */
/* Writes the name of a file, such as "pareto.png", cut to `size` bytes. The pages of a plot are
 * numbered if there are several: "pareto-2.png". */
void gcb_plot_name(char *out, size_t size, const struct gcb_plot_job *job,
                   enum gcb_plot_file which);

/* The content of a file. */
struct gcb_plot_text {
    char *bytes; /* ended by a NUL; NULL: there is no such file */
    size_t size; /* without the NUL */
};
struct gcb_plot_drawing {
    struct gcb_plot_text files[GCB_PLOT_FILES];
    bool drawn; /* the image is complete */
};
/*
 * Draws a page. With GCB_PLOT_TEXT the image is text for a terminal, 79 columns wide. If gnuplot
 * is not installed (GCB_E_UNSUPPORTED) or fails (GCB_E_IO), *out still has the script and the data.
 * After another failure *out may be empty. Release *out with gcb_plot_drawing_fini in any case.
 */
int gcb_plot_draw(struct gcb_plot_drawing *out, const struct gcb_plot_job *job,
                  struct gcb_diag *diag);
void gcb_plot_drawing_fini(struct gcb_plot_drawing *drawing);

#endif
