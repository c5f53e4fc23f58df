/*
 * Searches of several methods over a file that lives in memory: these definitions stand in for
 * src/tool/read/source.c, so that readings can be counted.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/search/match.h"
#include "tests/support/test.h"

#define ELEMENTS 20000

struct gcb_source {
    struct gcb_tensor tensor;
    float data[ELEMENTS];
    size_t reads;
};

static struct gcb_source source;

size_t gcb_source_count(const struct gcb_source *s)
{
    return 1;
}

const struct gcb_tensor *gcb_source_tensor(const struct gcb_source *s, size_t i)
{
    return &s->tensor;
}

const char *gcb_source_what(const struct gcb_source *s)
{
    return NULL;
}

bool gcb_source_has_parts(const struct gcb_source *s, size_t i)
{
    return false;
}

int gcb_source_read_part(struct gcb_source *s, size_t i, uint64_t from, uint64_t count, float *out,
                         struct gcb_diag *diag)
{
    (void)s, (void)i, (void)from, (void)count, (void)out;
    return gcb_diag_set(diag, GCB_E_INTERNAL, "no part of a tensor should be read");
}

int gcb_source_read(struct gcb_source *s, size_t i, float *out, struct gcb_diag *diag)
{
    s->reads++;
    memcpy(out, s->data, sizeof(s->data));
    return 0;
}

static struct gcb_kernels kernels;
static struct gcb_queue queue = {.threads = 1};
static struct gcb_layout layout;

static int make(void **state)
{
    static const struct gcb_layout_config config = {.scope = GCB_SCOPE_TENSOR};
    uint32_t seed = 1;

    gcb_kernels_init(&kernels, 0);
    source.tensor = (struct gcb_tensor){.path = "w",
                                        .dataset = "w",
                                        .file = "memory",
                                        .rank = 1,
                                        .dims = {ELEMENTS},
                                        .count = ELEMENTS,
                                        .index = -1};
    for (size_t i = 0; i < ELEMENTS; i++) {
        float sum = 0.0f;

        for (int k = 0; k < 4; k++) {
            seed = seed * 1664525u + 1013904223u;
            sum += (float)(seed >> 8) * 0x1p-24f - 0.5f;
        }
        source.data[i] = sum * sum * sum; /* a few large ones */
    }
    gcb_layout_init(&layout, &source, &config);
    return 0;
}

static int clean(void **state)
{
    gcb_layout_fini(&layout);
    return 0;
}

static struct gcb_run_config config_of(const struct gcb_method *methods, size_t count)
{
    return (struct gcb_run_config){
        .source = &source,
        .layout = &layout,
        .methods = methods,
        .method_count = count,
        .trial = {.compute.kernels = &kernels,
                  .compute.queue = &queue,
                  .compute.seed = 1,
                  .timing = {.warmup = 3, .repeat = 5}},
        .nonfinite = GCB_POLICY_RAW,
    };
}

static int on_trial(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    ((struct gcb_tally *)ctx)[trial->method] = trial->tally;
    return 0;
}

static struct gcb_match_search search_of(const char *spec, const struct gcb_match_goal *goal,
                                         const char *key)
{
    struct gcb_match_search s;
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    assert_int_equal(gcb_match_search_init(&s, &m, goal, key, NULL), 0);
    return s;
}

/* Runs the settings found once more. */
static void measure(struct gcb_tally *out, const struct gcb_match_search *searches, size_t count)
{
    const struct gcb_run_observer observer = {.trial = on_trial, .ctx = out};
    struct gcb_method methods[4];
    struct gcb_run_config config = config_of(methods, count);
    struct gcb_run_result result;

    for (size_t i = 0; i < count; i++)
        methods[i] = searches[i].method;
    assert_int_equal(gcb_run(&result, &config, &observer, NULL), 0);
    gcb_run_result_fini(&result);
}

static void test_found_settings_do_what_was_found(void **state)
{
    static const struct gcb_watch nobody = {.stop = NULL};
    const struct gcb_run_config config = config_of(NULL, 0);
    struct gcb_match_goal error, ratio;
    struct gcb_tally tally[4];
    char words[200];
    bool interrupted;

    assert_int_equal(gcb_match_goal_parse(&error, "match", "rel_l2=0.3", NULL), 0);
    assert_int_equal(gcb_match_goal_parse(&ratio, "match", "ratio=9", NULL), 0);
    {
        struct gcb_match_search s[4] = {
            search_of("topk", &error, NULL), search_of("qsgd", &error, NULL),
            search_of("qsgd", &error, "levels"), search_of("topk", &ratio, "levels")};

        source.reads = 0;
        assert_int_equal(gcb_match_run(s, 4, &config, &nobody, &interrupted, NULL), 0);
        assert_false(interrupted);
        assert_in_range(source.reads, 2,
                        20); /* a round reads the source once, for any number of methods */
        measure(tally, s, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_true(s[i].found.reached);
            assert_true(gcb_tally_figure(&tally[i], s[i].goal->field) == s[i].found.value);
            assert_null(gcb_match_note(words, &s[i], &tally[i]));
        }
        assert_true(s[0].found.value <= 0.3 && s[0].found.value > 0.2997);
        assert_true(s[3].found.value >= 9 && s[3].found.value < 9.009);
        assert_string_equal(s[1].axis.param->name, "bits");
        assert_string_equal(s[2].axis.param->name, "levels");
        assert_string_equal(s[3].axis.param->name, "theta"); /* topk has no levels */
        assert_true(s[2].found.value >= s[1].found.value);   /* levels are finer than bits */
    }
}

/* Stops after the grid: every round reads the source once. */
static bool after_grid(void *ctx)
{
    return source.reads > 1;
}

static void fill_from(struct gcb_run_result *result, const struct gcb_match_search *s, size_t count)
{
    memset(result, 0, sizeof(*result));
    gcb_match_fill_totals(result, count + 1, s, count);
    assert_true(result->interrupted);
    assert_int_equal(result->method_count, count + 1);
    assert_int_equal(result->totals[count].tally.messages, 0); /* a baseline that was not started */
}

/* The totals get the best setting of the grid, without times; totals that the run has measured
 * stay. */
static void test_interrupted_behind_the_grid(void **state)
{
    static const struct gcb_watch hasty = {.stop = after_grid};
    const struct gcb_run_config config = config_of(NULL, 0);
    struct gcb_run_result result;
    struct gcb_match_goal error;
    struct gcb_tally tally[1];
    struct gcb_match_search s;
    bool interrupted = false;

    assert_int_equal(gcb_match_goal_parse(&error, "match", "rel_l2=0.3", NULL), 0);
    s = search_of("topk", &error, NULL);
    source.reads = 0;
    assert_int_equal(gcb_match_run(&s, 1, &config, &hasty, &interrupted, NULL), 0);
    assert_true(interrupted);
    assert_int_equal(s.line.seen_count, GCB_LINE_ASKS); /* an interrupted round is not used */
    measure(tally, &s, 1);
    fill_from(&result, &s, 1);
    assert_int_equal(result.totals[0].tally.wire_bytes, tally[0].wire_bytes);
    assert_int_equal(result.totals[0].tally.messages, 1);
    assert_true(gcb_match_meets(&error, gcb_tally_figure(&result.totals[0].tally, error.field)));
    assert_true(isnan(result.totals[0].tally.encode.seconds));
    assert_true(isnan(result.totals[0].tally.decode.high));
    result.totals[0].tally.wire_bytes = 7;
    gcb_match_fill_totals(&result, 2, &s, 1);
    assert_int_equal(result.totals[0].tally.wire_bytes, 7);
    gcb_run_result_fini(&result);
}

/* A setting that its method refuses misses every target; the other searches continue. */
static void test_refused_setting(void **state)
{
    static const struct gcb_watch nobody = {.stop = NULL};
    const struct gcb_run_config config = config_of(NULL, 0);
    struct gcb_match_goal error;
    struct gcb_match_search s[2];
    struct gcb_method bad;
    bool interrupted;

    assert_int_equal(gcb_match_goal_parse(&error, "match", "rel_l2=0.3", NULL), 0);
    assert_int_equal(gcb_method_parse(&bad, "range", NULL), 0);
    assert_int_equal(gcb_method_set(&bad, "mantissa", "12", NULL), 0);
    assert_int_equal(gcb_method_set(&bad, "bits", "3", NULL), 0);
    assert_int_equal(gcb_match_search_init(&s[0], &bad, &error, NULL, NULL), 0);
    s[1] = search_of("topk", &error, NULL);
    assert_int_equal(gcb_match_run(s, 2, &config, &nobody, &interrupted, NULL), 0);
    assert_false(s[0].found.reached);
    assert_int_equal(s[0].tally.messages, 0);
    assert_true(s[1].found.reached);
}

RUN_TESTS_BETWEEN(make, clean, cmocka_unit_test(test_found_settings_do_what_was_found),
                  cmocka_unit_test(test_interrupted_behind_the_grid),
                  cmocka_unit_test(test_refused_setting))
