/* Dividing a time limit: each piece gets a part, time left over is used, and the limit is kept. */
#include <math.h>
#include <stdlib.h>

#include "src/tool/measure/measure.h"
#include "tests/support/test.h"

/* The clock is this test's. */
static double now;

double __wrap_gcb_clock(void);

double __wrap_gcb_clock(void)
{
    return now;
}

static void test_greedy(void **state)
{
    struct gcb_budget b;
    double total = 0.0, least = 1e9, most = 0.0;

    gcb_budget_start(&b, 1000.0, 100.0);
    for (int i = 0; i < 100; i++) {
        const double offered = gcb_budget_take(&b, 1.0);

        now += offered;
        total += offered;
        least = fmin(least, offered);
        most = fmax(most, offered);
    }
    assert_true(total > 990.0 && total <= 1000.0);
    assert_true(most > 29.0 && most < 30.1); /* three fair shares of 10 */
    assert_true(least > 4.9);                /* half a fair share */
}

static void test_modest(void **state)
{
    struct gcb_budget b;

    gcb_budget_start(&b, 1000.0, 100.0);
    for (int i = 0; i < 99; i++) {
        assert_true(gcb_budget_take(&b, 1.0) > 29.0);
        now += 1.0;
    }
    assert_true(gcb_budget_take(&b, 1.0) > 890.0); /* all time left over */
}

static void test_over(void **state)
{
    struct gcb_budget b;

    gcb_budget_start(&b, 1.0, 2.0);
    now += 5.0;
    assert_true(gcb_budget_take(&b, 1.0) > 0.0);
    assert_true(gcb_budget_take(&b, 1.0) > 0.0 && gcb_budget_take(&b, 1.0) < 1e-6);
    gcb_budget_start(&b, 1.0, 0.0);
    assert_true(gcb_budget_take(&b, 1.0) > 0.0);
}

/* A piece of more weight gets more time. */
static void test_weight(void **state)
{
    struct gcb_budget b;
    double light;

    gcb_budget_start(&b, 1000.0, 1000.0);
    light = gcb_budget_take(&b, 1.0);
    assert_true(fabs(gcb_budget_take(&b, 10.0) / light - 10.0) < 0.1);
}

RUN_TESTS(cmocka_unit_test(test_greedy), cmocka_unit_test(test_modest), cmocka_unit_test(test_over),
          cmocka_unit_test(test_weight))
