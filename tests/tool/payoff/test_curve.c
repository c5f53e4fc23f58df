/* Measured times of transfers by size. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/tool/payoff/curve.h"
#include "src/tool/payoff/model.h"
#include "tests/support/test.h"

/* A row of a result file. */
struct link_row {
    enum gcb_pattern pattern;
    double bytes, first, seconds;
};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static int read_rows(struct gcb_curve *out, const struct link_row *rows, size_t count)
{
    FILE *f = tmpfile();
    char path[40];
    int err;

    assert_non_null(f);
    for (size_t i = 0; i < count; i++)
        fprintf(f,
                "{\"record\":\"link\",\"schema\":1,\"pattern\":\"%s\",\"workers\":2,"
                "\"bytes\":%.17g,\"first_seconds\":%.17g,\"seconds\":%.17g}\n",
                gcb_pattern_names[rows[i].pattern], rows[i].bytes, rows[i].first, rows[i].seconds);
    fflush(f);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(f));
    err = gcb_curve_read(out, path, NULL);
    fclose(f);
    return err;
}

/* Times between, below and above the measured sizes; a pattern without a line has the times of the
 * other. */
static void test_times(void **state)
{
    static const struct link_row rows[] = {
        {GCB_PATTERN_SHIFT, 1e6, 2e-3, 4e-3},
        {GCB_PATTERN_SHIFT, 1e3, 1e-5, 2e-5}, /* in any order */
        {GCB_PATTERN_PAIR, 1e6, 3e-3, 5e-3},
    };
    struct gcb_curve curve;

    assert_int_equal(read_rows(&curve, rows, 2), 0);
    assert_true(near(curve.bandwidth, 1e6 / 2e-3));
    for (int pattern = 0; pattern < GCB_PATTERNS; pattern++) {
        assert_true(near(gcb_curve_at(&curve, pattern, true, 1e3), 1e-5));
        assert_true(near(gcb_curve_at(&curve, pattern, false, 1e3), 2e-5));
        assert_true(near(gcb_curve_at(&curve, pattern, true, 1.0), 1e-5));
        assert_true(near(gcb_curve_at(&curve, pattern, false, 3e6), 12e-3));
        assert_true(near(gcb_curve_at(&curve, pattern, true, 500500.0), (2e-3 + 1e-5) / 2));
    }
    assert_int_equal(read_rows(&curve, rows, 3), 0);
    assert_true(near(gcb_curve_at(&curve, GCB_PATTERN_PAIR, true, 1e6), 3e-3));
}

static void test_refused(void **state)
{
    static const double wrong[][3] = {
        {0.0, 1.0, 1.0},  {-1.0, 1.0, 1.0}, {1.0, 0.0, 1.0},       {1.0, 1.0, 0.0},
        {1.0, 1.0, -1.0}, {1.0, 1e31, 1.0}, {1e300, 1e-300, 1e-3}, {2.0, 1.0, 1.0} /* twice */,
    };
    struct link_row rows[GCB_CURVE_POINTS + 1];
    struct gcb_curve curve;

    for (unsigned i = 0; i <= GCB_CURVE_POINTS; i++)
        rows[i] = (struct link_row){GCB_PATTERN_SHIFT, 2.0 + i, 1.0, 1.0};
    assert_int_equal(read_rows(&curve, rows, GCB_CURVE_POINTS), 0);
    assert_int_equal(curve.lines[GCB_PATTERN_SHIFT].count, GCB_CURVE_POINTS);
    assert_int_equal(read_rows(&curve, rows, GCB_CURVE_POINTS + 1), GCB_E_CORRUPT);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        rows[1] = (struct link_row){GCB_PATTERN_SHIFT, wrong[i][0], wrong[i][1], wrong[i][2]};
        assert_int_equal(read_rows(&curve, rows, 2), GCB_E_CORRUPT);
    }
}

RUN_TESTS(cmocka_unit_test(test_times), cmocka_unit_test(test_refused))
