#ifndef SRC_TOOL_PAGE_PAGE_ROWS_H
#define SRC_TOOL_PAGE_PAGE_ROWS_H

#include "src/tool/plot/plot.h"
#include "src/tool/rows/results.h"

/*
 * The rows that the page keeps in memory. `result` rows are too many to keep: the page keeps only sums of them, which
 * the table of errors by tensor shows.
 */
enum page_record {
    PAGE_ENVIRONMENT,
    PAGE_VERDICT,
    PAGE_PROMISE,
    PAGE_PAYOFF, /* payoff by the exchange model */
    PAGE_TRUTH,  /* payoff's predictions of measured exchanges */
    PAGE_RACE,   /* measured exchanges */
    PAGE_SUMMARY,
    PAGE_KERNEL,
    PAGE_REPLAY,
    PAGE_ANSWER,
    PAGE_HISTORY, /* summaries of cases that ran at several dates: copies, in the order of cases and dates */
    PAGE_RECORDS
};
extern const enum gcb_record page_record_kinds[PAGE_RECORDS];
#define PAGE_MAX_ROWS 2000 /* most rows kept of a record; further rows are only counted */

/* Copies of rows, to which the page adds its own fields (GCB_RECORD_PAGE in src/tool/rows/fields.def). */
struct page_rows {
    json_t **items; /* the rows; owned */
    size_t count, cap;
    uint64_t left_out;
};

/* Relative errors of one tensor and method, from `result` rows. */
struct page_cell {
    double sum, worst; /* sum and largest value of rel_l2 */
    uint64_t count;
};
struct page_tensors {
    json_t *names; /* maps a path to the number of its tensor */
    json_t *specs; /* maps a spec to the number of its method or -1, to parse each spec only once */
    json_t *
        methods; /* maps a spec, and after page_sort a label, to the number of its method, below PAGE_MAX_METHODS */
    struct page_cell *cells; /* PAGE_MAX_METHODS for each tensor */
    size_t count, cap;       /* number of tensors, and how many fit into `cells` */
    uint64_t left_out;       /* number of rows that had no room for their method or tensor */
};
#define PAGE_MAX_METHODS 8
#define PAGE_MAX_TENSORS 20000

struct page {
    struct page_rows rows[PAGE_RECORDS];
    struct page_tensors tensors;
    json_t *inputs;              /* names of input files as keys */
    size_t run;                  /* number of the file's last environment row; 0 before the first */
    uint64_t seen;               /* number of rows that have a place on the page */
    struct gcb_plot_data *plots; /* the same rows for plots, owned; NULL: no plots */
};

void page_init(struct page *page);
/* Adds the rows of a result file to the page. Fails as gcb_results_read does. */
int page_read(struct page *page, const char *path, struct gcb_diag *diag);
void page_fini(struct page *page);
/* Returns the rank of a row: 0 if a comparison or promise fails; 2 for cases that are unchanged, inconclusive or not compared,
 * promises that are kept, summaries of cases that ran again later, and ways that no answer names; 1 for all others. */
int page_row_rank(const json_t *row);
/* Labels the methods, marks the ways that no answer names, and orders verdicts, promises, payoffs and summaries by their rank. GCB_E_NOMEM. */
int page_sort(struct page *page, struct gcb_diag *diag);

/* Is the row about a baseline: identity, fp16, bf16 or memcpy, or a row that says so itself? */
bool page_is_baseline(const json_t *row);
/* Does the field have this text? */
bool page_says(const json_t *row, enum gcb_field field, const char *word);
/* Returns the environment row of a row's run; NULL if it has none, or the page has not kept it. */
const json_t *page_run_of(const struct page *page, const json_t *row);
/* Returns the date of a run; "" if `run` is NULL or has no date. */
const char *page_date_of(const json_t *run);
/* Returns the value of a field; NULL if the field is absent or null. */
const json_t *page_value(const json_t *row, enum gcb_field field);
/* Writes a number of the row as tables show it. `out` has at least 32 bytes. */
char *page_number(char *out, const json_t *row, enum gcb_field field);
/* Does some row have a value in the field? */
bool page_has(const struct page_rows *rows, enum gcb_field field);
/* Do two rows have different values in the field? */
bool page_differs(const struct page_rows *rows, enum gcb_field field);

#endif
