#ifndef TESTS_TOOL_REPLAY_REPLAY_SOURCE_H
#define TESTS_TOOL_REPLAY_REPLAY_SOURCE_H

#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/replay/replay.h"
#include "tests/support/test.h"

/*
 * Replays over a source that lives in memory: replay_source.c stands in for src/tool/read/source.c
 * and for the allocator, so that what a replay reports can be compared with plain sums over what
 * was put in.
 */
#define STEPS 6
#define WORKERS 3
#define NAMES 2
#define TENSORS (STEPS * WORKERS * NAMES)
#define LARGEST 600

struct gcb_source {
    struct gcb_tensor tensor[TENSORS];
    float data[TENSORS][LARGEST];
};

extern struct gcb_source replay_source;

/* Allocations so far, and which of them fails, from 1; 0: none. */
extern size_t replay_calls, replay_fail_at;

struct seen {
    struct gcb_replay_step step[256];
    size_t steps, stop_after;
    double shown;
};

struct replay_setup {
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_layout_config layout;
    struct gcb_layout plan;
    struct gcb_replay_config config;
    struct gcb_replay replay;
    struct gcb_replay_total total;
    struct seen seen;
    struct gcb_diag diag;
};

int replay_set_up(void **state);
int replay_tear_down(void **state);
#define REPLAY_CASE(f) cmocka_unit_test_setup_teardown(f, replay_set_up, replay_tear_down)

/* With the layout that is there, and with a new one of `layout`. */
int replay_start(struct replay_setup *s, const char *spec);
int replay_run(struct replay_setup *s, const char *spec);

void replay_expect(double got, double want, double tolerance);

#endif
