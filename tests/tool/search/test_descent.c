/* The search of all parameters of a method, compared with every combination of their values. */
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/search/choose.h"
#include "tests/tool/run/run_source.h"

#define MOST 400

static const struct gcb_match_goal goal = {
    .field = GCB_FIELD_REL_L2, .target = 0.2, .at_most = true, .power = 2};

static bool never(void *ctx)
{
    return false;
}

/* Values of which each run of 256 has another size, so that the best bucket is neither the smallest
 * nor the largest. */
static void make_runs(struct run_setup *s)
{
    for (size_t i = 0; i < TENSORS; i++)
        for (size_t k = 0; k < LARGEST; k++)
            run_source.data[i][k] *= (float)(1 + k / 256 * 7 % 16);
    gcb_layout_init(&s->plan, &run_source, &s->layout);
    s->config.layout = &s->plan;
}

static struct gcb_method method_of(const char *spec)
{
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    return m;
}

/* Searches a method, and leaves all settings in *d. */
static struct gcb_match_search descend(struct run_setup *s, struct gcb_descent *d,
                                       struct gcb_descent_family *family, const char *spec)
{
    const struct gcb_watch watch = {.stop = never};
    struct gcb_match_search found;
    bool interrupted = false;

    *family = (struct gcb_descent_family){
        .user = method_of(spec), .goal = &goal, .wide = 1, .change = gcb_descent_vary};
    *d = (struct gcb_descent){.families = family, .family_count = 1, .diag = &s->diag};
    gcb_descent_add(d, 0, &family->user, NULL, SIZE_MAX);
    assert_int_equal(gcb_descent_run(d, &s->config, &watch, &interrupted), 0);
    assert_false(interrupted);
    assert_int_equal(gcb_descent_result(&found, d, 0, false), 0);
    return found;
}

/* Measures the settings; bytes and squared error of each. */
static void measure(struct run_setup *s, const struct gcb_method *methods, size_t count,
                    struct gcb_mix_point *out)
{
    const struct gcb_run_observer observer = {.watch = {.stop = never}};
    struct gcb_run_config config = s->config;
    struct gcb_run_result result;

    config.methods = methods;
    config.method_count = count;
    config.carry_on = true;
    assert_int_equal(gcb_run(&result, &config, &observer, &s->diag), 0);
    for (size_t i = 0; i < count; i++) {
        const double error = gcb_tally_figure(&result.totals[i].tally, GCB_FIELD_REL_L2);

        out[i] = (struct gcb_mix_point){.limited = error * error,
                                        .cost = (double)result.totals[i].tally.wire_bytes};
    }
    gcb_run_result_fini(&result);
}

/* The least bytes of all settings and of all mixes of two that meet the goal. */
static double least_bytes(const struct gcb_mix_point *p, size_t count)
{
    const double limit = goal.target * goal.target;
    double least = INFINITY;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count && p[i].limited <= limit; k++)
            for (int part = 0; part <= 10000; part++) {
                const double share = (double)part / 10000.0;

                if (share * p[i].limited + (1.0 - share) * p[k].limited <= limit)
                    least = fmin(least, share * p[i].cost + (1.0 - share) * p[k].cost);
            }
    return least;
}

/* qgz with bits and bucket: every combination is measured, and the search finds the best. */
static void test_two_parameters(void **state)
{
    struct run_setup *s = *state;
    struct gcb_method methods[MOST], both[2];
    struct gcb_mix_point points[MOST], two[2];
    struct gcb_match_search found;
    struct gcb_descent_family family;
    struct gcb_descent d;
    size_t n = 0;
    double least, share;
    char spec[100];

    make_runs(s);
    for (unsigned bits = 2; bits <= 8; bits++)
        for (unsigned bucket = 16; bucket <= 16384; bucket *= 2) {
            snprintf(spec, sizeof(spec), "qgz:coding=fixed,norm=max,levels=0,bits=%u,bucket=%u",
                     bits, bucket);
            methods[n++] = method_of(spec);
        }
    measure(s, methods, n, points);
    least = least_bytes(points, n);
    found = descend(s, &d, &family, "qgz:coding=fixed,norm=max,levels=0");
    assert_true(found.mix.reached);
    assert_true(found.mix.bytes < 1.01 * least && found.mix.bytes > 0.999 * least);
    assert_true(found.evaluations < n);
    /* the figures of the mix are those of its two settings */
    both[0] = found.method;
    both[1] = found.mix.other;
    measure(s, both, 2, two);
    assert_true(two[0].limited <= goal.target * goal.target);
    share = found.mix.share;
    assert_true(share > 0.0 && share < 1.0);
    assert_true(two[1].limited > goal.target * goal.target);
    assert_true(fabs(found.mix.error / goal.target - 1.0) < 1e-9);
    assert_true(fabs(share * two[0].limited + (1.0 - share) * two[1].limited -
                     goal.target * goal.target) < 1e-9);
    assert_true(fabs(share * two[0].cost + (1.0 - share) * two[1].cost - found.mix.bytes) <
                1e-6 * found.mix.bytes);
    gcb_descent_fini(&d);
}

static double value_of(const struct gcb_method *m, const char *key)
{
    double value = -1.0;

    assert_true(gcb_method_value(m, key, &value));
    return value;
}

/* What the user gave stays, and so do choices that tell the codec's methods apart; other parameters
 * are tried. */
static void test_what_stays(void **state)
{
    struct run_setup *s = *state;
    struct gcb_descent_family family;
    struct gcb_descent d;
    struct gcb_method user;
    bool chunks = false, bits = false, levels = false;

    make_runs(s);
    descend(s, &d, &family, "fft:mantissa=4");
    for (size_t i = 0; i < d.count; i++) {
        const struct gcb_method *m = &d.searches[i].method;

        for (const char *const *key =
                 (const char *const[]){"transform", "select", "values", "index", "mantissa", NULL};
             *key; key++)
            assert_true(value_of(m, *key) == value_of(&family.user, *key));
        chunks |= value_of(m, "chunk") > 0.0;
        bits |= value_of(m, "bits") < 10.0;
    }
    assert_true(chunks && bits);
    gcb_descent_fini(&d);

    descend(s, &d, &family, "qsgd:bucket=256");
    user = method_of("qsgd:bucket=256");
    for (size_t i = 0; i < d.count; i++) {
        assert_true(value_of(&d.searches[i].method, "bucket") == 256.0);
        assert_true(value_of(&d.searches[i].method, "rounding") == value_of(&user, "rounding"));
        levels |= strcmp(d.searches[i].axis.param->name, "levels") == 0;
    }
    assert_true(levels);
    gcb_descent_fini(&d);

    descend(s, &d, &family, "topk");
    assert_int_equal(d.count, 1); /* theta is all it has */
    gcb_descent_fini(&d);
}

/* A family that keeps to its line has one setting. */
static void test_only_the_line(void **state)
{
    struct run_setup *s = *state;
    const struct gcb_watch watch = {.stop = never};
    struct gcb_descent_family family = {.user = method_of("qsgd"),
                                        .goal = &goal,
                                        .over = true,
                                        .wide = 1,
                                        .change = gcb_descent_vary};
    struct gcb_descent d = {.families = &family, .family_count = 1, .diag = &s->diag};
    bool interrupted = false;

    make_runs(s);
    gcb_descent_add(&d, 0, &family.user, "levels", SIZE_MAX);
    assert_int_equal(gcb_descent_run(&d, &s->config, &watch, &interrupted), 0);
    assert_int_equal(d.count, 1);
    assert_string_equal(d.searches[0].axis.param->name, "levels");
    gcb_descent_fini(&d);
}

RUN_TESTS(RUN_CASE(test_two_parameters), RUN_CASE(test_what_stays), RUN_CASE(test_only_the_line))
