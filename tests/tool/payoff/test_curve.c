/* Measured times of transfers by size. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/tool/payoff/curve.h"
#include "src/tool/payoff/model.h"
#include "tests/support/test.h"

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void add(struct gcb_curve *curve, enum gcb_pattern pattern, double bytes, double first,
                double seconds)
{
    const struct gcb_curve_point point = {bytes, first, seconds};

    assert_int_equal(gcb_curve_add(curve, pattern, &point, NULL), 0);
}

/* Times between, below and above the measured sizes; a pattern without a line has the times of the
 * other. */
static void test_times(void **state)
{
    struct gcb_curve curve = {.path = "link.json"};

    add(&curve, GCB_PATTERN_SHIFT, 1e6, 2e-3, 4e-3);
    add(&curve, GCB_PATTERN_SHIFT, 1e3, 1e-5, 2e-5); /* in any order */
    assert_true(near(curve.bandwidth, 1e6 / 2e-3));
    for (int pattern = 0; pattern < GCB_PATTERNS; pattern++) {
        assert_true(near(gcb_curve_at(&curve, pattern, true, 1e3), 1e-5));
        assert_true(near(gcb_curve_at(&curve, pattern, false, 1e3), 2e-5));
        assert_true(near(gcb_curve_at(&curve, pattern, true, 1.0), 1e-5));
        assert_true(near(gcb_curve_at(&curve, pattern, false, 3e6), 12e-3));
        assert_true(near(gcb_curve_at(&curve, pattern, true, 500500.0), (2e-3 + 1e-5) / 2));
    }
    add(&curve, GCB_PATTERN_PAIR, 1e6, 3e-3, 5e-3);
    assert_true(near(gcb_curve_at(&curve, GCB_PATTERN_PAIR, true, 1e6), 3e-3));
}

static void test_refused(void **state)
{
    const struct gcb_curve_point wrong[] = {
        {0.0, 1.0, 1.0},
        {-1.0, 1.0, 1.0},
        {NAN, 1.0, 1.0},
        {1.0, 0.0, 1.0},
        {1.0, NAN, 1.0},
        {1.0, INFINITY, 1.0},
        {1.0, 1.0, 0.0},
        {1.0, 1.0, NAN},
        {1.0, 1.0, INFINITY},
        {1e300, 1e-300, 1e-3},
        {2.0, 1.0, 1.0} /* twice */,
    };
    struct gcb_curve curve = {.path = "link.json"};
    struct gcb_diag diag;

    add(&curve, GCB_PATTERN_SHIFT, 2.0, 1.0, 1.0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(gcb_curve_add(&curve, GCB_PATTERN_SHIFT, &wrong[i], &diag), GCB_E_CORRUPT);
    for (unsigned i = 1; i < GCB_CURVE_POINTS; i++)
        add(&curve, GCB_PATTERN_SHIFT, 2.0 + i, 1.0, 1.0);
    assert_int_equal(
        gcb_curve_add(&curve, GCB_PATTERN_SHIFT, &(struct gcb_curve_point){1e4, 1.0, 1.0}, &diag),
        GCB_E_CORRUPT);
    assert_int_equal(curve.lines[GCB_PATTERN_SHIFT].count, GCB_CURVE_POINTS);
}

RUN_TESTS(cmocka_unit_test(test_times), cmocka_unit_test(test_refused))
