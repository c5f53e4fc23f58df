#ifndef SRC_TOOL_SUITE_SUITE_RUN_H
#define SRC_TOOL_SUITE_SUITE_RUN_H

#include "src/tool/suite/suite.h"
#include "src/tool/timing/bandwidth.h"
#include "src/tool/timing/device_copy.h"
#include "src/tool/trial/run.h"

/*
 * The cases of a suite: every combination of its scopes, devices, numbers of threads and states of the caches. A case
 * runs all methods over all messages. Scopes change least often, then devices, then threads.
 */

/* A device of the suite, by its index there. */
struct gcb_suite_device {
    char name[16];                     /* as rows have it: "cuda:0", also if "cuda" was asked for */
    struct gcb_diag why;               /* status 0: it can be used; otherwise why not */
    struct gcb_device gpu;             /* open, unless it is the CPU */
    struct gcb_device_copying copying; /* of a GPU, once measured */
};

/* What is pointed to is borrowed until the run is closed. */
struct gcb_suite_config {
    const struct gcb_suite
        *suite; /* its timing is complete: a number of warm-ups, no other default */
    struct gcb_layout_config layout;  /* the scope is each case's */
    struct gcb_run_config run;        /* layout, timing, queue, device and budget are each case's */
    struct gcb_suite_device *devices; /* suite->device_count */
    bool histogram, spectrum;         /* rows of these, once for each scope */
    bool no_bandwidth;                /* do not measure memory */
};

struct gcb_suite_case {
    enum gcb_scope scope;
    enum gcb_cache cache;
    int threads;
    const struct gcb_suite_device *device;
    const struct gcb_layout *layout;
    const struct gcb_bandwidth *bandwidth; /* with these threads; bytes 0: not measured */
};

struct gcb_suite_observer {
    /* Before a case; after it. `result` is NULL if the device cannot be used. */
    int (*begin)(void *ctx, const struct gcb_suite_case *at, struct gcb_diag *diag);
    int (*end)(void *ctx, const struct gcb_suite_case *at, const struct gcb_run_result *result,
               struct gcb_diag *diag);
    int (*trial)(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag);
    /* A histogram or spectrum, after the first case of its scope; releases the row. */
    int (*shape)(void *ctx, struct gcb_row *row, struct gcb_diag *diag);
    void (*progress)(void *ctx, double done); /* share of all cases */
    bool (*stop)(void *ctx);                  /* asked often */
    void *ctx;
};

struct gcb_suite_run;

/* Plans and weighs all cases. `config` is copied. */
int gcb_suite_run_open(struct gcb_suite_run **out, const struct gcb_suite_config *config,
                       struct gcb_diag *diag);
void gcb_suite_run_close(struct gcb_suite_run *r); /* NULL is fine */

/* Measures the bandwidth of memory with each number of threads, and how fast each device copies. *bandwidths has
 * suite->thread_count of them, until the run is closed. */
int gcb_suite_run_measure(struct gcb_suite_run *r, const struct gcb_bandwidth **bandwidths,
                          struct gcb_diag *diag);

/* Runs the cases until one is interrupted (its result says so) or an observer fails. Starts the time budget. A method
 * that fails ends alone, as in gcb_run with carry_on. */
int gcb_suite_run(struct gcb_suite_run *r, const struct gcb_suite_observer *observer,
                  struct gcb_diag *diag);

#endif
