/* The models of papers give the figures that the papers print. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/tool/payoff/papers.h"

#define GBIT (1e9 / 8)

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* Compares a value with a printed one, to so many digits. */
static void prints(const char *want, int digits, double value)
{
    char got[32];

    snprintf(got, sizeof(got), "%.*g", digits, value);
    assert_string_equal(got, want);
}

/* Figure 10 of the FFT paper, and figures that follow from it: Tm 600 GB/s, Tf 71, Tp and Ts as listed. */
static void test_fft_paper(void **state)
{
    static const struct {
        double select, index;
        const char *even;
    } networks[] = {{30, 67, "58"}, {12, 67, "33.6"}, {30, 34, "47.9"}, {12, 12, "21.3"}};
    static const struct {
        double gbit;
        const char *ratio;
    } ratios[] = {{10, "1.21"}, {25, "1.76"}, {40, "3.23"}, {56, "29.5"}};
    struct gcb_fft_stages s = {71e9, 30e9, 600e9, 67e9};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        prints(ratios[i].ratio, 3, gcb_fft_stages_least_ratio(&s, ratios[i].gbit * GBIT));
    assert_true(isinf(gcb_fft_stages_least_ratio(&s, 58.1 * GBIT)));
    for (size_t i = 0; i < 4; i++) {
        s.select = networks[i].select * 1e9;
        s.index = networks[i].index * 1e9;
        prints(networks[i].even, 3, gcb_fft_stages_break_even(&s) / GBIT);
    }
}

/* RedSync: 12.8 % of the bandwidth at 128 nodes, all of it at 64 nodes with 1.5625 %. */
static void test_redsync(void **state)
{
    struct gcb_redsync in = {.bytes = 1e8,
                             .density = 0.001,
                             .words = 2,
                             .workers = 128,
                             .bandwidth = 1e9,
                             .latency = 1e-5,
                             .select = 2e-3,
                             .unpack = 1e-4,
                             .reduce = 8e-3};
    struct gcb_redsync_times t;

    (void)state;
    gcb_redsync_times(&t, &in);
    prints("12.8", 3, 100.0 * t.bandwidth_ratio);
    assert_true(near(t.even_workers, 1000.0));
    assert_true(near(t.sparse_wire / t.dense_wire, t.bandwidth_ratio));
    assert_true(near(t.sparse, 2e-3 + 7e-5 + 127 * 2e5 / 1e9 + 128 * 1e-4));
    assert_true(near(t.dense, 14e-5 + 2 * 127. / 128 * 0.1 + 127. / 128 * 8e-3));
    in.words = 1;
    gcb_redsync_times(&t, &in);
    prints("6.4", 3, 100.0 * t.bandwidth_ratio);
    in = (struct gcb_redsync){.density = 0.015625, .words = 2, .workers = 64, .bandwidth = 1};
    gcb_redsync_times(&t, &in);
    assert_true(near(t.bandwidth_ratio, 1.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fft_paper),
        cmocka_unit_test(test_redsync),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
