/* Medians and deviations of timings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/bench/stats.h"

static struct gcb_stats stats(const double *samples, size_t count)
{
    double scratch[16];
    struct gcb_stats s;

    gcb_stats_of(&s, samples, count, scratch);
    return s;
}

static void test_odd(void **state)
{
    const double v[] = {5.0, 1.0, 9.0, 2.0, 4.0};
    const struct gcb_stats s = stats(v, 5);

    (void)state;
    assert_true(s.median == 4.0 && s.min == 1.0 && s.max == 9.0);
    assert_true(s.mad == 2.0); /* of 0 1 2 3 5 */
    assert_true(v[0] == 5.0 && v[4] == 4.0);
}

static void test_even(void **state)
{
    const double v[] = {8.0, 1.0, 2.0, 3.0};
    const struct gcb_stats s = stats(v, 4);

    (void)state;
    assert_true(s.median == 2.5 && s.min == 1.0 && s.max == 8.0);
    assert_true(s.mad == 1.0); /* of 0.5 0.5 1.5 5.5 */
}

/* An outlier moves neither figure: that is what they are for. */
static void test_outlier(void **state)
{
    const double v[] = {1.0, 1.1, 0.9, 1000.0, 1.0};
    const struct gcb_stats s = stats(v, 5);

    (void)state;
    assert_true(s.median == 1.0 && s.mad < 0.11);
}

static void test_few(void **state)
{
    const double v[] = {3.0, 7.0};
    struct gcb_stats s = stats(v, 1);

    (void)state;
    assert_true(s.median == 3.0 && s.min == 3.0 && s.max == 3.0);
    assert_true(isnan(s.mad)); /* one sample says nothing of spread */
    s = stats(v, 2);
    assert_true(s.median == 5.0 && s.mad == 2.0);
    s = stats(NULL, 0);
    assert_true(isnan(s.median) && isnan(s.min) && isnan(s.max) && isnan(s.mad));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd),
        cmocka_unit_test(test_even),
        cmocka_unit_test(test_outlier),
        cmocka_unit_test(test_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
