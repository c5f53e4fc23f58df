/* The options in a suite: the option table reads them, and errors name the suite. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/bench_options.h"
#include "cli/base/cmd.h"
#include "src/lib/base/alloc.h"
#include "tests/support/test.h"

#define HEAD "{\"schema\":1,\"name\":\"x\""

/* A suite, the options it fills, and the plan. */
struct made {
    struct gcb_suite suite;
    struct bench_options given, filled;
    struct gcb_suite_plan plan;
};

static int make(struct made *m, const char *text, struct gcb_diag *diag)
{
    int err = gcb_suite_parse(&m->suite, text, strlen(text), "f.json", diag);

    if (!err)
        err = bench_fill(&m->filled, &m->suite, diag);
    opt_begin(&cmd_bench.spec, &m->given);
    opt_merge(&cmd_bench.spec, &m->given, &m->filled);
    return err ? err : bench_plan(&m->plan, &m->given, diag);
}

static void release(struct made *m)
{
    opt_fini(&(struct opt_result){.help = false}, &cmd_bench.spec, &m->filled);
    gcb_suite_fini(&m->suite);
}

static void test_defaults(void **state)
{
    struct made m = {.given = {.own = {.suite = NULL}}};
    const struct gcb_suite_plan *p = &m.plan;

    assert_int_equal(make(&m, HEAD ",\"methods\":\"all\"}", NULL), 0);
    assert_true(m.given.methods.specs.count == 0 && p->timing.repeat == 0 && p->timing.warmup == 1);
    assert_true(p->scope_count == 1 && p->scopes[0] == GCB_SCOPE_TENSOR);
    assert_true(p->thread_count == 1 && p->threads[0] == 1);
    assert_true(p->device_count == 1 && strcmp(p->devices[0], "cpu") == 0);
    assert_true(p->cache_count == 1 && p->caches[0] == GCB_CACHE_WARM);
    assert_true(p->timing.precision == 0.02 && p->time_budget == 30.0 &&
                p->timing.max_samples == 10000);
    release(&m);
}

static void test_everything(void **state)
{
    struct made m = {.given = {.own = {.suite = NULL}}};
    const struct gcb_suite_plan *p = &m.plan;

    assert_int_equal(make(&m,
                          HEAD ",\"methods\":[\"fft:theta=0.9\",\"topk\"],"
                               "\"scopes\":[\"model\",\"tensor\"],\"devices\":[\"cpu\",\"cuda:1\"],"
                               "\"threads\":[2,4],\"caches\":[\"cold\",\"warm\"],\"warmup\":0,"
                               "\"min_time\":0.5,\"max_time\":2,\"precision\":0.1,"
                               "\"time_budget\":\"7s\",\"max_samples\":99}",
                          NULL),
                     0);
    assert_int_equal(m.given.methods.specs.count, 2);
    assert_string_equal(m.given.methods.specs.items[0], "fft:theta=0.9");
    assert_true(p->scope_count == 2 && p->scopes[0] == GCB_SCOPE_MODEL);
    assert_true(p->device_count == 2 && strcmp(p->devices[1], "cuda:1") == 0);
    assert_true(p->thread_count == 2 && p->threads[0] == 2 && p->threads[1] == 4);
    assert_true(p->cache_count == 2 && p->caches[0] == GCB_CACHE_COLD);
    assert_true(p->timing.warmup == 0 && p->timing.min_time == 0.5 && p->timing.max_time == 2.0);
    assert_true(p->timing.precision == 0.1 && p->time_budget == 7.0 && p->timing.max_samples == 99);
    release(&m);
}

/* Options of the command line stay. --repeat and what contradicts it replace each other. */
static void test_options_come_first(void **state)
{
    struct bench_options filled = {.own = {.suite = NULL}};
    struct bench_options o = {.own = {.suite = "ci", .precision = 0.1}, .timing = {.warmup = 7}};
    struct gcb_suite suite = {.name = NULL};

    assert_int_equal(bench_take_suite(&o, &filled, &suite, true, NULL), 0);
    assert_true(o.timing.warmup == 7 && o.timing.repeat == 0 && o.own.precision == 0.1);
    assert_int_equal(o.own.scopes.count, 1);
    opt_fini(&(struct opt_result){.help = false}, &cmd_bench.spec, &filled);
    gcb_suite_fini(&suite);
}

static void test_shipped(void **state)
{
    for (const struct gcb_suite_text *t = gcb_suite_texts; t->name; t++) {
        struct made m = {.given = {.own = {.suite = NULL}}};
        struct gcb_method *methods;
        size_t count;

        assert_int_equal(make(&m, t->text, NULL), 0);
        assert_int_equal(bench_methods(&methods, &count, &m.given, NULL), 0);
        gcb_free(methods);
        if (strcmp(t->name, "ci") == 0) /* each process does the same work */
            assert_true(m.plan.timing.repeat > 0 && m.plan.time_budget == 0.0);
        release(&m);
    }
}

static void test_wrong(void **state)
{
    static const char *const wrong[] = {
        HEAD ",\"metods\":[\"topk\"]}", HEAD ",\"scopes\":[\"modle\"]}",
        HEAD ",\"threads\":[0]}",       HEAD ",\"repeat\":[2,3]}",
        HEAD ",\"time_budget\":0}",     HEAD ",\"repeat\":3,\"precision\":0.1}",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct made m = {.given = {.own = {.suite = NULL}}};

        assert_int_equal(make(&m, wrong[i], NULL), GCB_E_INVALID);
        release(&m);
    }
}

RUN_TESTS(cmocka_unit_test(test_defaults), cmocka_unit_test(test_everything),
          cmocka_unit_test(test_wrong), cmocka_unit_test(test_options_come_first),
          cmocka_unit_test(test_shipped))
