/* Mixes of two settings, by values computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "src/tool/search/match.h"

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
    static const struct gcb_mix_point points[] = {{0.04, 8}, {0.25, 7}, {0.16, 4}, {0.36, 2}};
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
    static const struct gcb_mix_point points[] = {{0.1, 10}, {0.2, 9}, {0.5, 2}};

    check(find(points, 3, 0.3, NEVER), 0, 2, 0.5, true);
}

static void test_collinear(void **state)
{
    static const struct gcb_mix_point points[] = {{3, 4}, {0, 10}, {2, 6}, {1, 8}};

    check(find(points, 4, 1.5, NEVER), 3, 2, 0.5, true); /* the nearest two */
    check(find(points, 4, 1.0, NEVER), 3, 3, 1.0, true);
    check(find(points, 4, 0.25, NEVER), 1, 3, 0.75, true);
}

static void test_outside(void **state)
{
    static const struct gcb_mix_point points[] = {{0.2, 5}, {0.4, 3}};

    check(find(points, 2, 0.5, NEVER), 1, 1, 1.0, true);  /* the cheapest has room left */
    check(find(points, 2, 0.1, NEVER), 0, 0, 1.0, false); /* the nearest misses */
    check(find(points, 1, 0.3, NEVER), 0, 0, 1.0, true);
    check(find(points, 1, 0.1, NEVER), 0, 0, 1.0, false);
}

/* More bytes for more error: nothing is gained by a mix. */
static void test_worse_beyond(void **state)
{
    static const struct gcb_mix_point points[] = {{0.2, 5}, {0.4, 5}, {0.6, 9}};

    check(find(points, 3, 0.3, NEVER), 0, 0, 1.0, true);
}

static void test_equal_points(void **state)
{
    static const struct gcb_mix_point points[] = {{0.2, 6}, {0.2, 6}, {0.4, 2}, {0.4, 2}};

    check(find(points, 4, 0.3, NEVER), 0, 2, 0.5, true);
    check(find(points, 2, 0.3, NEVER), 0, 0, 1.0, true);
}

static void test_nan(void **state)
{
    static const struct gcb_mix_point points[] = {{NAN, 1},      {0.2, 6}, {0.25, NAN},
                                                  {INFINITY, 1}, {0.4, 2}, {NAN, NAN}};

    check(find(points, 6, 0.3, NEVER), 1, 4, 0.5, true);
    check(find(points, 1, 0.3, NEVER), SIZE_MAX, SIZE_MAX, 1.0, false);
    check(find(points, 0, 0.3, NEVER), SIZE_MAX, SIZE_MAX, 1.0, false);
}

/* A single setting just below the limit stands by itself, unless a mix is more than a hundredth cheaper (3.1 bytes). */
static void test_single(void **state)
{
    struct gcb_mix_point points[] = {{0.16, 4}, {0.2499, 3.13}, {0.36, 2}};

    check(find(points, 3, 0.25, 0.0005), 1, 1, 1.0, true);
    check(find(points, 3, 0.25, 0.00005), 0, 2, 0.55, true);
    points[0] =
        (struct gcb_mix_point){0.24995, 3.12}; /* the first, unless a later one is 0.5 % cheaper */
    check(find(points, 3, 0.25, 0.0005), 0, 0, 1.0, true);
    points[1].cost = 3.10;
    check(find(points, 3, 0.25, 0.0005), 1, 1, 1.0, true);
    points[0] = (struct gcb_mix_point){0.16, 4};
    points[1].cost = 3.14;
    check(find(points, 3, 0.25, 0.0005), 0, 2, 0.55, true);
}

/* Figures that do not add up over messages cannot be mixed. */
static void test_without_mixing(void **state)
{
    static const struct gcb_mix_point points[] = {{-0.95, 8}, {-0.92, 4}, {-0.8, 2}};
    struct gcb_mix mix;

    gcb_mix_find(&mix, points, 3, -0.9, NEVER, false);
    check(mix, 1, 1, 1.0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_skips_what_is_above_the_hull),
        cmocka_unit_test(test_collinear),
        cmocka_unit_test(test_outside),
        cmocka_unit_test(test_worse_beyond),
        cmocka_unit_test(test_equal_points),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_without_mixing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
