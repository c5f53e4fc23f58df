#ifndef TESTS_CONTRACT_LAX_SUM_H
#define TESTS_CONTRACT_LAX_SUM_H

#include "tests/contract/sum_checks.h"

/*
 * A simple sum that decodes and adds, with one of the defects that a sum may have. It shows that the checks of sums catch
 * each defect. Only for methods without a transform.
 */
enum lax_defect {
    LAX_NONE,
    LAX_THREADS, /* two threads add two partial sums, which are added at the end */
    LAX_WEIGHT,  /* the second message counts with weight 1 */
    LAX_HALF,    /* adds while it decodes, so that half of a damaged message stays */
    LAX_INTO,    /* begins with the values in the caller's tensor */
};

/* The next sums that lax_sum opens have this defect. */
extern enum lax_defect lax_defect;
extern const struct sum_fns lax_sum;

#endif
