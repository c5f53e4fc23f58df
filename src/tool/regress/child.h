#ifndef SRC_TOOL_REGRESS_CHILD_H
#define SRC_TOOL_REGRESS_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "src/lib/base/diag.h"

/*
 * A program run beside this one, whose output is read as it comes. No shell is involved: argv is what it gets. It
 * stands in a process group of its own, so that ending it ends what it started, and reads nothing.
 */
struct gcb_child_limits {
    double seconds;          /* it is ended after so long; 0: never */
    bool (*stop)(void *ctx); /* asked several times a second: end it now? may be NULL */
    void *ctx;
    bool search; /* look for argv[0] where programs are */
};

struct gcb_child {
    pid_t pid;     /* 0: none runs */
    FILE *out;     /* its standard output; reading fails once a limit is passed */
    FILE *errs;    /* its standard error, for words when it fails */
    int fd, place; /* place: of gcb_tidy_enter_child */
    double deadline;
    double cpu; /* seconds of processors that it and its children had; behind gcb_child_finish */
    struct gcb_child_limits limits;
    bool late, stopped; /* ended by the limit; because it was asked for */
    char name[160];     /* escaped */
};

/* Starts argv[0], a path unless `search`. GCB_E_IO with words: cannot be run. Finish it in every case. */
int gcb_child_start(struct gcb_child *c, char *const *argv, const struct gcb_child_limits *limits,
                    struct gcb_diag *diag);

/*
 * Waits for its end, at most until the deadline, and releases everything. 0: it ended with status 0. GCB_E_IO, with its
 * last words: it ended otherwise, in time or not. `status` (may be NULL): its exit status, -1 if there is none. c may be
 * one that never started.
 */
int gcb_child_finish(struct gcb_child *c, int *status, struct gcb_diag *diag);

#endif
