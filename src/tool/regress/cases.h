#ifndef SRC_TOOL_REGRESS_CASES_H
#define SRC_TOOL_REGRESS_CASES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/lib/base/diag.h"
#include "src/tool/base/strings.h"
#include "src/tool/rows/fields.h"

/*
 * The cases of a result file of `bench` or gcbench-mpi: one for each summary row (a method on an
 * input), each kernel row and each exchange row. A case keeps what a comparison needs.
 */

/* The texts that identify a case; "" if the row lacks the text. Escaped, without control
 * characters. */
enum gcb_case_text {
    GCB_CASE_FILE,
    GCB_CASE_SCOPE,
    GCB_CASE_SPEC, /* with all parameters of this version; for a kernel: "family/kernel" */
    GCB_CASE_DEVICE,
    GCB_CASE_ISA,
    GCB_CASE_CACHE,
    GCB_CASE_SIZE,    /* "n=4096" for a kernel, "n=4096 workers=4 ring" for an exchange, else "" */
    GCB_CASE_THREADS, /* "t4" */
    GCB_CASE_FILES,   /* the files without their folders */
    GCB_CASE_TEXTS
};
/* The field of a row from which each text before GCB_CASE_SIZE comes. The other texts are made from
 * several fields. */
extern const enum gcb_field gcb_case_fields[GCB_CASE_SIZE];

enum gcb_case_status {
    GCB_CASE_OK,
    GCB_CASE_UNSUPPORTED,
    GCB_CASE_FAILED,
    GCB_CASE_INTERRUPTED,
};

struct gcb_case_time {
    double seconds;   /* the median */
    double min;       /* the fastest sample */
    double low, high; /* 95 % interval of the median; NAN if there is none */
};

#define GCB_CASE_ERRORS 4 /* most fields with GCB_GATE_ERROR */

/* A name of a case is its texts in one line. Cases with the same name are paired, first by the full
 * name, then by the next name, and so on. */
enum gcb_case_name {
    GCB_CASE_NAME_FULL,        /* begins with the paths of the files */
    GCB_CASE_NAME,             /* without the folders of the files; `--accept` matches this name */
    GCB_CASE_NAME_WITHOUT_ISA, /* without the instruction set, which changes no size and no error */
    GCB_CASE_NAMES
};

struct gcb_case {
    bool kernel, exchange; /* the kind of the row; if both are false, a method */
    /* Strings belong to the list of cases. Equal strings have equal pointers. */
    const char *text[GCB_CASE_TEXTS];
    const char *name[GCB_CASE_NAMES]; /* set by gcb_case_finish */
    const char *label;                /* short, set by gcb_cases_label; NULL before */
    const char *method;               /* "" for a kernel */
    uint64_t threads;
    uint64_t elements, messages, input_bytes;
    enum gcb_case_status status;
    const char *reason; /* why the status is not ok; may be NULL */
    uint64_t wire_bytes, header_bytes;
    /* values of the fields with GCB_GATE_ERROR, first rel_l2; NAN for a field that the row lacks */
    double errors[GCB_CASE_ERRORS];
    struct gcb_case_time time[2]; /* encode, decode; of a kernel or exchange only the first */
    int operations;               /* number of times: 1 for a kernel or exchange, else 2 */
    uint64_t line;                /* line number of the row */
};

struct gcb_cases {
    const char *path;       /* of the file, as given; borrowed */
    struct gcb_case *items; /* in the order of the file */
    size_t count, cap;
    struct gcb_strings strings;
    json_t *environment; /* the environment row; NULL if the file has none */
};

/*
 * Reads a result file ("-": standard input). If `file` is not NULL, reads that stream instead, and
 * `path` is its name in messages. Fails as gcb_results_read does, or with
 * GCB_E_CORRUPT if the file has no cases, has a case twice, or has the results of two runs. Release
 * *out with gcb_cases_fini, also after a failure.
 */
int gcb_cases_read(struct gcb_cases *out, const char *path, FILE *file, struct gcb_diag *diag);
void gcb_cases_fini(struct gcb_cases *cases); /* a zeroed struct is allowed */

/*
 * Sets the label of every case of both runs: the method with the parameters that differ from the
 * defaults, and those of file, scope, device, instruction set, cache and threads that differ
 * between cases. Cases of one run whose labels would be equal get their full names instead. Call
 * this after both files have been read.
 */
void gcb_cases_label(struct gcb_cases *base, struct gcb_cases *next);

/* Appends a case whose texts are all "". */
struct gcb_case *gcb_cases_add(struct gcb_cases *cases);
/* Sets a string of a case, such as &c->text[0], to an escaped copy of `text`. NULL counts as "". */
void gcb_case_set(struct gcb_cases *cases, const char **field, const char *text);
/* Sets the texts for threads and files and the names of a case, after its other texts were set. */
void gcb_case_finish(struct gcb_cases *cases, struct gcb_case *c);
/* Removes the folders from each file of a list "a/b.h5, c.h5", in place. */
void gcb_case_remove_folders(char *files);

/* A case of one file and the same case of the other file. If only one file has the case, the
 * other pointer is NULL. */
struct gcb_case_pair {
    const struct gcb_case *base, *next;
};

/*
 * Pairs the cases of two files by their names, in the order of enum gcb_case_name: first by the
 * full names, then the remaining cases by the next names, and so on. Cases of one file that have
 * the same name are not paired by that name.
 *
 * Returns *count pairs: all cases of `base` in their order, then the cases that only `next` has. The
 * pairs borrow the cases. The caller releases the array with gcb_free.
 */
struct gcb_case_pair *gcb_pair_cases(size_t *count, const struct gcb_cases *base,
                                     const struct gcb_cases *next);

#endif
