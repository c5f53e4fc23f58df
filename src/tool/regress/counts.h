#ifndef SRC_TOOL_REGRESS_COUNTS_H
#define SRC_TOOL_REGRESS_COUNTS_H

#include "src/lib/codec/method.h"
#include "src/tool/regress/ab_run.h"

/*
 * Counts the instructions of encoding and decoding with valgrind's callgrind, in one process for
 * each method and build: only gcb_coder_encode, gcb_coder_decode and what they call. The same
 * program on the same input has the same counts, whatever else the machine does.
 */
#define GCB_COUNTS_DELTA 0.01
#define GCB_COUNTS_TIMEOUT 600.0 /* seconds of one process */

struct gcb_counts_config {
    /* Paths, command line, `timeout`, `delta`, `stop` and `progress` of the builds; the command
     * line, without a program, encodes and decodes each message once, with one thread. Zero:
     * defaults. */
    const struct gcb_ab_config *builds;
    /* the first input file; its name is part of each case's name, like isa and scope */
    const char *file;
    const char *isa, *scope;
    const struct gcb_method *methods;
    size_t method_count;
    /* counts only methods with a verdict here that gcb_counts_settle can change; NULL: all */
    const struct gcb_verdicts *times;
    const char *folder; /* for temporary files; it exists */
};

struct gcb_counts {
    struct gcb_cases cases;
    bool interrupted;
    double seconds;
};

/*
 * Adds the verdicts on every method. A method that cannot be counted in one build is NEW or GONE;
 * in both builds, NOT-COMPARED. The verdicts borrow the cases of `counts`, which the caller
 * releases on success and failure. GCB_E_BACKEND: no valgrind. GCB_E_IO: nothing could be counted.
 */
int gcb_counts_run(struct gcb_counts *counts, struct gcb_verdicts *out,
                   const struct gcb_counts_config *config, struct gcb_diag *diag);
/*
 * For comparisons in which the layout of the code did not vary: changes SLOW and FAST to AMBIGUOUS
 * if `counts` says SAME for the method and operation. `isa` is the instruction set of the counts;
 * times of other instruction sets do not change.
 */
void gcb_counts_settle(struct gcb_verdicts *times, const struct gcb_verdicts *counts,
                       const char *isa);

#endif
