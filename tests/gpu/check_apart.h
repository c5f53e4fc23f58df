#ifndef TESTS_GPU_CHECK_APART_H
#define TESTS_GPU_CHECK_APART_H

/*
 * Runs checks in child processes, because a device that failed once does not work any more in the
 * same process, and a kernel may never end. A child runs checks until one fails; a new child
 * continues with the next check.
 */
#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"

/* Outcome of a check; a child sends it to its parent. */
struct outcome {
    size_t at;       /* number of the check */
    char status[16]; /* "ok", "unsupported" or "failed" */
    bool fed;        /* also tested with error feedback */
    char reason[GCB_DIAG_TEXT];
    double seconds;
};

struct checking {
    size_t count;
    unsigned patience;      /* most seconds for a check */
    void *ctx;              /* argument of open and run */
    int (*open)(void *ctx); /* called once in each process; not 0: no device */
    void (*run)(void *ctx, struct outcome *o, size_t at); /* *o is "failed" when run is called */
    /* called in this process after each check; may be NULL */
    void (*done)(void *ctx, const struct outcome *o);
};

bool check_failed(const struct outcome *o);

/* Runs all checks; out has `count` outcomes. Returns 0; 1: no child could be made; 3: no device. */
int check_apart(const struct checking *what, struct outcome *out);

/* The same in this process. */
int check_alone(const struct checking *what, struct outcome *out);

#endif
