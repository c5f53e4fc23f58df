#ifndef SRC_TOOL_REGRESS_CASES_H
#define SRC_TOOL_REGRESS_CASES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/lib/base/diag.h"

/*
 * Cases out of result files of `bench`: one for each summary row (a method on an input) and each kernel row. Of a
 * row is kept what a comparison needs.
 */

/* What a case is told apart by; "" where its row has none. Escaped, without control characters. */
enum gcb_case_text {
    GCB_CASE_FILE,
    GCB_CASE_SCOPE,
    GCB_CASE_SPEC, /* of a kernel: "family/kernel" */
    GCB_CASE_DEVICE,
    GCB_CASE_ISA,
    GCB_CASE_CACHE,
    GCB_CASE_TEXTS
};

enum gcb_case_status {
    GCB_CASE_OK,
    GCB_CASE_UNSUPPORTED,
    GCB_CASE_FAILED,
    GCB_CASE_INTERRUPTED,
};

struct gcb_case_time {
    double seconds;   /* the median */
    double min;       /* of the best run */
    double low, high; /* 95 % interval of the median; NAN where there is none */
};

struct gcb_case {
    bool kernel;
    char *text[GCB_CASE_TEXTS]; /* owned */
    char *name;                 /* all of them in one line, what `--accept` matches; owned */
    char *label;                /* short, by gcb_cases_label; NULL before; owned */
    char *method;               /* owned; "" for a kernel */
    uint64_t threads;
    uint64_t elements, messages, input_bytes;
    enum gcb_case_status status;
    char *reason; /* why it is not ok; may be NULL; owned */
    uint64_t wire_bytes, header_bytes;
    double rel_l2, cosine, max_abs_error; /* NAN where the row has none */
    struct gcb_case_time time[2];         /* encode, decode; of a kernel the first alone */
    uint64_t line;                        /* of the row */
};

struct gcb_cases {
    struct gcb_case *items; /* in the file's order */
    size_t count, cap;
    json_t *environment; /* the environment row; NULL: there was none */
};

/*
 * Reads a result file ("-": standard input), or `file` under the name `path` if it is not NULL. GCB_E_CORRUPT, with
 * file and line in words: no result file, no case in it, a case twice, two runs in one file.
 * Release with gcb_cases_fini on success and failure.
 */
int gcb_cases_read(struct gcb_cases *out, const char *path, FILE *file, struct gcb_diag *diag);
void gcb_cases_fini(struct gcb_cases *cases); /* zeroed is fine */

/* A case with room for its texts, all "", at the end of the list; NULL: no memory. */
struct gcb_case *gcb_cases_add(struct gcb_cases *cases);
/* Sets a text, cleaned; names the case, from its texts. GCB_E_NOMEM. */
int gcb_case_set(char **field, const char *text);
int gcb_case_make_name(struct gcb_case *c);

/* The part of a path behind the last slash, for each file of a list "a/b.h5, c.h5"; `out` holds as much as `files`. */
char *gcb_case_basename(char *out, const char *files);

#endif
