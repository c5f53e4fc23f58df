/* Running the cases of a suite: their order, the calls of the observer, and how a run ends. */
#include <stdio.h>
#include <string.h>

#include "src/lib/base/cpu_flags.h"
#include "src/tool/run/suite.h"
#include "tests/support/test.h"

#define METHODS 2

/* A suite and the record of its observer: "[scope device threads cache", a dot for each trial, an s
 * for shapes, "]", or "-]" if the device cannot be used. */
struct seen {
    struct gcb_suite_plan plan;
    struct gcb_source *source;
    struct gcb_method methods[METHODS];
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_suite_device devices[GCB_SUITE_DEVICES];
    struct gcb_suite_config config;
    struct gcb_suite_run *run;
    char text[1000];
    double done;
    size_t trials, stop_after; /* number of trials; 0: never stop */
    int end_error;
};

static void say(struct seen *s, const char *text)
{
    assert_true(strlen(s->text) + strlen(text) < sizeof(s->text));
    strcat(s->text, text);
}

static int on_begin(void *ctx, const struct gcb_suite_case *at, struct gcb_diag *diag)
{
    struct seen *s = ctx;
    char text[64];

    assert_int_equal(at->layout->count, at->scope == GCB_SCOPE_MODEL ? 1 : 3);
    assert_true(at->bandwidth->bytes == 0);
    snprintf(text, sizeof(text), "[%.*s%c%s%d%c", s->config.source_count > 1 ? 1 : 0,
             at->input ? "b" : "a", at->scope == GCB_SCOPE_MODEL ? 'm' : 't', at->device->name,
             at->threads, gcb_cache_names[at->cache][0]);
    say(s, text);
    return 0;
}

static int on_end(void *ctx, const struct gcb_suite_case *at, const struct gcb_run_result *result,
                  struct gcb_diag *diag)
{
    struct seen *s = ctx;

    assert_int_equal(!result, at->device->why.status != 0);
    say(s, result ? "]" : "-]");
    return s->end_error;
}

static int on_trial(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    struct seen *s = ctx;

    s->trials++;
    say(s, ".");
    return 0;
}

static int on_shape(void *ctx, struct gcb_row *row, struct gcb_diag *diag)
{
    struct seen *s = ctx;

    gcb_row_fini(row);
    if (s->text[strlen(s->text) - 1] != 's') /* there is a row for each bin */
        say(s, "s");
    return 0;
}

static void on_progress(void *ctx, double done)
{
    struct seen *s = ctx;

    assert_true(done >= s->done && done <= 1.0 + 1e-9);
    s->done = done;
}

static bool on_stop(void *ctx)
{
    const struct seen *s = ctx;

    return s->stop_after && s->trials >= s->stop_after;
}

static void open_suite(struct seen *s)
{
    static const uint64_t sizes[] = {100, 300, 70};
    struct gcb_source_synthetic tensors[3];

    memset(s, 0, sizeof(*s));
    s->plan = (struct gcb_suite_plan){.scopes = {GCB_SCOPE_MODEL, GCB_SCOPE_TENSOR},
                                      .scope_count = 2,
                                      .device_count = 2,
                                      .threads = {1, 2},
                                      .thread_count = 2,
                                      .caches = {GCB_CACHE_WARM, GCB_CACHE_COLD},
                                      .cache_count = 2,
                                      .timing = {.repeat = 1}};
    for (size_t i = 0; i < 3; i++) {
        tensors[i] = (struct gcb_source_synthetic){.name = "normal", .elements = sizes[i]};
        assert_int_equal(gcb_synthetic_parse(&tensors[i].dist, "normal", NULL), 0);
    }
    assert_int_equal(gcb_source_open_synthetic(&s->source, tensors, 3, 1, NULL), 0);
    assert_int_equal(gcb_method_parse(&s->methods[0], "identity", NULL), 0);
    assert_int_equal(gcb_method_parse(&s->methods[1], "fp16", NULL), 0);
    gcb_kernels_init(&s->kernels, gcb_cpu_detect());
    s->queue.threads = 1;
    strcpy(s->devices[0].name, "c");
    strcpy(s->devices[1].name, "g");
    s->devices[1].why.status = GCB_E_BACKEND;
    s->config = (struct gcb_suite_config){
        .plan = &s->plan,
        .sources = &s->source,
        .source_count = 1,
        .run = {.methods = s->methods,
                .method_count = METHODS,
                .trial = {.compute.kernels = &s->kernels,
                          .compute.queue = &s->queue,
                          .compute.seed = 1},
                .nonfinite = GCB_POLICY_RAW},
        .devices = s->devices,
        .no_bandwidth = true,
    };
}

static int run(struct seen *s)
{
    const struct gcb_suite_observer observer = {.begin = on_begin,
                                                .end = on_end,
                                                .trial = on_trial,
                                                .shape = on_shape,
                                                .ctx = s,
                                                .watch = {on_progress, on_stop, s, 0.0, 0.0}};

    s->run = gcb_suite_run_open(&s->config);
    return gcb_suite_run(s->run, &observer, NULL);
}

static void close_suite(struct seen *s)
{
    gcb_suite_run_close(s->run);
    gcb_source_close(s->source);
}

static void test_order(void **state)
{
    struct seen s;

    open_suite(&s);
    assert_int_equal(run(&s), 0);
    assert_string_equal(s.text, "[mc1w..][mc1c..][mc2w..][mc2c..][mg1w-][mg1c-][mg2w-][mg2c-]"
                                "[tc1w......][tc1c......][tc2w......][tc2c......]"
                                "[tg1w-][tg1c-][tg2w-][tg2c-]");
    assert_true(s.done > 1.0 - 1e-9);
    close_suite(&s);
}

/* Only the first case of each scope collects histograms and spectra. */
static void test_shapes(void **state)
{
    struct seen s;

    open_suite(&s);
    s.config.histogram = true;
    s.plan.thread_count = s.plan.device_count = 1;
    assert_int_equal(run(&s), 0);
    assert_string_equal(s.text, "[mc1w..]s[mc1c..][tc1w......]s[tc1c......]");
    close_suite(&s);
}

/* The cases of an input follow each other, and each input has histograms of its own. */
static void test_inputs(void **state)
{
    const struct gcb_source_synthetic tensors[] = {
        {.name = "x", .elements = 5}, {.name = "y", .elements = 6}, {.name = "z", .elements = 7}};
    struct gcb_source *sources[2];
    struct seen s;

    open_suite(&s);
    sources[0] = s.source;
    assert_int_equal(gcb_source_open_synthetic(&sources[1], tensors, 3, 1, NULL), 0);
    s.config.sources = sources;
    s.config.source_count = 2;
    s.config.histogram = true;
    s.plan.thread_count = s.plan.device_count = 1;
    assert_int_equal(run(&s), 0);
    assert_string_equal(s.text, "[amc1w..]s[amc1c..][atc1w......]s[atc1c......]"
                                "[bmc1w..]s[bmc1c..][btc1w......]s[btc1c......]");
    assert_true(s.done > 1.0 - 1e-9);
    close_suite(&s);
    gcb_source_close(sources[1]);
}

static void test_ends(void **state)
{
    struct seen s;

    open_suite(&s);
    s.stop_after = 5; /* in the third case */
    assert_int_equal(run(&s), 0);
    assert_string_equal(s.text, "[mc1w..][mc1c..][mc2w.]");
    close_suite(&s);
    open_suite(&s);
    s.end_error = GCB_E_IO;
    assert_int_equal(run(&s), GCB_E_IO);
    assert_string_equal(s.text, "[mc1w..]");
    close_suite(&s);
}

/* Measures bandwidth for the numbers of threads in the suite, and nothing else. */
static void test_measure(void **state)
{
    const struct gcb_bandwidth *b = NULL;
    struct seen s;

    open_suite(&s);
    s.plan.thread_count = 1;
    s.config.no_bandwidth = false;
    s.run = gcb_suite_run_open(&s.config);
    assert_int_equal(gcb_suite_run_measure(s.run, &b, NULL), 0);
    assert_true(b[0].bytes > 0 && b[0].read_gbps > 0.0 && b[1].bytes == 0);
    close_suite(&s);
}

RUN_TESTS(cmocka_unit_test(test_order), cmocka_unit_test(test_shapes),
          cmocka_unit_test(test_inputs), cmocka_unit_test(test_ends),
          cmocka_unit_test(test_measure))
