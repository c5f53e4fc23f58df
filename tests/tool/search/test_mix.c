/* Mixes of two settings, by values computed by hand. */
#include <math.h>
#include <stdlib.h>

#include "src/tool/search/match.h"
#include "tests/support/test.h"

#define NEVER 0.0 /* no setting is near the limit */

static struct gcb_mix find(const struct gcb_mix_point *points, size_t count, double limit,
                           double near)
{
    struct gcb_mix mix;

    gcb_mix_find(&mix, points, count, limit, near, true);
    return mix;
}

static void check(struct gcb_mix mix, size_t first, size_t second, double share, bool reached)
{
    assert_int_equal(mix.first, first);
    assert_int_equal(mix.second, second);
    assert_true(fabs(mix.share - share) < 1e-12);
    assert_int_equal(mix.reached, reached);
}

/* The hull has the first, the third and the fourth point; the second is above it. */
static void test_pairs(void **state)
{
    static const struct gcb_mix_point points[] = {{.limited = 0.04, .cost = 8},
                                                  {.limited = 0.25, .cost = 7},
                                                  {.limited = 0.16, .cost = 4},
                                                  {.limited = 0.36, .cost = 2}};
    const struct gcb_mix between = find(points, 4, 0.26, NEVER);

    check(between, 2, 3, 0.5, true); /* (0.36 - 0.26) / (0.36 - 0.16) */
    assert_true(fabs(gcb_mix_between(&between, points[2].cost, points[3].cost) - 3.0) < 1e-12);
    check(find(points, 4, 0.10, NEVER), 0, 2, 0.5, true);
    check(find(points, 4, 0.16, NEVER), 2, 2, 1.0, true); /* a corner */
    check(find(points, 4, 0.36, NEVER), 3, 3, 1.0, true);
    check(find(points, 2, 0.25, NEVER), 1, 1, 1.0, true);
    check(find(points, 2, 0.1, NEVER), 0, 1, 0.15 / 0.21, true);
}

/* The chord from the first to the last point is below the point between them. */
static void test_skips_what_is_above_the_hull(void **state)
{
    static const struct gcb_mix_point points[] = {
        {.limited = 0.1, .cost = 10}, {.limited = 0.2, .cost = 9}, {.limited = 0.5, .cost = 2}};

    check(find(points, 3, 0.3, NEVER), 0, 2, 0.5, true);
}

static void test_collinear(void **state)
{
    static const struct gcb_mix_point points[] = {{.limited = 3, .cost = 4},
                                                  {.limited = 0, .cost = 10},
                                                  {.limited = 2, .cost = 6},
                                                  {.limited = 1, .cost = 8}};

    check(find(points, 4, 1.5, NEVER), 3, 2, 0.5, true); /* the nearest two */
    check(find(points, 4, 1.0, NEVER), 3, 3, 1.0, true);
    check(find(points, 4, 0.25, NEVER), 1, 3, 0.75, true);
}

static void test_outside(void **state)
{
    static const struct gcb_mix_point points[] = {{.limited = 0.2, .cost = 5},
                                                  {.limited = 0.4, .cost = 3}};

    check(find(points, 2, 0.5, NEVER), 1, 1, 1.0, true);  /* the cheapest has room left */
    check(find(points, 2, 0.1, NEVER), 0, 0, 1.0, false); /* the nearest misses */
    check(find(points, 1, 0.3, NEVER), 0, 0, 1.0, true);
    check(find(points, 1, 0.1, NEVER), 0, 0, 1.0, false);
}

/* More bytes for more error: nothing is gained by a mix. */
static void test_worse_beyond(void **state)
{
    static const struct gcb_mix_point points[] = {
        {.limited = 0.2, .cost = 5}, {.limited = 0.4, .cost = 5}, {.limited = 0.6, .cost = 9}};

    check(find(points, 3, 0.3, NEVER), 0, 0, 1.0, true);
}

static void test_equal_points(void **state)
{
    static const struct gcb_mix_point points[] = {{.limited = 0.2, .cost = 6},
                                                  {.limited = 0.2, .cost = 6},
                                                  {.limited = 0.4, .cost = 2},
                                                  {.limited = 0.4, .cost = 2}};

    check(find(points, 4, 0.3, NEVER), 0, 2, 0.5, true);
    check(find(points, 2, 0.3, NEVER), 0, 0, 1.0, true);
}

static void test_nan(void **state)
{
    static const struct gcb_mix_point points[] = {
        {.limited = NAN, .cost = 1},    {.limited = 0.2, .cost = 6},
        {.limited = 0.25, .cost = NAN}, {.limited = INFINITY, .cost = 1},
        {.limited = 0.4, .cost = 2},    {.limited = NAN, .cost = NAN}};

    check(find(points, 6, 0.3, NEVER), 1, 4, 0.5, true);
    check(find(points, 1, 0.3, NEVER), SIZE_MAX, SIZE_MAX, 1.0, false);
    check(find(points, 0, 0.3, NEVER), SIZE_MAX, SIZE_MAX, 1.0, false);
}

/* A single setting just below the limit stands by itself, unless a mix is more than a hundredth
 * cheaper (3.1 bytes). */
static void test_single(void **state)
{
    struct gcb_mix_point points[] = {{.limited = 0.16, .cost = 4},
                                     {.limited = 0.2499, .cost = 3.13},
                                     {.limited = 0.36, .cost = 2}};

    check(find(points, 3, 0.25, 0.0005), 1, 1, 1.0, true);
    check(find(points, 3, 0.25, 0.00005), 0, 2, 0.55, true);
    points[0] = (struct gcb_mix_point){
        .limited = 0.24995, .cost = 3.12}; /* the first, unless a later one is 0.5 % cheaper */
    check(find(points, 3, 0.25, 0.0005), 0, 0, 1.0, true);
    points[1].cost = 3.10;
    check(find(points, 3, 0.25, 0.0005), 1, 1, 1.0, true);
    points[0] = (struct gcb_mix_point){.limited = 0.16, .cost = 4};
    points[1].cost = 3.14;
    check(find(points, 3, 0.25, 0.0005), 0, 2, 0.55, true);
}

/* Figures that do not add up over messages cannot be mixed. */
static void test_without_mixing(void **state)
{
    static const struct gcb_mix_point points[] = {
        {.limited = -0.95, .cost = 8}, {.limited = -0.92, .cost = 4}, {.limited = -0.8, .cost = 2}};
    struct gcb_mix mix;

    gcb_mix_find(&mix, points, 3, -0.9, NEVER, false);
    check(mix, 1, 1, 1.0, true);
}

RUN_TESTS(cmocka_unit_test(test_pairs), cmocka_unit_test(test_skips_what_is_above_the_hull),
          cmocka_unit_test(test_collinear), cmocka_unit_test(test_outside),
          cmocka_unit_test(test_worse_beyond), cmocka_unit_test(test_equal_points),
          cmocka_unit_test(test_nan), cmocka_unit_test(test_single),
          cmocka_unit_test(test_without_mixing))
