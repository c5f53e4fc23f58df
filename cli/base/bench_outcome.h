#ifndef CLI_BASE_BENCH_OUTCOME_H
#define CLI_BASE_BENCH_OUTCOME_H

#include "cli/base/cmd.h"
#include "src/tool/trial/run.h"

/* The outcome of `bench` or `sweep`: how many methods failed, over all cases. Starts zeroed. */
struct bench_outcome {
    const char *noun;  /* name of what is counted, for messages; NULL: "methods" */
    size_t methods;    /* number of methods tried; a method counts once for each case */
    size_t failed;     /* number of methods that failed, including the unverified ones */
    size_t unverified; /* number of methods whose result on the device differs from the CPU's */
    /* message of the first unverified method, or else of the first failed method */
    struct gcb_diag first_bad;
    struct gcb_diag missing; /* message of the first method that lacks a library of the device */
};

/* Adds the totals of one case to the outcome. */
void bench_outcome_add(struct bench_outcome *o, const struct gcb_run_result *result);

/*
 * Returns the exit status of the command, the worst that applies: CMD_NOT_VERIFIED (5), CMD_FAILED (1), GCB_E_BACKEND
 * (3) with its words in `diag`, or 0. The reason for 5 and 1 is printed on `err`. A method that does not run on the
 * device does not change the exit status.
 */
int bench_outcome_judge(const struct bench_outcome *o, FILE *err, struct gcb_diag *diag);

#endif
