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
        assert_false(gcb_curve_reduces(&curve, pattern));
        assert_false(gcb_curve_extrapolates(&curve, pattern, 1.0));
    }
    add(&curve, GCB_PATTERN_PAIR, 1e6, 3e-3, 5e-3);
    curve.lines[GCB_PATTERN_PAIR].reduces = true;
    curve.lines[GCB_PATTERN_SHIFT].least = 1e4;
    assert_true(near(gcb_curve_at(&curve, GCB_PATTERN_PAIR, true, 1e6), 3e-3));
    assert_true(gcb_curve_reduces(&curve, GCB_PATTERN_PAIR));
    assert_true(gcb_curve_extrapolates(&curve, GCB_PATTERN_SHIFT, 1e3));
    assert_false(gcb_curve_extrapolates(&curve, GCB_PATTERN_SHIFT, 1e4));
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

/* The model gives an imported all-reduce again, also without a power of two ranks. */
static void test_import(void **state)
{
    static const unsigned ranks[] = {2, 3, 8, 12, 16};

    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        const struct gcb_network wire = {
            .bandwidth = 1e9, .latency = 1e-5, .workers = ranks[i], .per_node = 1};
        struct gcb_wire_rounds round = {.collective = GCB_COLLECTIVE_ALLREDUCE, .count = 1};
        const double best = 2.0 * (ranks[i] - 1.0) / ranks[i];
        char path[] = "/tmp/gcbench-curve-XXXXXX";
        const char *const paths[] = {path};
        struct gcb_network network = wire;
        struct gcb_curve curve;
        FILE *log = fdopen(mkstemp(path), "w");

        assert_non_null(log);
        fputs("# OSU MPI Allreduce Latency Test\n# Size Avg Latency(us)\n", log);
        for (double bytes = 4.0; bytes <= 1 << 28; bytes *= 4.0) {
            round.bytes = best * bytes;
            fprintf(log, "%.0f %.6f\n", bytes, 1e6 * gcb_wire_model(&wire, &round));
        }
        fclose(log);
        assert_int_equal(gcb_curve_import(&curve, paths, 1, ranks[i], NULL), 0);
        network.curve = &curve;
        network.bandwidth = curve.bandwidth;
        for (double bytes = 4.0; bytes <= 1 << 28; bytes *= 4.0) {
            double want, got;

            round.bytes = best * bytes;
            want = gcb_wire_model(&wire, &round);
            got = gcb_wire_model(&network, &round);
            if (fabs(got / want - 1.0) > 0.1)
                fail_msg("%u ranks, %.0f bytes: %g s, not %g", ranks[i], bytes, got, want);
        }
        unlink(path);
    }
}

RUN_TESTS(cmocka_unit_test(test_times), cmocka_unit_test(test_refused),
          cmocka_unit_test(test_import))
