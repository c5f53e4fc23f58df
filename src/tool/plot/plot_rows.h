#ifndef SRC_TOOL_PLOT_PLOT_ROWS_H
#define SRC_TOOL_PLOT_PLOT_ROWS_H

#include "src/tool/base/strings.h"
#include "src/tool/plot/plot.h"

/*
 * The fields of a result row that plots need. Texts are interned: equal texts have equal pointers.
 * Texts have no control characters. If the row lacks a text, the member is gcb_plot_no_text, never
 * NULL. If the row lacks a number, the member is NAN. A record takes about 700 bytes, a tenth of
 * the memory that the row takes as a JSON value.
 */
struct gcb_plot_record {
    size_t env; /* number of the last environment row before this row, from 1; 0: no such row */
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
 * gcb_plot_no_text for NULL and "". Returns NULL if memory runs out. */
const char *gcb_plot_intern(struct gcb_plot_data *data, const char *text);

/* The empty text. Texts are compared by address, so another "" would differ from it. */
extern const char gcb_plot_no_text[];

/* True if the numbers are equal, or both are NAN. */
bool gcb_plot_equal(double a, double b);

/* Returns the environment row with the number `env`. Its `file` is the first input file. For 0
 * returns a row in which everything is unknown. */
const struct gcb_plot_record *gcb_plot_env_of(const struct gcb_plot_data *data, size_t env);

/* Return a field of a record. NULL, NAN: records have no text, or no number, of this field. */
const char *gcb_plot_text(const struct gcb_plot_record *row, enum gcb_field field);
double gcb_plot_real(const struct gcb_plot_record *row, enum gcb_field field);

/* Returns the part of a path after the last '/'. */
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

#endif
