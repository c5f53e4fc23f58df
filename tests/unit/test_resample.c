/* Quantiles, the bootstrap of a median, Holm's correction: known answers, and what must hold for any input. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "src/bench/resample.h"

#define DRAWS 10000

static void test_quantile(void **state)
{
    const double v[] = {1.0, 2.0, 4.0, 8.0};

    (void)state;
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
    struct gcb_diag diag;
    size_t at_three = 0;

    (void)state;
    assert_int_equal(gcb_resample_medians(medians, DRAWS, v, 5, 1, &diag), 0);
    assert_int_equal(gcb_resample_medians(again, DRAWS, v, 5, 1, &diag), 0);
    for (size_t i = 0; i < DRAWS; i++) {
        assert_true(medians[i] == again[i]);
        assert_true(i == 0 || medians[i - 1] <= medians[i]);
        at_three += medians[i] == 3.0;
    }
    assert_true(medians[0] == 1.0 && medians[DRAWS - 1] == 5.0);
    /* Of 3125 equally likely samples 1141 have the middle value as their median: 36.5 % */
    assert_true(fabs((double)at_three / DRAWS - 1141.0 / 3125.0) < 0.02);
    assert_int_equal(gcb_resample_medians(again, DRAWS, v, 5, 2, &diag), 0);
    for (at_three = 0; at_three < DRAWS && medians[at_three] == again[at_three];)
        at_three++;
    assert_true(at_three < DRAWS); /* another seed, other samples */
    assert_int_equal(gcb_resample_medians(medians, DRAWS, v, 0, 1, &diag), GCB_E_INVALID);
}

static void test_one_value(void **state)
{
    double medians[7];
    const double v = 0.25;

    (void)state;
    assert_int_equal(gcb_resample_medians(medians, 7, &v, 1, 1, NULL), 0);
    assert_true(medians[0] == 0.25 && medians[6] == 0.25);
}

static void test_signed_rank(void **state)
{
    double v[30], scratch[30];

    (void)state;
    for (size_t i = 0; i < 30; i++)
        v[i] = 1.0 + (double)i / 30.0;
    assert_true(gcb_signed_rank(v, 30, 0.5, true, scratch) < 1e-5);
    assert_true(gcb_signed_rank(v, 30, 3.0, false, scratch) < 1e-5);
    assert_true(gcb_signed_rank(v, 30, 3.0, true, scratch) > 1.0 - 1e-5);
    assert_true(fabs(gcb_signed_rank(v, 30, 1.0 + 29.0 / 60.0, true, scratch) - 0.5) < 0.05);
    assert_true(gcb_signed_rank(v, 1, 1.0, true, scratch) == 1.0); /* on the limit */
    assert_true(isnan(gcb_signed_rank(v, 0, 1.0, true, scratch)));
}

static void test_holm(void **state)
{
    const double p[] = {0.01, 0.04, 0.03, 0.005};
    const double want[] = {0.03, 0.06, 0.06, 0.02};
    double got[4], equal[] = {0.5, 0.5, 0.5};

    (void)state;
    assert_int_equal(gcb_holm(got, p, 4, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(got[i] - want[i]) < 1e-15);
    assert_int_equal(gcb_holm(equal, equal, 3, NULL), 0); /* in place; never above 1 */
    assert_true(equal[0] == 1.0 && equal[2] == 1.0);
    assert_int_equal(gcb_holm(got, p, 0, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantile),  cmocka_unit_test(test_medians),
        cmocka_unit_test(test_one_value), cmocka_unit_test(test_signed_rank),
        cmocka_unit_test(test_holm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
