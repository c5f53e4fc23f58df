#ifndef SRC_TOOL_REGRESS_COMPARE_H
#define SRC_TOOL_REGRESS_COMPARE_H

#include "src/tool/regress/verdict.h"

/*
 * What can be judged from rows only: whether a case is there, its sizes and errors, and, between
 * two runs on one machine, its times. docs/method.md (Regressions) has the rules.
 */

/* Times of two runs count as the same if they differ by less than this share. */
#define GCB_RUNS_DELTA 0.10
/* Allowed difference for GPUs, and for methods that use a library for mathematics: relative for
 * sizes, absolute for rel_l2. */
#define GCB_TOLERANCE 1e-4

/* How far sizes (relative) and errors of this case may differ: GCB_TOLERANCE or 0. */
double gcb_compare_tolerance(const struct gcb_case *c);

/* The results of two runs. */
struct gcb_runs {
    struct gcb_cases base, next;
};

/*
 * Adds the verdicts NEW, GONE, size and error of one pair. Returns whether times may be compared:
 * both sides ran, on the same input. If not, a verdict says why. Call gcb_verdicts_check at the
 * end.
 */
bool gcb_compare_rows(struct gcb_verdicts *out, const struct gcb_runs *runs,
                      const struct gcb_case_pair *pair);

/*
 * Compares all cases of two result files. Times are compared if the environments are the same and
 * the rows have intervals: SLOW or FAST if the whole interval of the ratio is beyond `delta` and
 * the ratio of the best samples is too. GCB_E_INVALID if the files have no case in common: they
 * hold different measurements, so no case is GONE or NEW. GCB_E_NOMEM.
 */
int gcb_compare_runs(struct gcb_verdicts *out, const struct gcb_runs *runs, double delta,
                     struct gcb_diag *diag);

/* Fields of the `environment` row (docs/rows.md) that differ between two runs. */
#define GCB_ENVIRONMENT_DIFFERENCES 24
struct gcb_environment_differences {
    size_t count;
    struct gcb_environment_difference {
        char field[40];          /* "libraries.fftw" */
        char base[96], next[96]; /* the values as text, escaped; "not known" */
    } items[GCB_ENVIRONMENT_DIFFERENCES];
};

/*
 * Finds the differences that make times incomparable: processor, number of cpus, governor, kernel,
 * build type, sanitizers, compiler, flags, libraries, GPU and its driver. (Instruction set, threads
 * and device belong to the cases.) If a run has no environment row, the only difference is the
 * field "environment".
 */
void gcb_environment_compare(struct gcb_environment_differences *out, const struct gcb_runs *runs);

#endif
