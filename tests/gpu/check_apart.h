#ifndef TESTS_GPU_CHECK_APART_H
#define TESTS_GPU_CHECK_APART_H

/*
 * Checks, one after the other, in processes of their own: a device that failed once answers nothing more in the process
 * that has it, and a kernel may never end. One child goes on until a check fails; behind that, a new one does.
 */
#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"

/* How a check ended; a child sends these to its parent. */
struct outcome {
    size_t at;       /* its number */
    char status[16]; /* "ok", "unsupported" or "failed" */
    bool fed;        /* with error feedback, too */
    char reason[GCB_DIAG_TEXT];
    double seconds;
};

struct checking {
    size_t count;
    unsigned patience;      /* seconds that one of them may take */
    void *ctx;              /* of both */
    int (*open)(void *ctx); /* in each process, once; not 0: no device */
    void (*run)(void *ctx, struct outcome *o, size_t at); /* *o says "failed" before */
};

bool check_failed(const struct outcome *o);

/* out[0..count) of all of them. 0, 1 (no child could be made), or 3: no device. */
int check_apart(const struct checking *what, struct outcome *out);

/* The same in this process, and no further than to the first that fails: the others fail too, unasked. */
int check_alone(const struct checking *what, struct outcome *out);

#endif
