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

/* The texts that identify a case; "" if the row lacks one. Escaped, without control characters. */
enum gcb_case_text {
    GCB_CASE_FILE,
    GCB_CASE_SCOPE,
    GCB_CASE_SPEC, /* with all parameters of today's method; for a kernel: "family/kernel" */
    GCB_CASE_DEVICE,
    GCB_CASE_ISA,
    GCB_CASE_CACHE,
    GCB_CASE_SIZE,    /* "n=4096" for a kernel, "n=4096 workers=4 ring" for an exchange, else "" */
    GCB_CASE_THREADS, /* "t4" */
    GCB_CASE_FILES,   /* the files without their folders */
    GCB_CASE_TEXTS
};
/* The field of a row from which each text comes. The last three texts have none. */
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

#define GCB_CASE_ERRORS 4

/* A case's texts in one line. Cases with the same name are paired, first by the full name. */
enum gcb_case_name {
    GCB_CASE_NAME_FULL,        /* begins with the paths of the files */
    GCB_CASE_NAME,             /* without their folders; `--accept` matches it */
    GCB_CASE_NAME_WITHOUT_ISA, /* without the instruction set, which changes no size and no error */
    GCB_CASE_NAMES
};

struct gcb_case {
    bool kernel, exchange; /* of the row's kind; neither: a method */
    /* Strings belong to the list of cases; equal ones have equal pointers. */
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
    struct gcb_case_time time[2]; /* encode, decode */
    int operations;               /* times that it has: 2; 1 for a kernel and an exchange */
    uint64_t line;                /* line number of the row */
};

struct gcb_cases {
    const char *path;       /* of the file, as given */
    struct gcb_case *items; /* in the order of the file */
    size_t count, cap;
    struct gcb_strings strings;
    bool no_memory;      /* for a string of a case */
    json_t *environment; /* the environment row; NULL if the file has none */
};

/*
 * Reads a result file ("-": standard input), or the stream `file` under the name `path` if `file`
 * is not NULL. GCB_E_CORRUPT, with file and line in words: not a result file, no cases, a case that
 * appears twice, or two runs in one file. Release with gcb_cases_fini on success and failure.
 */
int gcb_cases_read(struct gcb_cases *out, const char *path, FILE *file, struct gcb_diag *diag);
void gcb_cases_fini(struct gcb_cases *cases); /* zeroed is fine */

/*
 * Gives every case of both runs its label: the method with the parameters that differ from the
 * defaults, followed by those of file, scope, device, instruction set, cache and threads that
 * differ between cases. If labels would be equal, the label is the file and the full name. Call
 * this after both files have been read. GCB_E_NOMEM.
 */
int gcb_cases_label(struct gcb_cases *base, struct gcb_cases *next, struct gcb_diag *diag);

/* Appends a case whose texts are all ""; NULL: no memory. */
struct gcb_case *gcb_cases_add(struct gcb_cases *cases);
/* Sets a string of a case to an escaped copy of the text; NULL is "". Without memory, sets
 * `no_memory`. */
void gcb_case_set(struct gcb_cases *cases, const char **field, const char *text);
/* Sets the texts for threads and files, and the names, of a case whose other texts are set. */
void gcb_case_finish(struct gcb_cases *cases, struct gcb_case *c);
/* Removes the folders from each file of a list "a/b.h5, c.h5", in place. */
void gcb_case_remove_folders(char *files);

/* A case of one file and the same case of the other file. If only one file has the case, the
 * other pointer is NULL. */
struct gcb_case_pair {
    const struct gcb_case *base, *next;
};

/*
 * Pairs the cases of two files, first by everything that identifies a case: file, scope, method,
 * device, instruction set, cache and threads. The remaining cases are paired without the folders of
 * their files, and then also without the instruction set, which changes neither sizes nor errors. A
 * step leaves out cases that have the same key as another case of their file.
 *
 * *out holds *count pairs: those with a base in the order of `base`, then the cases that only
 * `next` has. Release it with gcb_free. The pairs borrow the cases.
 */
int gcb_pair_cases(struct gcb_case_pair **out, size_t *count, const struct gcb_cases *base,
                   const struct gcb_cases *next, struct gcb_diag *diag);

#endif
