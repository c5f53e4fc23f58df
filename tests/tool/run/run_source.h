#ifndef TESTS_TOOL_TRIAL_RUN_SOURCE_H
#define TESTS_TOOL_TRIAL_RUN_SOURCE_H

#include <stdlib.h>
#include <string.h>

#include "src/tool/run/breakdown.h"
#include "src/tool/run/run.h"
#include "tests/support/test.h"

/* Runs on a source in memory: run_source.c replaces src/tool/read/source.c, so that a test can put
 * any value into a tensor. */
#define STEPS 2
#define WORKERS 2
#define NAMES 3
#define TENSORS (STEPS * WORKERS * NAMES)
#define LARGEST 9000

struct gcb_source {
    struct gcb_tensor tensor[TENSORS];
    float data[TENSORS][LARGEST];
    size_t reads; /* number of calls of gcb_source_read */
    size_t parts; /* number of calls of gcb_source_read_part */
    size_t heals; /* reads after which data[1][5] is finite; 0: never */
};

extern struct gcb_source run_source;
void run_fill(void); /* sets the initial values */

struct run_seen {
    size_t trials;
    size_t stop_after; /* number of trials; 0: never stop */
    struct gcb_tally sum[4];
    uint64_t elements[4];
    double lost[4]; /* squared error of each method */
    double shown;   /* the last progress */
    struct gcb_groups *groups;
    struct gcb_groups *losses;
    const struct gcb_trial_config *trial;
};

/* A run with everything that it needs. */
struct run_setup {
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_layout_config layout;
    struct gcb_layout plan;
    struct gcb_method methods[4];
    struct gcb_run_config config;
    struct run_seen seen;
    struct gcb_run_result result;
    struct gcb_diag diag;
};

int run_set_up(void **state);
int run_tear_down(void **state);
#define RUN_CASE(f) cmocka_unit_test_setup_teardown(f, run_set_up, run_tear_down)

void run_use(struct run_setup *s, const char *spec); /* adds a method */
int run_all(struct run_setup *s);

#endif
