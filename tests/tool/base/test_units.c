/* Bandwidths and times with their units. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/units.h"
#include "tests/support/test.h"

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

RUN_TESTS(cmocka_unit_test(test_bandwidths), cmocka_unit_test(test_durations))
