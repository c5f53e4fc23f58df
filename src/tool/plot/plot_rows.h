#ifndef SRC_TOOL_PLOT_PLOT_ROWS_H
#define SRC_TOOL_PLOT_PLOT_ROWS_H

#include <jansson.h>

#include "src/tool/plot/plot.h"
#include "src/tool/rows/fields.h"

/*
 * What plots need of a result row. Texts are interned: equal texts have equal pointers. They have no control
 * characters and are never NULL: a text that the row lacks is gcb_plot_no_text. A number that it lacks is NAN.
 * A record takes about 600 bytes, a tenth of what the row takes as a JSON value.
 */
struct gcb_plot_record {
    size_t env; /* the number of the environment row before it, from 1 over all files; 0: none */
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
    size_t env;    /* the number of the last environment row of the file being read; 0: none yet */
    json_t *texts; /* an object whose keys are the interned texts */
};

/* The interned text that equals this one; gcb_plot_no_text for NULL and "". NULL: no memory. */
const char *gcb_plot_intern(struct gcb_plot_data *data, const char *text);

/* The empty text. Texts are compared by address, so another "" would differ from it. */
extern const char gcb_plot_no_text[];

/* Are these numbers equal? NAN equals NAN. */
bool gcb_plot_equal(double a, double b);

/* The environment of a row, whose `file` is the first input; all unknown if there was none. */
const struct gcb_plot_record *gcb_plot_env_of(const struct gcb_plot_data *data, size_t env);

/*
 * How rows are split into pages: the wanted rows of one kind, and which of them may stand in one picture.
 * `same_page` is an equivalence of wanted rows. Pages are in the order of their first rows, at most
 * GCB_PLOT_PAGES.
 */
struct gcb_plot_split {
    enum gcb_record kind;
    bool (*is_wanted)(const struct gcb_plot_record *row);
    bool (*same_page)(const struct gcb_plot_record *a, const struct gcb_plot_record *b);
};

/* A `same_page`: a page for each result file. */
bool gcb_plot_same_env(const struct gcb_plot_record *a, const struct gcb_plot_record *b);

/* The first row of a page, which identifies the page. NULL with GCB_E_INVALID in diag: there is no such page. */
const struct gcb_plot_record *gcb_plot_split_first(const struct gcb_plot_split *split,
                                                   const struct gcb_plot_data *data, size_t page,
                                                   struct gcb_diag *diag);
/* The row after `at` on the page of `first`; `at` NULL: the page's first row. NULL after the last row. */
const struct gcb_plot_record *gcb_plot_split_next(const struct gcb_plot_split *split,
                                                  const struct gcb_plot_data *data,
                                                  const struct gcb_plot_record *first,
                                                  const struct gcb_plot_record *at);

#endif
