#ifndef CLI_BENCH_BENCH_SETUP_H
#define CLI_BENCH_BENCH_SETUP_H

#include "cli/base/bench_options.h"
#include "cli/base/bench_outcome.h"
#include "cli/base/session.h"
#include "cli/bench/bench_table.h"
#include "src/tool/trial/shapes.h"

/*
 * What `bench` needs before the first case is measured: what is to be done, on what, where it goes, and how
 * much of it there is. Functions return 0 or a negative gcb_status with words in the session's context.
 */

/* A device that was asked for: can it be used? */
struct bench_device {
    char name[16];         /* as rows have it: "cuda:0", also where "cuda" was asked for */
    struct gcb_diag why;   /* status 0: yes */
    struct gcb_device gpu; /* open, unless it is the CPU */
    struct gcb_device_copying copying; /* of the GPU */
};

/* Everything that lives as long as the command. Starts zeroed. */
struct bench {
    const struct bench_options *o;
    struct opt_input input;     /* with the one step and worker */
    struct opt_message message; /* with the scope at hand */
    struct opt_exec exec;       /* with the device at hand */
    char worker[16];
    struct session s;
    struct bench_words words;
    struct gcb_suite suite;
    struct gcb_method *methods;
    size_t count;
    struct bench_device devices[GCB_SUITE_DEVICES];
    struct gcb_bandwidth bandwidths[GCB_SUITE_THREADS];
    struct gcb_evict evict;
    double weight;     /* of a case of the scope at hand: all methods over its messages */
    double work, done; /* weights, over all cases */
    struct gcb_budget budget;
    struct gcb_run_result result; /* of the case at hand */
    struct gcb_shapes *shapes; /* of the case at hand; NULL: not wanted, or the scope's are given */
    size_t shaped;             /* scopes whose shapes were given */
    struct bench_marks marks;  /* of all tables */
    bool interrupted;
    struct bench_outcome outcome;
};

/* Suite, methods and devices. GCB_E_BACKEND: none of the devices is there. */
int bench_resolve(struct bench *c);
/* Opens the files, of which one step and worker are taken unless more were asked for, or makes the suite's
 * synthetic tensors. */
int bench_open_input(struct bench *c);
/* Plans and weighs the messages of the suite's i-th scope. */
int bench_plan_scope(struct bench *c, size_t i);
/* Weighs all cases, opens the report, measures the memory with every number of threads, and sends the environment. */
int bench_open_report(struct bench *c);

void bench_release(struct bench *c); /* zeroed is fine */

#endif
