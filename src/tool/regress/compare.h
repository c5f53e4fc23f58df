#ifndef SRC_TOOL_REGRESS_COMPARE_H
#define SRC_TOOL_REGRESS_COMPARE_H

#include "src/tool/regress/places.h"
#include "src/tool/regress/verdict.h"

/*
 * What is judged from rows alone: whether a case is there, its sizes and errors, and, between two runs on one
 * machine, its times. docs/method.md (Regressions) has the rules.
 */

/* How much a time has to change between two runs one after the other. */
#define GCB_RUNS_DELTA 0.10
/* Library mathematics and GPUs: sizes relative, rel_l2 absolute. */
#define GCB_TOLERANCE 1e-4

/* How far this case's sizes (relative) and errors may lie apart: GCB_TOLERANCE or 0. */
double gcb_compare_tolerance(const struct gcb_case *c);

/* Two runs. */
struct gcb_runs {
    struct gcb_cases base, next;
};

/*
 * NEW, GONE, size and error of one match. *timed (may be NULL): are both sides ok and of the same input, so that
 * times may be compared? The words of why not stand in the verdicts. GCB_E_NOMEM.
 */
int gcb_compare_rows(struct gcb_verdicts *out, const struct gcb_runs *runs,
                     const struct gcb_match *match, bool *timed, struct gcb_diag *diag);

/*
 * Every case of two result files. Times are compared where the environments are the same and rows have intervals: SLOW or
 * FAST where the whole interval of the ratio and the ratio of the best runs lie beyond `delta`. GCB_E_NOMEM.
 */
int gcb_compare_runs(struct gcb_verdicts *out, const struct gcb_runs *runs, double delta,
                     struct gcb_diag *diag);

#endif
