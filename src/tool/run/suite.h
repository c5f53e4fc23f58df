#ifndef SRC_TOOL_RUN_SUITE_H
#define SRC_TOOL_RUN_SUITE_H

#include <jansson.h>
#include <stdbool.h>

#include "src/tool/base/data.h"
#include "src/tool/measure/bandwidth.h"
#include "src/tool/read/layout.h"
#include "src/tool/run/run.h"

/*
 * A suite says what `bench` measures: inputs, and values of options. docs/method.md describes the
 * JSON. A file is untrusted: a wrong field is an error that names the field.
 */
#define GCB_SUITE_INPUTS 64 /* most inputs, and most synthetic tensors of all inputs */

/* What a case measures together: an entry of the field `inputs` with a name or a file, or
 * neighbouring entries with neither. */
struct gcb_suite_input {
    const char *name;    /* what its rows have in the field `file` */
    const char *file;    /* a dump; NULL: synthetic tensors */
    size_t first, count; /* index of the first synthetic tensor in `tensors`; their number */
};

struct gcb_suite {
    json_t *json;    /* the parsed suite; owned; most strings below are borrowed from it */
    json_t *numbers; /* the numbers among the values of options, as strings; owned */
    /* folder of the suite's file, with the last '/'; "" for a name without '/'; NULL: no file;
     * owned */
    char *folder;
    char file[128];   /* name of the file or the suite for messages; escaped */
    const char *name; /* name of the suite; NULL: there is no suite */
    /* the fields that are options: name and value of each pair, one after the other; a list has a
     * pair for each item */
    const char **pairs;
    size_t pair_count, pair_cap;
    struct gcb_suite_input inputs[GCB_SUITE_INPUTS]; /* used if the user gives no file */
    size_t input_count;
    struct gcb_source_synthetic tensors[GCB_SUITE_INPUTS]; /* synthetic tensors of all inputs */
    size_t tensor_count;
};

void gcb_suite_fini(struct gcb_suite *s); /* zeroed is fine */

/*
 * Reads a suite: from a file if `name` contains a '/' or ends in ".json", otherwise the shipped
 * suite `name` ("quick"). GCB_E_IO: the file cannot be read. GCB_E_INVALID: there is no such suite,
 * or it is not as docs/method.md describes. *s must be released with gcb_suite_fini on success and
 * on failure.
 */
int gcb_suite_load(struct gcb_suite *s, const char *name, struct gcb_diag *diag);
/* Reads a suite from memory. `name` is for error messages. Fails, and must be released, like
 * gcb_suite_load. */
int gcb_suite_parse(struct gcb_suite *s, const char *text, size_t length, const char *name,
                    struct gcb_diag *diag);

/*
 * Writes the path of an input's file. Looks in the folder of the suite's file (takes an absolute
 * path as it is), and then in gcbench's own folder of datasets. For a shipped suite, looks only in
 * gcbench's folder. Returns false if no folder has the file; `out` is then the last path tried.
 */
bool gcb_suite_find(char out[GCB_DATA_PATH], const struct gcb_suite *s, const char *file);

/* The shipped suites: datasets/suites, compiled into the program. */
struct gcb_suite_text {
    const char *name, *text;
};
extern const struct gcb_suite_text gcb_suite_texts[]; /* ends with a NULL name */

/*
 * Runs the cases of a plan: all combinations of its inputs, scopes, devices, numbers of threads and
 * states of the caches. A case runs all methods on all messages of an input. The order is by input,
 * then scope, device, threads and cache.
 */

#define GCB_SUITE_THREADS 16 /* most numbers of threads in a plan */
#define GCB_SUITE_DEVICES 8  /* most devices in a plan */

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
    struct gcb_device gpu;             /* opened by the caller; zeroed for the CPU */
    struct gcb_device_copying copying; /* copy speed of a GPU, after gcb_suite_run_measure */
};

/* All pointers are borrowed until the run is closed. */
struct gcb_suite_config {
    const struct gcb_suite_plan *plan;
    struct gcb_layout_config layout;   /* gcb_suite_run sets the scope for each case */
    struct gcb_shard shard;            /* which messages of each case to measure */
    struct gcb_source *const *sources; /* the inputs; source_count of them, at least 1 */
    size_t source_count;
    /* For each case, gcb_suite_run sets source, layout, sharded, budget, carry_on and groups, and
     * in run.trial the timing, device, number of threads, stages, sums and copy. */
    struct gcb_run_config run;
    struct gcb_suite_device *devices; /* plan->device_count devices */
    bool histogram, spectrum;         /* make rows of histograms or spectra */
    bool no_bandwidth;                /* do not measure the CPU's memory bandwidth */
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
    /* called after a case that returned no error; `result` is NULL if at->device->why.status is not
     * 0, because nothing was run */
    int (*end)(void *ctx, const struct gcb_suite_case *at, const struct gcb_run_result *result,
               struct gcb_diag *diag);
    int (*trial)(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag);
    /* takes a row of a histogram or spectrum and releases it; called after the first case of each
     * input and scope on a device that can be used */
    int (*shape)(void *ctx, struct gcb_row *row, struct gcb_diag *diag);
    void *ctx;              /* passed to the functions above */
    struct gcb_watch watch; /* its progress is that of all cases together */
};

struct gcb_suite_run;

/* Plans all cases and estimates their work. `config` is copied. */
struct gcb_suite_run *gcb_suite_run_open(const struct gcb_suite_config *config);
void gcb_suite_run_close(struct gcb_suite_run *r); /* NULL is fine */

/* Measures memory bandwidth with each number of threads (unless config.no_bandwidth is set), and
 * the copy bandwidth of each device that can be used. *bandwidths has plan->thread_count entries,
 * valid until the run is closed. Returns the first error. */
int gcb_suite_run_measure(struct gcb_suite_run *r, const struct gcb_bandwidth **bandwidths,
                          struct gcb_diag *diag);

/* Starts the time budget and runs the cases. Ends early after an error of gcb_run or of an
 * observer, which is returned, or after a case whose result says that it was interrupted. If a
 * method fails, the other methods go on, as in gcb_run with carry_on. */
int gcb_suite_run(struct gcb_suite_run *r, const struct gcb_suite_observer *observer,
                  struct gcb_diag *diag);

#endif
