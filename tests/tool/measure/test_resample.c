/* Quantiles, the bootstrap of a median, Holm's correction: known results, and properties for any
 * input. */
#include <math.h>
#include <stdlib.h>

#include "src/tool/measure/stats.h"
#include "tests/support/test.h"

#define DRAWS 10000

static void test_quantile(void **state)
{
    const double v[] = {1.0, 2.0, 4.0, 8.0};

    assert_true(gcb_quantile(v, 4, 0.0) == 1.0 && gcb_quantile(v, 4, 1.0) == 8.0);
    assert_true(gcb_quantile(v, 4, 0.5) == 3.0); /* between the second and the third */
    assert_true(gcb_quantile(v, 4, 0.25) == 1.75);
    assert_true(gcb_quantile(v, 1, 0.975) == 1.0);
    assert_true(isnan(gcb_quantile(v, 0, 0.5)));
}

static void test_medians(void **state)
{
    static double medians[DRAWS], again[DRAWS];
    const double v[] = {3.0, 1.0, 2.0, 5.0, 4.0};
    size_t at_three = 0;

    gcb_resample_medians(medians, DRAWS, v, 5, 1);
    gcb_resample_medians(again, DRAWS, v, 5, 1);
    for (size_t i = 0; i < DRAWS; i++) {
        assert_true(medians[i] == again[i]);
        assert_true(i == 0 || medians[i - 1] <= medians[i]);
        at_three += medians[i] == 3.0;
    }
    assert_true(medians[0] == 1.0 && medians[DRAWS - 1] == 5.0);
    /* Of 3125 equally likely samples 1141 have the middle value as their median: 36.5 % */
    assert_true(fabs((double)at_three / DRAWS - 1141.0 / 3125.0) < 0.02);
    gcb_resample_medians(again, DRAWS, v, 5, 2);
    for (at_three = 0; at_three < DRAWS && medians[at_three] == again[at_three];)
        at_three++;
    assert_true(at_three < DRAWS); /* another seed, other samples */
}

static void test_one_value(void **state)
{
    double medians[7];
    const double v = 0.25;

    gcb_resample_medians(medians, 7, &v, 1, 1);
    assert_true(medians[0] == 0.25 && medians[6] == 0.25);
}

static void test_sign(void **state)
{
    assert_true(fabs(gcb_sign_test(20, 20) - 0x1p-20) < 1e-18);
    assert_true(fabs(gcb_sign_test(17, 20) - 1351.0 / 1048576.0) < 1e-15);
    assert_true(fabs(gcb_sign_test(2, 3) - 0.5) < 1e-15);
    assert_true(gcb_sign_test(0, 20) == 1.0 && gcb_sign_test(0, 0) == 1.0);
}

static void test_holm(void **state)
{
    const double p[] = {0.01, 0.04, 0.03, 0.005};
    const double want[] = {0.03, 0.06, 0.06, 0.02};
    double got[4], equal[] = {0.5, 0.5, 0.5};

    gcb_holm(got, p, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(got[i] - want[i]) < 1e-15);
    gcb_holm(equal, equal, 3); /* in place; never above 1 */
    assert_true(equal[0] == 1.0 && equal[2] == 1.0);
    gcb_holm(got, p, 0);
}

RUN_TESTS(cmocka_unit_test(test_quantile), cmocka_unit_test(test_medians),
          cmocka_unit_test(test_one_value), cmocka_unit_test(test_sign),
          cmocka_unit_test(test_holm))
