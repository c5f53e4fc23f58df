/* Bandwidths and times with their units, and lists of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/tool/base/units.h"
#include "src/tool/payoff/payoff_grid.h"

static void test_bandwidths(void **state)
{
    static const struct {
        const char *text;
        double bytes;
    } good[] = {{"10Gb", 1.25e9},     {"1.25GB", 1.25e9}, {"400Mb", 5e7},
                {"90MB", 9e7},        {"2TB", 2e12},      {"10Gb/s", 1.25e9},
                {"100Mbps", 1.25e7},  {"8kb", 1000},      {"10Gbit", 1.25e9},
                {"10Gbit/s", 1.25e9}, {"25GbE", 3.125e9}, {"1.25GB/s", 1.25e9}};
    static const char *const bad[] = {
        "",      "10",      "Gb",      "-1Gb",     "0Gb", "10gb",     "10 Gb",   "1e9",
        "1e1Gb", "10Gbits", "1.2.3Gb", "10GBps/s", "s",   "10Gbitps", "10GbE/s", "10bit"};
    double v;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(gcb_parse_bandwidth(good[i].text, &v));
        assert_true(fabs(v - good[i].bytes) < 1e-9 * v);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(gcb_parse_bandwidth(bad[i], &v));
}

static void test_durations(void **state)
{
    double v;

    (void)state;
    assert_true(gcb_parse_duration("20us", &v) && fabs(v - 20e-6) < 1e-18);
    assert_true(gcb_parse_duration("80ms", &v) && fabs(v - 0.08) < 1e-15);
    assert_true(gcb_parse_duration("1.5s", &v) && v == 1.5);
    assert_true(gcb_parse_duration("350ns", &v) && fabs(v - 350e-9) < 1e-20);
    assert_true(gcb_parse_duration("0", &v) && v == 0.0);
    assert_false(gcb_parse_duration("20", &v));
    assert_false(gcb_parse_duration("20m", &v));
    assert_false(gcb_parse_duration("-1s", &v));
    assert_false(gcb_parse_duration("", &v));
    assert_true(gcb_parse_seconds("20m", &v) && v == 1200.0);
    assert_true(gcb_parse_seconds("1.5h", &v) && v == 5400.0);
    assert_true(gcb_parse_seconds("20", &v) && v == 20.0);
    assert_true(gcb_parse_seconds("80ms", &v) && fabs(v - 0.08) < 1e-15);
    assert_false(gcb_parse_seconds("s", &v));
    assert_false(gcb_parse_seconds("", &v));
    assert_false(gcb_parse_seconds("-1", &v));
    assert_false(gcb_parse_seconds("1 s", &v));
    assert_false(gcb_parse_seconds("1d", &v));
}

static void test_lists(void **state)
{
    struct gcb_payoff_grid g = {.count = 0};
    struct gcb_diag diag;

    (void)state;
    assert_int_equal(gcb_payoff_grid_bandwidths(&g, "1Gb,1.25GB", &diag), 0);
    assert_int_equal(g.count, 2);
    assert_true(g.values[0] == 1.25e8 && g.values[1] == 1.25e9);
    assert_int_equal(gcb_payoff_grid_bandwidths(&g, "1Gb..3Gb", &diag), 0);
    assert_int_equal(g.count, 5);
    assert_true(g.values[2] == 1.25e8 && g.values[3] == 2.5e8 && g.values[4] == 3.75e8);
    g.count = 0;
    assert_int_equal(gcb_payoff_grid_workers(&g, "2,8,65536", &diag), 0);
    assert_true(g.count == 3 && g.values[2] == 65536.0);
}

static void test_refused(void **state)
{
    static const char *const bandwidths[] = {"",      "1Gb,",  "2Gb..1Gb", "1Gb..2Gb/3",
                                             "..2Gb", "1Gb..", "x"};
    static const char *const workers[] = {"", "1", "65537", "8.5", "-2", "2,,3", "eight"};
    struct gcb_payoff_grid g;
    struct gcb_diag diag;
    char many[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(bandwidths) / sizeof(bandwidths[0]); i++) {
        g.count = 0;
        assert_int_equal(gcb_payoff_grid_bandwidths(&g, bandwidths[i], &diag), GCB_E_INVALID);
        assert_true(strlen(diag.text) > 0);
    }
    for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
        g.count = 0;
        assert_int_equal(gcb_payoff_grid_workers(&g, workers[i], &diag), GCB_E_INVALID);
    }
    memset(many, '1', sizeof(many) - 1); /* a single number that is too long */
    many[sizeof(many) - 1] = '\0';
    g.count = 0;
    assert_int_equal(gcb_payoff_grid_bandwidths(&g, many, &diag), GCB_E_INVALID);
    assert_int_equal(gcb_payoff_grid_workers(&g, many, &diag), GCB_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bandwidths),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
