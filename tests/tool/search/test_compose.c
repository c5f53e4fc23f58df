/* The search of compositions, what their stages earn, and the choice among methods and
 * compositions. */
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/search/choose.h"
#include "tests/tool/run/run_source.h"

static const struct gcb_match_goal goal = {
    .field = GCB_FIELD_REL_L2, .target = 0.4, .at_most = true, .power = 2};

static bool never(void *ctx)
{
    return false;
}

static bool at_once(void *ctx)
{
    return true;
}

/* Makes values with a few large ones, as gradients have, and one message of each step and
 * worker. */
static const struct gcb_run_config *gradients(struct run_setup *s)
{
    for (size_t i = 0; i < TENSORS; i++)
        for (size_t k = 0; k < LARGEST; k++)
            run_source.data[i][k] *= run_source.data[i][k] * run_source.data[i][k];
    s->layout.scope = GCB_SCOPE_MODEL;
    gcb_layout_init(&s->plan, &run_source, &s->layout);
    s->config.layout = &s->plan;
    return &s->config;
}

static struct gcb_method method_of(const char *spec)
{
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    return m;
}

static void check_stage(const char *spec, enum gcb_stage_name stage, const char *text,
                        const char *without)
{
    const struct gcb_method m = method_of(spec);
    struct gcb_method plain;
    char out[256];

    assert_ptr_equal(gcb_compose_stage(out, sizeof(out), &m, stage), out);
    assert_string_equal(out, text);
    assert_int_equal(gcb_compose_without(&plain, &m, stage), without != NULL);
    if (without) {
        const struct gcb_method want = method_of(without);

        for (size_t row = 0; gcb_method_param(&want, row); row++)
            if (gcb_method_shows(&want, row) &&
                strcmp(gcb_method_param(&want, row)->name, "theta") != 0)
                assert_true(plain.value[row] == want.value[row]);
    }
}

static void test_stages(void **state)
{
    static const char all[] =
        "sparse:transform=dct,chunk=64,select=chunk,values=range,bits=5,index=adaptive";

    check_stage(all, GCB_STAGE_NAME_TRANSFORM, "transform=dct,chunk=64",
                "sparse:chunk=64,select=chunk,values=range,bits=5,index=adaptive");
    check_stage(all, GCB_STAGE_NAME_SELECT, "select=chunk",
                "sparse:transform=dct,chunk=64,values=range,bits=5,index=adaptive");
    check_stage(all, GCB_STAGE_NAME_VALUES, "values=range,bits=5",
                "sparse:transform=dct,chunk=64,select=chunk,index=adaptive");
    check_stage(all, GCB_STAGE_NAME_INDEX, "index=adaptive",
                "sparse:transform=dct,chunk=64,select=chunk,values=range,bits=5,index=u32");
    check_stage("topk", GCB_STAGE_NAME_TRANSFORM, "transform=none", NULL);
    check_stage("topk", GCB_STAGE_NAME_SELECT, "select=topk", NULL);
    check_stage("topk", GCB_STAGE_NAME_VALUES, "values=fp32", NULL);
    check_stage("topk", GCB_STAGE_NAME_INDEX, "index=u32", NULL);
}

/* Searches the compositions, and leaves all of them in *d. */
static void compose(struct run_setup *s, struct gcb_descent *d, struct gcb_descent_family *family,
                    const struct gcb_match_goal *at)
{
    const struct gcb_watch watch = {.stop = never};
    const struct gcb_run_config *config = gradients(s);
    bool interrupted = false;

    *d = (struct gcb_descent){.families = family,
                              .family_count = 1,
                              .several = config->layout->count > 1,
                              .diag = &s->diag};
    gcb_compose_begin(d, 0, at);
    assert_int_equal(gcb_descent_run(d, config, &watch, &interrupted), 0);
    assert_false(interrupted);
}

/* The best compositions meet the goal, come in order, differ in their transform or values, and beat
 * plain top-k. */
static void test_compose(void **state)
{
    struct run_setup *s = *state;
    const struct gcb_watch watch = {.stop = never};
    struct gcb_descent_family family;
    struct gcb_descent d;
    struct gcb_match_search topk, found;
    const struct gcb_method plain = method_of("topk");
    bool interrupted = false;
    size_t best[12], count;

    compose(s, &d, &family, &goal);
    count = gcb_descent_rank(&d, 0, best, 0, 12, gcb_compose_related);
    assert_in_range(count, 3, 12);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || !gcb_match_better(&d.searches[best[i]], &d.searches[best[i - 1]]));
        for (size_t k = 0; k < i; k++)
            assert_false(
                gcb_compose_related(&d.searches[best[i]].method, &d.searches[best[k]].method));
    }
    assert_int_equal(gcb_descent_result(&found, &d, 0, false), 0);
    assert_true(found.mix.reached && found.evaluations > d.count);
    assert_int_equal(gcb_match_search_init(&topk, &plain, &goal, NULL, &s->diag), 0);
    assert_int_equal(gcb_match_run(&topk, 1, &s->config, &watch, &interrupted, &s->diag), 0);
    assert_true(gcb_match_cost(&topk) > 2.0 * gcb_match_cost(&found));
    gcb_descent_fini(&d);
}

static void test_impossible(void **state)
{
    struct run_setup *s = *state;
    const struct gcb_match_goal none = {.field = GCB_FIELD_RATIO, .target = 1e9, .power = -1};
    struct gcb_descent_family family;
    struct gcb_match_search found;
    struct gcb_descent d;

    compose(s, &d, &family, &none);
    assert_int_equal(gcb_descent_result(&found, &d, 0, false), 0);
    assert_false(found.mix.reached);
    gcb_descent_fini(&d);
}

/* Runs a choice between topk and compositions. */
static void choose(struct run_setup *s, struct gcb_choice *c, bool (*stop)(void *),
                   bool *interrupted)
{
    const struct gcb_method plain = method_of("topk");
    const struct gcb_watch watch = {.stop = stop};

    *c = (struct gcb_choice){.goals = &goal, .goal_count = 1, .count = 1, .compose = true};
    c->searches = gcb_alloc_zero(2, sizeof(*c->searches));
    assert_non_null(c->searches);
    assert_int_equal(gcb_match_search_init(&c->searches[0], &plain, &goal, NULL, &s->diag), 0);
    assert_int_equal(gcb_choose_run(c, gradients(s), &watch, interrupted, &s->diag), 0);
}

static void test_choice(void **state)
{
    struct gcb_choice c;
    bool interrupted = false;

    choose(*state, &c, never, &interrupted);
    assert_false(interrupted);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.composed, 1);
    assert_false(gcb_choice_composed(&c, 0));
    assert_true(gcb_choice_composed(&c, 1));
    assert_int_equal(c.sampled, 0); /* the input is small */
    assert_int_equal(c.elements, STEPS * WORKERS * (LARGEST + 120));
    assert_string_equal(c.left_out, "");
    assert_true(c.searches[1].mix.reached);
    assert_in_range(c.without_count, 1, GCB_STAGE_NAMES);
    for (size_t k = 0; k < c.without_count; k++) {
        const double earns = gcb_choice_earns(&c, k);
        struct gcb_method plain;

        assert_ptr_equal(c.stages[k].goal, &goal);
        assert_true(gcb_compose_without(&plain, &c.searches[1].method, c.stages[k].stage));
        assert_true(isnan(earns) ||
                    earns >= 1.0); /* otherwise the search would have left the stage out */
        if (!isnan(earns))
            assert_true(earns == c.without[k].mix.bytes / c.searches[1].mix.bytes);
    }
    c.without[0].mix.reached = false;
    assert_true(isnan(gcb_choice_earns(&c, 0)));
    gcb_choice_fini(&c);
}

/* After an interruption, compositions that were not measured are missing. */
static void test_interrupted(void **state)
{
    struct gcb_choice c;
    bool interrupted = false;

    choose(*state, &c, at_once, &interrupted);
    assert_true(interrupted);
    assert_int_equal(c.composed, 0);
    assert_int_equal(c.count, 1);
    gcb_choice_fini(&c);
}

RUN_TESTS(cmocka_unit_test(test_stages), RUN_CASE(test_compose), RUN_CASE(test_impossible),
          RUN_CASE(test_choice), RUN_CASE(test_interrupted))
