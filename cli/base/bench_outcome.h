#ifndef CLI_BASE_BENCH_OUTCOME_H
#define CLI_BASE_BENCH_OUTCOME_H

#include "cli/base/cmd.h"
#include "src/tool/trial/run.h"

/* What a bench or a sweep came to: how many of its methods, over all cases, did not do what they should. Starts zeroed. */
struct bench_outcome {
    const char *noun;          /* of what is counted; NULL: "methods" */
    size_t methods;            /* that were tried; a method counts once for each case */
    size_t failed;             /* of these, unverified ones too */
    size_t unverified;         /* a device gave what the CPU does not */
    struct gcb_diag first_bad; /* in words, the first of the unverified, or else of the failed */
    struct gcb_diag missing;   /* the first that found no library of its device's */
};

/* Takes in the totals of a case. */
void bench_outcome_add(struct bench_outcome *o, const struct gcb_run_result *result);

/*
 * What the command returns, the gravest first: CMD_NOT_VERIFIED (5), CMD_FAILED (1), GCB_E_BACKEND (3) with its words in
 * `diag`, 0. What lies behind 5 and 1 is said on `err`. A method that does not run on its device is nothing of these.
 */
int bench_outcome_judge(const struct bench_outcome *o, FILE *err, struct gcb_diag *diag);

#endif
