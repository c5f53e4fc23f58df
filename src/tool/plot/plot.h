#ifndef SRC_TOOL_PLOT_PLOT_H
#define SRC_TOOL_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"

/*
 * Plots of result files (docs/plots.md). gnuplot draws them; it is started only when a plot is drawn.
 *
 * Rows are collected once into a gcb_plot_data. A plot then has one page for each combination of what cannot stand in
 * one picture, such as file and scope; it has none if its rows are missing. A page is an image NAME.png with its
 * script NAME.gp and its data NAME.dat; several pages are called NAME-1, NAME-2, ... Scripts read data by the names
 * of its columns, and have texts from files only in single quotes, so nothing in a name is ever run.
 */
struct gcb_plot_data;
struct gcb_results_row; /* src/tool/rows/results.h */

/* Is this the folder of gcbench's own plot scripts? Nothing may be written there. */
bool gcb_plot_is_source(const char *folder);

int gcb_plot_data_create(struct gcb_plot_data **out, struct gcb_diag *diag);
void gcb_plot_data_destroy(struct gcb_plot_data *data); /* NULL is fine */
/* Adds the rows of a result file, "-" for standard input. Fails as gcb_results_read does. */
int gcb_plot_data_read(struct gcb_plot_data *data, const char *path, struct gcb_diag *diag);
/* The same for a caller that reads the file itself: call begin, then pass each row. GCB_E_NOMEM. */
void gcb_plot_data_begin(struct gcb_plot_data *data);
int gcb_plot_data_row(struct gcb_plot_data *data, const struct gcb_results_row *row,
                      struct gcb_diag *diag);

struct gcb_plot_page;   /* src/tool/plot/plot_page.h: what a plot fills */
struct gcb_plot_split;  /* src/tool/plot/plot_rows.h: how rows become pages */
struct gcb_plot_record; /* src/tool/plot/plot_rows.h: what plots need of a row */

/*
 * How the rows of a page become series (src/tool/plot/plot_series.h). NO_SERIES: the plot makes no series and reads the
 * rows itself. CURVES: settings of one method that differ in one parameter are a series. APART: each setting of a method
 * is a series of its own.
 */
enum gcb_plot_series_kind { GCB_PLOT_NO_SERIES, GCB_PLOT_CURVES, GCB_PLOT_APART };

struct gcb_plot {
    const char *name;                   /* for --only, of the files and of its script in plots/ */
    const char *title;                  /* what it shows, for lists */
    const char *needs;                  /* which rows it needs, and the command that makes them */
    const char *from;                   /* that command, short, for notes */
    const char *heading;                /* above the picture; NULL: `fill` chooses it */
    const struct gcb_plot_split *split; /* which rows it needs, and their pages */
    enum gcb_plot_series_kind series;   /* what `fill` finds in out->set */
    /* Fills the page that begins with the row `first`. */
    int (*fill)(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag);
};

/* The plots, in the order of lists; NULL past the end. */
const struct gcb_plot *gcb_plot_at(size_t i);
#define GCB_PLOT_MAX 32 /* there are at most this many plots */
/* NULL with GCB_E_INVALID and a suggestion in diag if no plot has this name, which need not end with NUL. */
const struct gcb_plot *gcb_plot_find(const char *name, size_t length, struct gcb_diag *diag);
/* How many pages these rows make, at most GCB_PLOT_PAGES; 0: rows that the plot needs are missing. */
#define GCB_PLOT_PAGES 32
size_t gcb_plot_pages(const struct gcb_plot *plot, const struct gcb_plot_data *data);

enum gcb_plot_type { GCB_PLOT_PNG, GCB_PLOT_SVG, GCB_PLOT_PDF, GCB_PLOT_TEXT, GCB_PLOT_TYPES };
/* Names of the types, which are also the ends of file names: "png"; ends with NULL. */
extern const char *const gcb_plot_type_names[];

/*
 * Draws a page into an existing folder. Image, script and data appear together: each is made under another name and
 * renamed. An existing file is replaced with `force`, and otherwise refused (GCB_E_INVALID) before gnuplot starts. If
 * gnuplot is not installed (GCB_E_UNSUPPORTED) or fails (GCB_E_IO), script and data are kept; the words say what to
 * do.
 */
struct gcb_plot_job {
    const struct gcb_plot *plot;
    const struct gcb_plot_data *data;
    size_t page;
    const char *folder;
    enum gcb_plot_type type;
    bool force;
};
enum gcb_plot_file { GCB_PLOT_IMAGE, GCB_PLOT_SCRIPT, GCB_PLOT_DATA, GCB_PLOT_FILES };
struct gcb_plot_paths {
    char *path[GCB_PLOT_FILES]; /* owned: release with gcb_plot_paths_fini; NULL: not made */
};
int gcb_plot_make(struct gcb_plot_paths *out, const struct gcb_plot_job *job,
                  struct gcb_diag *diag);
void gcb_plot_paths_fini(struct gcb_plot_paths *paths); /* zeroed is fine */

/*
 * Draws a page and returns the image in *out, ended by a NUL: for GCB_PLOT_SVG a whole document, for GCB_PLOT_TEXT
 * letters for a terminal, 79 columns wide. The job's folder is an existing one for temporary files, which are gone when
 * this returns; `force` has no meaning. Release *out with free. Fails as gcb_plot_make does.
 */
int gcb_plot_draw(char **out, const struct gcb_plot_job *job, struct gcb_diag *diag);

#endif
