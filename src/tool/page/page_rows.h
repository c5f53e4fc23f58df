#ifndef SRC_TOOL_PAGE_PAGE_ROWS_H
#define SRC_TOOL_PAGE_PAGE_ROWS_H

#include "src/tool/plot/plot.h"
#include "src/tool/rows/results.h"

/*
 * The parts of the page that page.c puts together. What is kept of the files: whole rows of records that are few,
 * and of `result` rows what the table of tensors needs.
 */
enum page_record {
    PAGE_ENVIRONMENT,
    PAGE_VERDICT,
    PAGE_PROMISE,
    PAGE_PAYOFF, /* of model exchange */
    PAGE_LINKS,  /* of those, a line for each method over all bandwidths */
    PAGE_PAPER,  /* payoff by a paper's own model */
    PAGE_SUMMARY,
    PAGE_KERNEL,
    PAGE_REPLAY,
    PAGE_RECORDS
};
#define PAGE_MAX_ROWS 2000 /* of a record; more are counted */

/*
 * Rows as they were read, with the fields that the end of src/tool/rows/fields.def lists.
 */
struct page_rows {
    json_t **items; /* owned */
    size_t count, cap;
    uint64_t left_out;
};

/* Errors by tensor and method, of `result` rows. */
struct page_cell {
    double sum, worst; /* of rel_l2 */
    uint64_t count;
};
struct page_tensors {
    json_t *names;           /* path -> its number */
    json_t *specs;           /* full spec -> number of its label, or -1: each is understood once */
    json_t *methods;         /* label -> its number, up to PAGE_MAX_METHODS */
    struct page_cell *cells; /* PAGE_MAX_METHODS for each tensor */
    size_t count, cap;       /* tensors */
    uint64_t left_out;       /* rows of further methods or tensors */
};
#define PAGE_MAX_METHODS 8
#define PAGE_MAX_TENSORS 20000

struct page {
    struct page_rows rows[PAGE_RECORDS];
    struct page_tensors tensors;
    json_t *inputs;              /* names of input files as keys */
    json_t *links;               /* what tells a line of PAGE_LINKS from others -> its number */
    uint64_t seen;               /* rows of any record that the page shows */
    struct gcb_plot_data *plots; /* the same rows, for plots; NULL: there are to be none. Owned */
};

/* page_rows.c: GCB_E_NOMEM as usual. */
int page_read(struct page *page, const char *path, struct gcb_diag *diag);
void page_fini(struct page *page);        /* zeroed is fine */
bool page_is_baseline(const json_t *row); /* identity, fp16, bf16, memcpy */
void page_sort(struct page *page);        /* verdicts: what fails first, then what changed */

/* The value of a field; NULL: there is none, or null. */
const json_t *page_value(const json_t *row, enum gcb_field field);
/* Is there anything to show in some row? */
bool page_has(const struct page_rows *rows, enum gcb_field field);
/* Are there two rows with different values in it? */
bool page_differs(const struct page_rows *rows, enum gcb_field field);

#endif
