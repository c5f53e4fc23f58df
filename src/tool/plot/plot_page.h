#ifndef SRC_TOOL_PLOT_PLOT_PAGE_H
#define SRC_TOOL_PLOT_PLOT_PAGE_H

#include <stdio.h>

#include "src/tool/base/strings.h"
#include "src/tool/plot/plot.h"
#include "src/tool/plot/plot_style.h"

/*
 * The fields of a result row that plots need. Texts are interned: equal texts have equal pointers.
 * Texts have no control characters. If the row lacks a text, the member is gcb_plot_no_text, never
 * NULL. If the row lacks a number, the member is NAN. A record takes about 700 bytes, a tenth of
 * the memory that the row takes as a JSON value.
 */
struct gcb_plot_record {
    /* the last environment row before this row in its file, counted over all files from 1; 0: the
     * file has no such row */
    size_t env;
    const char *setting; /* the spec with all parameters; interned */
#define TEXT(member, field) const char *member;
#define REAL(member, field) double member;
#include "src/tool/plot/plot_fields.def"
#undef TEXT
#undef REAL
};

/* Records of one kind, in the order of the files. */
struct gcb_plot_records {
    struct gcb_plot_record *items;
    size_t count, cap;
};

struct gcb_plot_data {
    struct gcb_plot_records kinds[GCB_RECORDS]; /* kinds that no plot needs stay empty */
    size_t env; /* number of the last environment row in the file being read; 0: none so far */
    struct gcb_plot_record unknown; /* a record whose members are all unknown */
    struct gcb_strings texts;       /* the interned texts */
    const char *spec, *setting;     /* of the row that was read last */
};

/* Returns the interned copy of `text`, which is escaped again and cut to 511 bytes;
 * gcb_plot_no_text for NULL and "". */
const char *gcb_plot_intern(struct gcb_plot_data *data, const char *text);

/* The empty text. Texts are compared by address, so another "" would differ from it. */
extern const char gcb_plot_no_text[];

/* Returns the environment row with the number `env`. Its `file` is the first input file, or "FILE
 * and 2 more" if there are several. For 0 returns a row in which everything is unknown. */
const struct gcb_plot_record *gcb_plot_env_of(const struct gcb_plot_data *data, size_t env);

/* Return a field of a record. NULL: records have no text of this field. NAN: records have no number
 * of this field, or this record lacks it. */
const char *gcb_plot_text(const struct gcb_plot_record *row, enum gcb_field field);
double gcb_plot_real(const struct gcb_plot_record *row, enum gcb_field field);

/* Returns the part of a path after the last '/', or the whole path if it has no '/' or ends with
 * '/'. */
const char *gcb_plot_base_name(const char *path);

/* Returns the first row of a page, which identifies the page; NULL if there is no such page. Pages
 * are in the order of their first rows. */
const struct gcb_plot_record *gcb_plot_first(const struct gcb_plot *plot,
                                             const struct gcb_plot_data *data, size_t page);
/* Returns the row after `at` on the page of `first`. If `at` is NULL, returns the page's first row.
 * Returns NULL after the last row. */
const struct gcb_plot_record *gcb_plot_next(const struct gcb_plot *plot,
                                            const struct gcb_plot_data *data,
                                            const struct gcb_plot_record *first,
                                            const struct gcb_plot_record *at);

/* A list of cases, which are rows of a gcb_plot_data. The rows are borrowed. Release `items` with
 * gcb_free. */
struct gcb_plot_cases {
    const struct gcb_plot_record **items;
    size_t count, cap;
};
/* Appends a row, which must live as long as the list. */
void gcb_plot_cases_add(struct gcb_plot_cases *cases, const struct gcb_plot_record *row);

#define GCB_PLOT_LABEL 192 /* bytes of a label */

/*
 * A series: usually a curve through cases of a method that differ in one parameter, in the order of
 * bits per element. The label says what distinguishes the curve from other curves on the page, and
 * the range of the parameter.
 */
struct gcb_plot_series {
    char label[GCB_PLOT_LABEL];
    const char *method; /* name of the method; interned */
    struct gcb_plot_style style;
    /* Index of the first case in the set, and number of cases. An `add` that sorts rows into series
     * by itself may use both for its rows. */
    size_t first, count;
    double rank; /* series with the lowest ranks get names; INFINITY: only a baseline gets one */
    bool named;  /* in the legend; other series are grey, and the legend counts them */
};

/* The cases of a page, one for each setting, and the series of these cases. Zero the struct before
 * use; release it with gcb_plot_set_fini. */
struct gcb_plot_set {
    struct gcb_plot_cases cases;
    struct gcb_plot_series *items;
    size_t count, cap;
    size_t named; /* number of series that have names */
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
 * variant, in a colour that no other method of the set has, as long as there are enough. The
 * pointer is valid until the next series is added. */
struct gcb_plot_series *gcb_plot_set_name(struct gcb_plot_set *set, const char *label,
                                          const char *method);
/* Chooses at most `most` series that get names: the baselines, and the other series with the lowest
 * ranks. If the other series need them, they get at least most / 2 names. Sets the styles. Sorts
 * the series: first those with names, with the baselines last, then those without. */
void gcb_plot_set_choose(struct gcb_plot_set *set, size_t most);
/* Most names in a legend. A legend has twelve entries, and the last one counts the series without
 * names. */
#define GCB_PLOT_NAMED 11
void gcb_plot_set_fini(struct gcb_plot_set *set); /* zeroed is fine */

/* Copies the value of a key in a spec "method:key=value,key=value", cut to 31 bytes; "" if the spec
 * lacks the key. Returns out. */
char *gcb_plot_spec_text(char out[32], const char *spec, const char *key);

/*
 * The output of a plot for its gnuplot script: variables, with which the script begins, and a table
 * of data in CSV, which the script reads by the names of columns.
 *
 * A text in a variable is in single quotes, where gnuplot runs and expands nothing; single quotes
 * in the text are doubled. A text in the data is in double quotes; a double quote in the text
 * becomes two single quotes, and backslashes are doubled. In both, control characters become '?'. A
 * number that is not finite is written as NaN. The functions that write return no error;
 * gcb_plot_page_close ends the process if memory ran out.
 */
struct gcb_plot_page {
    const struct gcb_plot *plot;
    const struct gcb_plot_data *data;
    const struct gcb_plot_record *first; /* the first row of the page */
    struct gcb_plot_set set;             /* the series of the page */
    FILE *script, *csv;
    char *script_text, *csv_text; /* complete after gcb_plot_page_close; from malloc, owned */
    size_t script_size, csv_size;
    size_t rows; /* rows that gcb_plot_row has written so far */
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

/* The functions gcb_plot.add of plots that have a file of their own. */
void gcb_plot_add_errors(struct gcb_plot_page *page);   /* plot_values.c */
void gcb_plot_add_spectrum(struct gcb_plot_page *page); /* plot_values.c */
void gcb_plot_add_ways(struct gcb_plot_page *page);     /* plot_ways.c */
void gcb_plot_add_history(struct gcb_plot_page *page);  /* plot_runs.c */
void gcb_plot_add_training(struct gcb_plot_page *page); /* plot_runs.c */

/* Returns the date of a run as a number, which grows with time; NAN: no date. */
double gcb_plot_date(const struct gcb_plot_record *row);

#endif
