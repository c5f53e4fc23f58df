#ifndef SRC_TOOL_REGRESS_VERDICT_H
#define SRC_TOOL_REGRESS_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/lib/base/diag.h"
#include "src/tool/base/strings.h"
#include "src/tool/rows/fields.h"
#include "src/tool/rows/row.h"
#include "src/tool/rows/sink.h"

/*
 * The cases of a result file of `bench` or gcbench-mpi: one for each summary row (a method on an
 * input), kernel row and exchange row, except the rows of memcpy. A case keeps what a comparison
 * needs.
 */

/* The texts that identify a case; "" if the row lacks the text. Escaped, without control
 * characters. */
enum gcb_case_text {
    GCB_CASE_FILE,
    GCB_CASE_SCOPE,
    GCB_CASE_SPEC, /* method with all parameters of this version; for a kernel: "family/kernel" */
    GCB_CASE_DEVICE,
    GCB_CASE_ISA,
    GCB_CASE_CACHE,
    GCB_CASE_SHUFFLE,
    GCB_CASE_SIZE,    /* "n=4096" for a kernel, "n=4096 workers=4 ring" for an exchange, else "" */
    GCB_CASE_THREADS, /* "t4" for four threads */
    GCB_CASE_FILES,   /* the files without their folders */
    GCB_CASE_TEXTS
};
/* The field of a row from which each text before GCB_CASE_SIZE comes (GCB_CASE_SPEC: except for a
 * kernel). The other texts are composed. */
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
    GCB_CASE_NAME_WITHOUT_ISA, /* also without instruction set, which changes no size or error */
    GCB_CASE_NAMES
};

struct gcb_case {
    bool kernel, exchange; /* the kind of the row; if both are false, a method */
    /* Strings belong to the list of cases. */
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
 * `path` is its name in messages. Fails as gcb_results_read does, or with GCB_E_CORRUPT if the file
 * has no cases, has a case twice, or has the results of two runs. Release *out with gcb_cases_fini,
 * also after a failure.
 */
int gcb_cases_read(struct gcb_cases *out, const char *path, FILE *file, struct gcb_diag *diag);
void gcb_cases_fini(struct gcb_cases *cases); /* a zeroed struct is allowed */

/*
 * Sets the label of every case of both runs: the method (gcb_method_label) or the kernel, the text
 * GCB_CASE_SIZE, and those of file, scope, device, instruction set, cache, shuffle and threads that
 * differ between cases. Cases of one run whose labels would be equal get their full names instead.
 * Call this after both files have been read.
 */
void gcb_cases_label(struct gcb_cases *base, struct gcb_cases *next);

/* Appends a case whose texts are all "", and returns it. The pointer is valid until the next case
 * is added. */
struct gcb_case *gcb_cases_add(struct gcb_cases *cases);
/* Sets a string of a case, such as &c->text[0], to an escaped copy of `text`. NULL counts as "". */
void gcb_case_set(struct gcb_cases *cases, const char **field, const char *text);
/* Sets the texts for threads and files and the names of a case, after its other texts and
 * c->threads were set. */
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
 * Returns *count pairs: all cases of `base` in their order, then the cases that only `next` has.
 * The pairs borrow the cases. The caller releases the array with gcb_free.
 */
struct gcb_case_pair *gcb_pair_cases(size_t *count, const struct gcb_cases *base,
                                     const struct gcb_cases *next);

/* What a verdict compares. docs/method.md (Regressions) has the rules. */
enum gcb_quantity {
    GCB_QUANTITY_CASE,  /* whether the case is there and runs */
    GCB_QUANTITY_SIZE,  /* bytes of the messages */
    GCB_QUANTITY_ERROR, /* rel_l2; if it is the same, the other fields with GCB_GATE_ERROR */
    /* times in seconds: */
    GCB_QUANTITY_ENCODE,
    GCB_QUANTITY_DECODE,
    GCB_QUANTITY_KERNEL,
    GCB_QUANTITY_EXCHANGE,
    /* numbers of instructions: */
    GCB_QUANTITY_ENCODE_COUNT,
    GCB_QUANTITY_DECODE_COUNT,
    GCB_QUANTITIES
};
struct gcb_quantity_info {
    const char *name, *unit; /* such as "encode" and "seconds"; `unit` is NULL if there is none */
    bool is_time;
};
extern const struct gcb_quantity_info gcb_quantities[GCB_QUANTITIES];

enum gcb_verdict_kind {
    GCB_SAME,
    GCB_FAST, /* FAST and SLOW: on times and instructions */
    GCB_SLOW,
    GCB_AMBIGUOUS, /* the measurement does not decide */
    GCB_NOT_COMPARED,
    GCB_LARGER, /* LARGER and SMALLER: on sizes */
    GCB_SMALLER,
    GCB_WORSE, /* WORSE and BETTER: on errors */
    GCB_BETTER,
    GCB_NEW,  /* only the new build runs the case */
    GCB_GONE, /* the base runs the case; the new build does not, or fails in some processes */
    GCB_VERDICT_KINDS
};
extern const char *const gcb_verdict_names[GCB_VERDICT_KINDS]; /* such as "NOT-COMPARED" */

struct gcb_verdict {
    struct gcb_case_pair pair; /* borrows the cases */
    enum gcb_quantity quantity;
    enum gcb_verdict_kind kind;
    /* figures; NAN if the verdict has none. `ratio` is next / base, but in an A/B run the median
     * ratio of the pairs. */
    double base, next, ratio; /* base and next: in the quantity's unit */
    double low, high;         /* 95 % interval of ratio; for two files: quotient of intervals */
    double delta;             /* a ratio from 1 / (1 + delta) to 1 + delta counts as the same */
    double p;                 /* p-value, adjusted for the number of comparisons */
    uint64_t pairs;           /* pairs of an A/B run that timed both builds; else 0 */
    bool accepted;            /* --accept says that the change is wanted */
    bool advisory;            /* the verdict is shown, but never fails the command */
    const char *reason;       /* one line; NULL if there is nothing to say */
};

/* A list of verdicts. Starts zeroed. */
struct gcb_verdicts {
    struct gcb_verdict *items;
    size_t count, cap;
    struct gcb_strings reasons; /* memory of the verdicts' reasons */
};

/*
 * Judges a quantity by the interval from `low` to `high` of the ratio new / base:
 *
 *   GCB_SLOW       if the whole interval is above 1 + delta
 *   GCB_FAST       if the whole interval is below 1 / (1 + delta)
 *   GCB_SAME       if the whole interval lies between these two limits
 *   GCB_AMBIGUOUS  otherwise, also if both ends are NAN
 *
 * If the builds are swapped, SLOW and FAST are swapped.
 */
enum gcb_verdict_kind gcb_verdict_judge(double low, double high, double delta);

/* Adds a verdict whose figures are NAN. The pointer is valid until the next verdict is added. */
struct gcb_verdict *gcb_verdicts_add(struct gcb_verdicts *all, const struct gcb_case_pair *pair,
                                     enum gcb_quantity quantity, enum gcb_verdict_kind kind);
/* Adds a verdict NOT_COMPARED on the time of operation `op` (0 or 1) of a pair. Both cases of the
 * pair ran. */
struct gcb_verdict *gcb_verdicts_add_time(struct gcb_verdicts *all,
                                          const struct gcb_case_pair *pair, int op, double delta);
/* Sets base, next and their ratio. */
void gcb_verdict_set_values(struct gcb_verdict *v, double base, double next);
/* Sets the reason (printf style, cut to 399 bytes) of a verdict in `all`. */
void gcb_verdict_explain(struct gcb_verdicts *all, struct gcb_verdict *v, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void gcb_verdicts_fini(struct gcb_verdicts *all); /* a zeroed struct is allowed */

/* Returns the case of the base, or the case of the new run if the base has none. */
const struct gcb_case *gcb_verdict_case(const struct gcb_verdict *v);
/* Returns what to do next, a static text, or NULL for a verdict without advice, such as SAME. */
const char *gcb_verdict_advice(const struct gcb_verdict *v);

/* True if the verdict is SLOW, LARGER, WORSE or GONE, and neither accepted nor advisory. */
bool gcb_verdict_fails(const struct gcb_verdict *v);

/*
 * Accepts the verdicts whose case matches the glob, and returns how many. The glob is tried on the
 * case's name, on its label and on the method's spec, each with and without the quantity ("NAME
 * encode").
 */
size_t gcb_verdicts_accept(struct gcb_verdicts *all, const char *pattern);

struct gcb_verdict_counts {
    size_t kinds[GCB_VERDICT_KINDS];
    size_t accepted; /* verdicts that would fail without --accept */
    size_t fails;    /* verdicts that fail (gcb_verdict_fails) */
    size_t unsure;   /* AMBIGUOUS or NOT-COMPARED, unless accepted or advisory; --strict fails */
};
void gcb_verdicts_count(struct gcb_verdict_counts *out, const struct gcb_verdicts *all);

/* Makes the `verdict` row (docs/rows.md). The caller releases it with gcb_row_fini. */
void gcb_verdict_row(struct gcb_row *row, const struct gcb_verdict *v);

/* Adds the counts of all verdicts to the `regress` row. */
void gcb_verdicts_row(struct gcb_row *row, const struct gcb_verdicts *all);

/* ---- comparing rows (compare.c) ---- */

/*
 * The functions below judge from rows only: whether a case is there, its sizes and errors, and its
 * times if both runs were on one machine. docs/method.md (Regressions) has the rules.
 */

/* The default of `delta` below for two result files: a share. */
#define GCB_RUNS_DELTA 0.10
/* Allowed difference for GPUs, and for methods that use a library for mathematics: relative for
 * sizes, absolute for rel_l2. */
#define GCB_TOLERANCE 1e-4

/* Returns how far sizes (relative) and rel_l2 (absolute) of this case may differ: GCB_TOLERANCE or
 * 0. */
double gcb_compare_tolerance(const struct gcb_case *c);

/* The results of two runs. */
struct gcb_runs {
    struct gcb_cases base, next;
};

/*
 * Adds the verdicts of one pair on its size and on its error. Returns true if the times may be
 * compared, because both cases ran, on the same input. Otherwise adds only a verdict on the case
 * itself, which says why not. A kernel has no verdicts on size and error, and no input to compare.
 */
bool gcb_compare_rows(struct gcb_verdicts *out, const struct gcb_runs *runs,
                      const struct gcb_case_pair *pair);

/*
 * Compares all cases of two result files, and adds the verdicts to `out`. Times are compared if the
 * environments and the instruction sets are the same and the rows have intervals. A time is SLOW or
 * FAST if the whole interval of the ratio is beyond `delta` (0.1: 10 %), and the ratio of the
 * fastest samples is too. The verdicts borrow the cases of `runs`. Returns GCB_E_INVALID if the
 * files have no case in common, because then GONE and NEW would mislead.
 */
int gcb_compare_runs(struct gcb_verdicts *out, const struct gcb_runs *runs, double delta,
                     struct gcb_diag *diag);

/* Fields of the `environment` row (docs/rows.md) that differ between two runs. At most
 * GCB_ENVIRONMENT_DIFFERENCES - 1 of them are kept. */
#define GCB_ENVIRONMENT_DIFFERENCES 24
struct gcb_environment_differences {
    size_t count;
    struct gcb_environment_difference {
        char field[40];          /* such as "libraries.fftw" */
        char base[96], next[96]; /* the values as text, escaped, or "not known" */
    } items[GCB_ENVIRONMENT_DIFFERENCES];
};

/*
 * Finds the differences that make times incomparable: processor, number of cpus, governor, kernel,
 * build type, sanitizers, compiler, flags, libraries, GPU and its driver. (Instruction set, threads
 * and device belong to the cases.) If one or both runs have no environment row, the only difference
 * is the field "environment".
 */
void gcb_environment_compare(struct gcb_environment_differences *out, const struct gcb_runs *runs);

#endif
