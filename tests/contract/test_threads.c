/*
 * Two callers at once, each with several threads, get what one gets alone: every method, and every
 * collective. With ThreadSanitizer (./dev races) this also shows that no thread reads what another
 * writes.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/contract/team.h"
#include "tests/kernels/check.h"
#include "tests/support/test.h"

enum { ROWS = 3001, COLUMNS = 100, N = ROWS * COLUMNS, WORKERS = 2 };

static const uint64_t shape[] = {ROWS, COLUMNS};
static float x[WORKERS][N];

static const char *const more[] = {
    "topk:memory=ef,collective=oktopk",
    "topk:memory=ef,collective=spardl",
    "fp16:collective=twoshot",
    "qsgd:collective=ring",
    "qsgd:collective=allreduce",
    "terngrad:memory=ef,collective=allreduce",
    "qsgd:coding=elias",
    "qsgd:coding=elias-sparse",
    "fft:chunk=4096",
    "sparse:transform=hadamard,chunk=4096,values=means,index=golomb",
    "sparse:transform=random,tile=16x16",
    "sparse:select=search,index=adaptive",
    "sparse:select=trimmed,index=elias-fano",
    "sparse:index=block",
    "sparse:index=varint",
    "dgc:clip-norm=2",
    "powersgd:rank=1,tile=16x16,factor-bits=5,memory=ef",
};

/* A caller's exchange of two steps. */
struct caller {
    struct team_case what;
    struct team team;
    bool well;
};

static void *run(void *ctx)
{
    struct caller *c = ctx;

    c->well = team_open(&c->team, &c->what) && team_step(&c->team, 0, c->what.x) &&
              team_step(&c->team, 1, c->what.x);
    return NULL;
}

/* The first caller is alone. */
static void callers_agree(const struct gcb_method *m)
{
    struct caller caller[3] = {0};
    pthread_t thread[3];
    char spec[256];

    gcb_method_spec(spec, sizeof(spec), m, GCB_SPEC_LABEL);
    for (size_t i = 0; i < 3; i++) {
        caller[i].what = (struct team_case){
            .method = m,
            .workers = WORKERS,
            .n = N,
            .shape = shape,
            .rank = 2,
            .x = {x[0], x[1]},
            .weights = {0.5f, 0.5f},
            .threads = 3,
        };
        assert_int_equal(pthread_create(&thread[i], NULL, run, &caller[i]), 0);
        if (i != 1)
            assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    assert_int_equal(pthread_join(thread[1], NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        if (!caller[i].well)
            fail_msg("%s: %s", spec, team_why);
        for (unsigned w = 0; w < WORKERS; w++)
            if (memcmp(caller[i].team.update[w], caller[0].team.update[w], N * sizeof(float)) != 0)
                fail_msg("%s: two callers at once get other updates than one alone", spec);
    }
    for (size_t i = 0; i < 3; i++)
        team_close(&caller[i].team);
}

static void two_callers_at_once(void **state)
{
    struct gcb_method m;

    for (size_t w = 0; w < WORKERS; w++)
        check_fill(x[w], N, FILL_NOISE, w);
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        callers_agree(&m);
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        assert_int_equal(gcb_method_parse(&m, more[i], NULL), 0);
        callers_agree(&m);
    }
}

RUN_TESTS(cmocka_unit_test(two_callers_at_once))
