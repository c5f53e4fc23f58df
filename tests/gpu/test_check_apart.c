/* A check that fails, crashes or never ends does not stop the others. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu/check_apart.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

enum { GOOD, FAILS, DIES, HANGS, LEAVES, UNSUPPORTED };

struct plan {
    const int *what;
    bool broken; /* a check failed in this process, so later ones fail too */
    size_t done; /* checks of which the parent heard, in order */
};

static int open_device(void *ctx)
{
    struct plan *p = ctx;

    p->broken = false;
    return 0;
}

static int no_device(void *ctx)
{
    return -1;
}

static void run(void *ctx, struct outcome *o, size_t at)
{
    struct plan *p = ctx;

    assert_true(strcmp(o->status, "failed") == 0);
    p->broken |= p->what[at] == FAILS;
    if (p->what[at] == DIES)
        raise(SIGKILL);
    if (p->what[at] == LEAVES)
        _exit(9);
    if (p->what[at] == HANGS)
        pause();
    if (!p->broken)
        snprintf(o->status, sizeof(o->status), "%s", p->what[at] == GOOD ? "ok" : "unsupported");
}

static void hear(void *ctx, const struct outcome *o)
{
    struct plan *p = ctx;

    assert_int_equal(o->at, p->done);
    p->done++;
}

static void what_fails_takes_no_other_along(void **state)
{
    static const int what[] = {GOOD,        FAILS, GOOD,   DIES, DIES,
                               UNSUPPORTED, HANGS, LEAVES, GOOD, FAILS};
    enum { COUNT = sizeof(what) / sizeof(*what) };
    struct plan plan = {.what = what};
    const struct checking c = {.count = COUNT,
                               .patience = 3 * patience(),
                               .ctx = &plan,
                               .open = open_device,
                               .run = run,
                               .done = hear};
    struct outcome out[COUNT];
    char hung[64];

    snprintf(hung, sizeof(hung), "no end in %u s", 3 * patience());
    assert_int_equal(check_apart(&c, out), 0);
    for (size_t i = 0; i < COUNT; i++) {
        const char *want = what[i] == GOOD          ? "ok"
                           : what[i] == UNSUPPORTED ? "unsupported"
                                                    : "failed";

        assert_int_equal(out[i].at, i);
        assert_string_equal(out[i].status, want);
    }
    assert_string_equal(out[3].reason, "ended by signal 9");
    assert_string_equal(out[6].reason, hung);
    assert_int_equal(plan.done, COUNT);
    assert_string_equal(out[7].reason, "ended with status 9");
}

static void alone_all_run_in_one_process(void **state)
{
    static const int what[] = {GOOD, FAILS, GOOD};
    struct plan plan = {.what = what};
    struct checking c = {.count = 3, .ctx = &plan, .open = open_device, .run = run, .done = hear};
    struct outcome out[3];

    assert_int_equal(check_alone(&c, out), 0);
    assert_string_equal(out[0].status, "ok");
    assert_string_equal(out[1].status, "failed");
    assert_string_equal(out[2].status, "failed"); /* it ran */
    assert_int_equal(plan.done, 3);
    c.open = no_device;
    assert_int_equal(check_alone(&c, out), 3);
    c.patience = 1;
    assert_int_equal(check_apart(&c, out), 3);
}

RUN_TESTS(cmocka_unit_test(what_fails_takes_no_other_along),
          cmocka_unit_test(alone_all_run_in_one_process))
