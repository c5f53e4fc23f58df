#ifndef CLI_BASE_OPTPARSE_H
#define CLI_BASE_OPTPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "src/lib/base/diag.h"

/*
 * Options as data. A row says how an option is written and where its value goes. Rows form groups,
 * which several commands may share; a command lists its groups. Parsing, help, the manual pages and
 * completions all follow from these tables.
 *
 * Long names are written in full (no abbreviations), as `--name value` or `--name=value`. Short
 * names are written as `-o value` or `-ovalue`, and short flags may be joined (`-qv`). `--` ends
 * options; a single `-` is an operand. A value that begins with `--` cannot be a word of its own:
 * it is written `--name=--value`. An option given twice is an error, unless it is a flag or its
 * type repeats; for parameters of methods (struct opt_extra), gcb_method_set checks this and not
 * opt_parse.
 */
enum opt_type {
    OPT_FLAG,     /* bool: set to true; takes no value */
    OPT_COUNT,    /* int: counts how often the option is given; takes no value */
    OPT_TEXT,     /* const char *: borrowed from argv or a suite */
    OPT_LIST,     /* struct opt_list: repeatable */
    OPT_INT,      /* int */
    OPT_U64,      /* uint64_t */
    OPT_SIZE,     /* uint64_t; a unit may follow, as in 25M: gcb_parse_size */
    OPT_REAL,     /* double */
    OPT_TIME,     /* double, in seconds; a unit may follow, as in 5m: gcb_parse_seconds */
    OPT_DURATION, /* double, in seconds; the unit is needed: 20us, 80ms, 1.5s: gcb_parse_duration */
    OPT_CHOICE,   /* int: index into choices */
};

/* Borrowed strings, mostly of argv. opt_list_fini frees only the array. Starts zeroed. */
struct opt_list {
    const char **items;
    size_t count, cap;
};
void opt_list_add(struct opt_list *list, const char *item);
void opt_list_add_all(struct opt_list *list, const char *const *items, size_t count);
void opt_list_fini(struct opt_list *list);

struct opt_row {
    const char *name; /* long name without dashes; NULL ends the table */
    char letter;      /* letter of the short form, or 0 */
    /* name of the value in the help; NULL: N, SIZE, TIME, VALUE or none, by the type */
    const char *metavar;
    const char *help;
    enum opt_type type;
    size_t offset;   /* offset of the value in the group's struct */
    double min, max; /* smallest and largest allowed number; not checked if both are 0 */
    double initial;  /* the value of a number or choice if the option is not given */
    /* the values of a CHOICE; for TEXT and LIST, what completions offer. Ends with NULL */
    const char *const *choices;
};
/* Name, type and place of a row: {OPT_ROW("order", CHOICE, opt_input, order), .help = ...}. */
#define OPT_ROW(name_, type_, struct_, member) \
    .name = (name_), .type = OPT_##type_, .offset = offsetof(struct struct_, member)
/* Returns row->metavar, or the default of the row's type; NULL if the option takes no value. */
const char *opt_metavar(const struct opt_row *row);
/* Writes which numbers the option takes: "in [1, 9]" or "at least 1". Returns out, or NULL if the
 * row has no bounds. */
char *opt_range(char *out, size_t size, const struct opt_row *row);

struct opt_group {
    /* title of a section in the help; consecutive groups with equal titles form one section */
    const char *title;
    const struct opt_row *rows; /* NULL ends the list of groups */
    size_t offset;              /* offset of the group's struct in the command's struct */
    bool passed_on;             /* `regress` passes the options of this group on to `bench` */
    bool in_suite;              /* fields of a suite set the options of this group */
};
/* A group whose rows set the options in `member`, a struct in the command's struct `type`. */
#define OPT_GROUP(title_, rows_, type, member) OPT_GROUP_(title_, rows_, type, member, false)

/* Like OPT_GROUP, for a group that a suite may set. */
#define OPT_SUITE_GROUP(title_, rows_, type, member) OPT_GROUP_(title_, rows_, type, member, true)
#define OPT_GROUP_(title_, rows_, type, member, in_suite_) \
    { \
        .title = (title_), .rows = (rows_), .offset = offsetof(type, member), \
        .in_suite = (in_suite_) \
    }

/* Long options that have no row: the parameters of methods. Each takes a value. */
struct opt_extra {
    /* returns the i-th name, or NULL past the end; the pointer is NULL if there are none */
    const char *(*name_at)(size_t i);
    /* offset of a struct opt_list in the command's struct: the list gets the name and the value of
     * each option, in the order given */
    size_t offset;
};

struct opt_spec {
    const struct opt_group *groups;
    struct opt_extra extra;
};

/* An option as it was given. */
struct opt_given {
    /* both NULL: a parameter of methods */
    const struct opt_row *row;
    const struct opt_group *group;
    const char *name, *value; /* `value` is NULL if the option takes no value */
    const char *const *words; /* the words of the command line that give the option */
    size_t word_count;
};

struct opt_result {
    struct opt_list operands;
    struct opt_given *given; /* in the order of the command line */
    size_t given_count, given_cap;
    bool help; /* --help or -h was given; the words after it were not read */
};

/*
 * Parses argv[0..argc), which begins after the command's name, into `target`, which the caller has
 * zeroed. Returns 0, or GCB_E_INVALID with one line of words. Release with opt_fini on success and
 * failure.
 */
int opt_parse(struct opt_result *out, const struct opt_spec *spec, void *target, int argc,
              char *const *argv, struct gcb_diag *diag);

/* Returns the first of `names` whose option does not have its initial value in `target`, or NULL if
 * all have it. `names` ends with NULL. */
const char *opt_first_set(const struct opt_spec *spec, const void *target,
                          const char *const *names);

/* Sets the initial values of all options in a zeroed `target`, as opt_parse does. */
void opt_begin(const struct opt_spec *spec, void *target);
/* Sets the option that a suite's field names: --min-time for min_time, --scope for scopes. Borrows
 * `text`. GCB_E_INVALID: no group with `in_suite` has the option, the value is wrong, or the option
 * already has a value and is no list. */
int opt_set_field(const struct opt_spec *spec, void *target, const char *field, const char *text,
                  struct gcb_diag *diag);
/* Copies options of groups with `in_suite` from `from` to `target`: those that have their initial
 * value in `target`. `from` still owns its lists, which `target` borrows, so do not release
 * `target` with opt_fini. */
void opt_merge(const struct opt_spec *spec, void *target, const void *from);

/* Frees the lists in `result` and `target`. Both may be zeroed. */
void opt_fini(struct opt_result *result, const struct opt_spec *spec, void *target);

/* Returns how wide lines on `out` are: 80, or the columns of a narrower terminal (at least 40). */
unsigned opt_columns(FILE *out);
/* Prints the words of `text` in lines of at most opt_columns(out) columns. `at` columns of the
 * first line are printed already. The words continue that line at column `indent`, or after a space
 * if `at` is larger; the other lines begin at column `indent`. Ends the last line. */
void opt_wrap(FILE *out, const char *text, int at, int indent);
/* Like opt_wrap, for a text in printf style, which is cut to 999 bytes. */
void opt_wrapf(FILE *out, int at, int indent, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Prints "note: " and the text, which is cut to 999 bytes; further lines are indented. */
void opt_note(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the options of a command, one section per title, at most 80 columns wide. */
void opt_print(FILE *out, const struct opt_spec *spec);

#endif
