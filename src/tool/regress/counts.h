#ifndef SRC_TOOL_REGRESS_COUNTS_H
#define SRC_TOOL_REGRESS_COUNTS_H

#include "src/lib/codec/method.h"
#include "src/tool/regress/ab_run.h"

/*
 * Counts the instructions of gcb_coder_encode and gcb_coder_decode, with the functions that they
 * call. Valgrind's tool callgrind counts them, in one process for each method and build. The same
 * program on the same input has the same counts, whatever else the machine does.
 */
#define GCB_COUNTS_DELTA 0.01    /* default of the smallest change that counts, as a share */
#define GCB_COUNTS_TIMEOUT 600.0 /* default of the most seconds of a process */

struct gcb_counts_config {
    /* Paths, command line, `timeout`, `delta` and `watch` of the builds; a `timeout` or `delta` of
     * 0 means the default above. command.argv[0] is the word after the name of the program. The
     * command encodes and decodes each message once, with one thread. */
    const struct gcb_ab_config *builds;
    const char *file, *isa, *scope; /* parts of each case's name; `file` is the first input file */
    const struct gcb_method *methods;
    size_t method_count;
    /* Counts only methods that have a verdict here which gcb_counts_settle can change. NULL: counts
     * all methods. */
    const struct gcb_verdicts *times;
    const char *folder; /* an existing folder for temporary files */
};

struct gcb_counts {
    struct gcb_cases cases; /* one for each method */
    bool interrupted;       /* the watch ended the counting */
    double seconds;         /* duration of the counting */
};

/*
 * Adds the verdicts on the methods to `out`, which is empty at first. A method that can be counted
 * in only one build is NEW or GONE. A method that can be counted in neither is NOT-COMPARED. The
 * verdicts borrow counts->cases, which the caller releases with gcb_cases_fini, also after a
 * failure. Sets LD_BIND_NOW in the environment of this process. Returns GCB_E_BACKEND if valgrind
 * is not installed, and GCB_E_IO if no method was counted: all failed, `times` needs none, or the
 * watch ended the first. If the watch ends the counting later, sets `interrupted` and returns 0.
 */
int gcb_counts_run(struct gcb_counts *counts, struct gcb_verdicts *out,
                   const struct gcb_counts_config *config, struct gcb_diag *diag);
/*
 * Changes SLOW and FAST in `times` to AMBIGUOUS if `counts` says SAME for the method and operation.
 * Call this only if all processes had the same layout of the code. `isa` is the instruction set of
 * the counts. Verdicts on other instruction sets stay.
 */
void gcb_counts_settle(struct gcb_verdicts *times, const struct gcb_verdicts *counts,
                       const char *isa);

#endif
