#ifndef SRC_TOOL_REGRESS_COUNTS_H
#define SRC_TOOL_REGRESS_COUNTS_H

#include "src/lib/codec/method.h"
#include "src/tool/regress/child.h"
#include "src/tool/regress/verdict.h"

/*
 * Instructions of encoding and decoding, counted by valgrind's callgrind. For each method and build it runs one process, and
 * counts only gcb_coder_encode, gcb_coder_decode and what they call. The same program on the same input has the same counts,
 * whatever else the machine does.
 */
#define GCB_COUNTS_DELTA 0.01
#define GCB_COUNTS_TIMEOUT 600.0 /* seconds of one process */
#define GCB_COUNTS_SPEC 512

struct gcb_counts_config {
    const char *exe[2]; /* base, new: paths */
    /* the words after the program, NULL at the end; they make it encode and decode every message once with one thread */
    char *const *argv;
    /* a word of argv with room for GCB_COUNTS_SPEC bytes: the method is written into it */
    char *spec;
    const char
        *file; /* the first input file; its name is part of each case's name, like isa and scope */
    const char *isa, *scope;
    const struct gcb_method *methods;
    size_t method_count;
    const char *folder;                        /* for temporary files; it exists */
    double delta;                              /* 0: GCB_COUNTS_DELTA */
    double timeout;                            /* 0: GCB_COUNTS_TIMEOUT */
    bool (*stop)(void *ctx);                   /* may be NULL */
    void (*progress)(void *ctx, double share); /* may be NULL */
    void *ctx;
};

struct gcb_counts {
    struct gcb_cases cases;
    bool interrupted;
    double seconds;
};

/*
 * Adds the verdicts on every method. A method that one build does not know, or with which it fails, is NEW or GONE; with both
 * builds, it is NOT-COMPARED. The verdicts borrow the cases of `counts`, which the caller releases on success and failure. GCB_E_BACKEND: no valgrind. GCB_E_IO: nothing could be counted.
 */
int gcb_counts_run(struct gcb_counts *counts, struct gcb_verdicts *out,
                   const struct gcb_counts_config *config, struct gcb_diag *diag);
/*
 * For comparisons in which the layout of the code did not vary: makes SLOW and FAST times AMBIGUOUS if `counts` has the same
 * method with the same operation as SAME. `isa`: that of the counts; times of another instruction set stay as they are.
 */
void gcb_counts_settle(struct gcb_verdicts *times, const struct gcb_verdicts *counts,
                       const char *isa);
/* Is it a SLOW or FAST time that counts for this instruction set may settle? */
bool gcb_counts_may_settle(const struct gcb_verdict *time, const char *isa);

#endif
