#ifndef SRC_TOOL_BASE_CHILD_H
#define SRC_TOOL_BASE_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "src/lib/base/diag.h"

/* How to run a child process. The limits are `seconds` and `stop`. Once a limit is reached, reading
 * from `out` of struct gcb_child fails, and gcb_child_finish ends the child. */
struct gcb_child_limits {
    double seconds; /* time limit, from gcb_child_start on; 0: none */
    /* True if the child must end. Called many times a second while the output is read and in
     * gcb_child_finish. May be NULL. */
    bool (*stop)(void *ctx);
    void *ctx;
    bool search; /* look for argv[0] in $PATH */
    /* Standard input and output of the child are a socket. `fd` of struct gcb_child is its other
     * end, and `out` is NULL. To limit the wait in gcb_child_finish, set `deadline` of struct
     * gcb_child before that call. */
    bool talks;
    const char *folder; /* working directory of the child; NULL: that of this process */
};

/*
 * A child process whose output is read while it runs. It is started without a shell and, unless it
 * talks, reads no input. It has its own process group, so that ending the child also ends what the
 * child started.
 */
struct gcb_child {
    pid_t pid;       /* 0: there is no process to wait for */
    FILE *out;       /* standard output of the child; NULL if the child talks */
    FILE *errs;      /* standard error of the child, quoted if the child fails */
    int fd;          /* read end of the child's standard output, owned by `out`; or the socket,
                      * which gcb_child_finish closes */
    int tidy_place;  /* from gcb_tidy_enter_child */
    double deadline; /* by gcb_clock; 0: none */
    double cpu;      /* processor seconds of the child and of the processes that it waited for; set
                      * by gcb_child_finish */
    struct gcb_child_limits limits;
    bool late, stopped; /* the deadline has passed; `stop` has returned true */
    char name[160];     /* begins messages: argv[0], escaped; the caller may write another text */
};

/*
 * Starts argv[0], which is a path unless limits->search is set. `out` reads through `c`, so *c must
 * stay where it is until gcb_child_finish, which releases everything. After a failure, nothing is
 * left to release, and gcb_child_finish does nothing. Returns 0 or:
 *   GCB_E_UNSUPPORTED  limits->search is set, and $PATH has no such program that may be run
 *   GCB_E_IO           the program cannot be run for another reason
 */
int gcb_child_start(struct gcb_child *c, char *const *argv, const struct gcb_child_limits *limits,
                    struct gcb_diag *diag);

/*
 * Reads and drops the rest of `out`, waits until the child ends, ends the child once it reaches a
 * limit, and releases everything. `status` (may be NULL) becomes the exit status, or -1 if a signal
 * ended the child. Returns 0 if the child reached no limit and exited with 0, otherwise GCB_E_IO.
 * The message says how the child ended, and may quote the last line of its standard error. `c` may
 * be a zeroed struct or a child that never started; then *status and the result are 0.
 */
int gcb_child_finish(struct gcb_child *c, int *status, struct gcb_diag *diag);

#endif
