#ifndef SRC_TOOL_PAGE_PAGE_PRIVATE_H
#define SRC_TOOL_PAGE_PAGE_PRIVATE_H

#include "src/tool/page/page.h"
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
 * Rows as they were read, and three fields more: PAGE_RUN, the number of the environment row before it (from 1 over
 * all files, 0: none), PAGE_RESULTS, the file that it stands in, and PAGE_LABEL, its method in short.
 */
#define PAGE_RUN "page_run"
#define PAGE_RESULTS "page_results"
#define PAGE_LABEL "page_label"
/* Of a line over bandwidths: how many, at how many of them it pays, and the most it gains. */
#define PAGE_LINK_COUNT "page_links"
#define PAGE_LINKS_PAID "page_links_paid"
#define PAGE_BEST "page_best"
#define PAGE_MANY_LINKS "page_many_links" /* there, if they are more than one */
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
void page_fini(struct page *page); /* zeroed is fine */
/* A copy of the row, with what it does not say itself; of too many it is counted. */
int page_keep(struct page_rows *rows, const struct gcb_results_row *row, size_t run,
              struct gcb_diag *diag);
/* "fft:theta=0.85,bits=10" for a row's full spec: what a label always shows, and what differs from the defaults. */
char *page_label(char *out, size_t size, const json_t *row);
bool page_is_baseline(const json_t *row); /* identity, fp16, bf16, memcpy */
void page_sort(struct page *page);        /* verdicts: what fails first, then what changed */

/* page_links.c: a row of PAGE_PAYOFF */
int page_links_add(struct page *page, const struct gcb_results_row *row, size_t run,
                   struct gcb_diag *diag);

/* page_table.c: what a column shows, and how. */
enum page_kind {
    PAGE_TEXT,
    PAGE_PROSE,  /* a sentence */
    PAGE_CODE,   /* a name: shown as it is, breakable */
    PAGE_NUMBER, /* three digits */
    PAGE_COSINE, /* four decimals */
    PAGE_PERCENT,
    PAGE_SIZE,  /* bytes */
    PAGE_WHOLE, /* a count */
    PAGE_SECONDS,
    PAGE_UNIT,  /* by the row's field `unit`: seconds, bytes, or a number */
    PAGE_BELOW, /* Gb/s: null is any, 0 is none */
    PAGE_YES,   /* a mark where it is true */
    PAGE_WORD,  /* a verdict or a status: its class in the page is its name in small letters */
};
struct page_column {
    const char *title, *field;
    enum page_kind kind;
    /* ends of an interval in brackets behind it; NULL: none */
    const char *low, *high;
    /* the interval is of these seconds, to which the value is inverse */
    const char *seconds;
    const char *help; /* under the table */
};
struct page_table {
    const char *id, *title;
    const char *intro; /* sentences under the title, or NULL */
    const char *needs; /* shown only if some row has this; NULL: if there are rows */
    const char *folds; /* what stands for its rows if they are many; NULL: they are shown */
    bool
        where; /* where a case ran: columns behind the first for what differs, the rest in a line above */
    const struct page_column
        *columns; /* ends with one without a title; the first is each row's name */
};
bool page_table_shows(const struct page_table *table, const struct page_rows *rows);
/* A section with the table; nothing unless page_table_shows. */
void page_table(FILE *out, const struct page_table *table, const struct page_rows *rows);
char *page_number(char *out, double value); /* three digits that say something; 32 bytes */
/* Is there anything to show in some row? */
bool page_has(const struct page_rows *rows, const char *field);
/* Are there two rows with different values in it? */
bool page_differs(const struct page_rows *rows, const char *field);

/* page_sections.c: the tables there are. */
extern const struct page_table page_verdicts, page_links, page_payoffs, page_summaries,
    page_timings, page_stages, page_bytes, page_kernels, page_replays, page_settings, page_papers,
    page_promises;

/* page_head.c: title, machine, what speaks against the figures; then the main ones */
void page_head(FILE *out, const struct page *page, const char *title);
void page_cards(FILE *out, const struct page *page);

/* page_source.c: machine, build and command of each run */
void page_environments(FILE *out, const struct page *page);

/* page_tensors.c */
int page_tensors_add(struct page_tensors *t, const json_t *row, struct gcb_diag *diag);
void page_tensors_fini(struct page_tensors *t);
void page_tensors_table(FILE *out, const struct page_tensors *t);

/* page_plots.c: a section of plots. Fails only for want of memory. */
int page_plots(FILE *out, struct gcb_page_outcome *outcome, const struct page *page,
               const struct gcb_page_config *config, struct gcb_diag *diag);

extern const char page_style[]; /* page_style.c */

#endif
