#ifndef SRC_TOOL_BASE_CHILD_H
#define SRC_TOOL_BASE_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "src/lib/base/diag.h"

/*
 * A child process whose output is read while it runs. It is started without a shell and reads no
 * input. It has its own process group, so that ending the child also ends what the child started.
 */
struct gcb_child_limits {
    double seconds; /* the child is ended after this time; 0: never */
    /* asked several times a second whether to end the child; may be NULL */
    bool (*stop)(void *ctx);
    void *ctx;
    bool search;        /* look for argv[0] in $PATH */
    const char *folder; /* run the child there; NULL: where this process runs */
};

struct gcb_child {
    pid_t pid;  /* 0: no process runs */
    FILE *out;  /* standard output of the child; reading fails once a limit is passed */
    FILE *errs; /* standard error of the child, quoted if the child fails */
    int fd;
    int tidy_place; /* from gcb_tidy_enter_child */
    double deadline;
    double cpu; /* processor seconds of the child and its children; set by gcb_child_finish */
    struct gcb_child_limits limits;
    bool late, stopped; /* ended by the time limit; ended by `stop` */
    char name[160];     /* escaped */
};

/* Starts argv[0], which is a path unless limits->search. GCB_E_UNSUPPORTED: the search finds no
 * such program. GCB_E_IO: it cannot be run. Call gcb_child_finish afterwards, even after a
 * failure. */
int gcb_child_start(struct gcb_child *c, char *const *argv, const struct gcb_child_limits *limits,
                    struct gcb_diag *diag);

/*
 * Waits until the child ends, at most until its deadline, and releases everything. Returns 0 if the
 * child exited with
 * 0. If the child failed or was ended, returns GCB_E_IO with the last line of its standard error in
 *    the message.
 * `status` (may be NULL) becomes the exit status, or -1 if there is none. `c` may be a child that
 * never started.
 */
int gcb_child_finish(struct gcb_child *c, int *status, struct gcb_diag *diag);

#endif
