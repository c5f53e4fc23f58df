#ifndef SRC_TOOL_RUN_SUITE_RUN_H
#define SRC_TOOL_RUN_SUITE_RUN_H

#include "src/tool/measure/bandwidth.h"
#include "src/tool/read/layout.h"
#include "src/tool/run/run.h"

/*
 * Runs the cases of a plan: all combinations of its inputs, scopes, devices, numbers of threads and
 * states of the caches. A case runs all methods on all messages of an input. The order is by input,
 * then scope, device, threads and cache.
 */

#define GCB_SUITE_THREADS 16
#define GCB_SUITE_DEVICES 8

enum gcb_cache { GCB_CACHE_WARM, GCB_CACHE_COLD, GCB_CACHES };
extern const char *const gcb_cache_names[]; /* ends with NULL */

/* What is measured, and how precisely. */
struct gcb_suite_plan {
    enum gcb_scope scopes[3];
    size_t scope_count;
    char devices[GCB_SUITE_DEVICES][32];
    size_t device_count;
    int threads[GCB_SUITE_THREADS];
    size_t thread_count;
    enum gcb_cache caches[GCB_CACHES];
    size_t cache_count;
    struct gcb_timing timing; /* gcb_suite_run sets evict */
    double time_budget;       /* seconds for all cases; 0: no limit */
};

/* A device of the plan. */
struct gcb_suite_device {
    char name[16];                     /* as in rows: "cuda:0", also for "cuda" */
    struct gcb_diag why;               /* why the device cannot be used; status 0: it can be used */
    struct gcb_device gpu;             /* open; zeroed for the CPU */
    struct gcb_device_copying copying; /* copy speed of a GPU, after gcb_suite_run_measure */
};

/* All pointers are borrowed until the run is closed. */
struct gcb_suite_config {
    const struct gcb_suite_plan *plan;
    struct gcb_layout_config layout;   /* gcb_suite_run sets the scope for each case */
    struct gcb_shard shard;            /* which messages of each case to measure */
    struct gcb_source *const *sources; /* the inputs; source_count of them, at least 1 */
    size_t source_count;
    /* gcb_suite_run sets source, layout, timing, queue, device and budget for each case */
    struct gcb_run_config run;
    struct gcb_suite_device *devices; /* plan->device_count devices */
    bool histogram, spectrum;         /* make rows of histograms or spectra */
    bool no_bandwidth;                /* do not measure memory bandwidth */
    bool no_sums;                     /* do not time sums of messages */
};

struct gcb_suite_case {
    size_t input; /* index of its source */
    enum gcb_scope scope;
    enum gcb_cache cache;
    int threads;
    const struct gcb_suite_device *device;
    const struct gcb_layout *layout;
    /* memory bandwidth of `threads` threads; its `bytes` is 0 if not measured */
    const struct gcb_bandwidth *bandwidth;
};

struct gcb_suite_observer {
    /* called before a case */
    int (*begin)(void *ctx, const struct gcb_suite_case *at, struct gcb_diag *diag);
    /* called after a case; `result` is NULL if the device cannot be used */
    int (*end)(void *ctx, const struct gcb_suite_case *at, const struct gcb_run_result *result,
               struct gcb_diag *diag);
    int (*trial)(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag);
    /* takes a row of a histogram or spectrum and releases it; called after the first case of each
     * input and scope */
    int (*shape)(void *ctx, struct gcb_row *row, struct gcb_diag *diag);
    void *ctx;              /* of the functions above */
    struct gcb_watch watch; /* of all cases */
};

struct gcb_suite_run;

/* Plans all cases and estimates their work. `config` is copied. Returns errors of planning, or
 * GCB_E_NOMEM. */
int gcb_suite_run_open(struct gcb_suite_run **out, const struct gcb_suite_config *config,
                       struct gcb_diag *diag);
void gcb_suite_run_close(struct gcb_suite_run *r); /* NULL is fine */

/* Measures memory bandwidth with each number of threads, and the copy bandwidth of each device.
 * *bandwidths has plan->thread_count entries, valid until the run is closed. */
int gcb_suite_run_measure(struct gcb_suite_run *r, const struct gcb_bandwidth **bandwidths,
                          struct gcb_diag *diag);

/* Starts the time budget and runs the cases. Ends early after an error of an observer, or after a
 * case whose result says that it was interrupted. If a method fails, the other methods go on, as in
 * gcb_run with carry_on. */
int gcb_suite_run(struct gcb_suite_run *r, const struct gcb_suite_observer *observer,
                  struct gcb_diag *diag);

#endif
