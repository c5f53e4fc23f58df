/* The Pareto set, compared with the definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/tool/search/pareto.h"

#define N 200

/* The definition, in another order than the library uses. */
static bool unbeaten(const double *cost, size_t n, size_t figures, size_t i)
{
    for (size_t f = 0; f < figures; f++)
        if (isnan(cost[i * figures + f]))
            return false;
    for (size_t k = 0; k < n; k++) {
        size_t better = 0, worse = 0, unknown = 0;

        for (size_t f = 0; f < figures; f++) {
            const double a = cost[k * figures + f], b = cost[i * figures + f];

            unknown += isnan(a);
            better += a < b;
            worse += a > b;
        }
        if (better > 0 && worse == 0 && unknown == 0)
            return false;
    }
    return true;
}

static void test_against_all_pairs(void **state)
{
    static double cost[N * 3];
    bool mark[N];

    srand(7);
    for (size_t figures = 2; figures <= 3; figures++)
        for (int grain = 4; grain <= 4000; grain *= 10) {
            size_t marked = 0;

            for (size_t i = 0; i < N * figures; i++)
                cost[i] = rand() % 50 == 0 ? (double)NAN : (double)(rand() % grain);
            gcb_pareto_mark(mark, cost, N, figures);
            for (size_t i = 0; i < N; i++) {
                assert_int_equal(mark[i], unbeaten(cost, N, figures, i));
                marked += mark[i];
            }
            assert_in_range(marked, 1, N - 1);
        }
}

static void test_equal_ones_are_all_marked(void **state)
{
    const double cost[] = {1, 2, 1, 2, 2, 1, 2, 2, NAN, 0};
    bool mark[5];

    gcb_pareto_mark(mark, cost, 5, 2);
    assert_true(mark[0] && mark[1] && mark[2] && !mark[3] && !mark[4]);
    gcb_pareto_mark(mark, cost, 0, 2);
}

static void test_totals_know_which_way_is_good(void **state)
{
    struct gcb_run_total totals[3] = {0};
    const struct gcb_run_result result = {.totals = totals, .method_count = 3};
    struct gcb_pareto_field fields[GCB_PARETO_FIELDS];
    bool mark[3], left_out[3] = {false, false, false};
    size_t count;

    for (size_t i = 0; i < 3; i++)
        totals[i].tally = (struct gcb_tally){.messages = 1, .input_bytes = 1000, .elements = 250};
    totals[0].tally.wire_bytes = 100;
    totals[0].tally.encode.seconds = 3;
    totals[1].tally.wire_bytes = 200;
    totals[1].tally.encode.seconds = 1;
    totals[2].tally.wire_bytes = 200;
    totals[2].tally.encode.seconds = 2;
    assert_int_equal(gcb_pareto_parse(fields, &count, "ratio,encode_gbps", NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(gcb_pareto_totals(mark, &result, left_out, fields, count, NULL), 0);
    assert_true(mark[0] && mark[1] && !mark[2]);
    assert_int_equal(gcb_pareto_parse(fields, &count, "bits_per_element,encode_seconds", NULL), 0);
    assert_int_equal(gcb_pareto_totals(mark, &result, left_out, fields, count, NULL), 0);
    assert_true(mark[0] && mark[1] && !mark[2]);
    left_out[0] = true; /* it missed its target, and so beats nothing */
    assert_int_equal(gcb_pareto_totals(mark, &result, left_out, fields, count, NULL), 0);
    assert_true(!mark[0] && mark[1] && !mark[2]);
    left_out[0] = false;
    totals[1].failure.status = -1; /* it failed after some messages */
    assert_int_equal(gcb_pareto_totals(mark, &result, left_out, fields, count, NULL), 0);
    assert_true(mark[0] && !mark[1] && mark[2]);
    totals[0].tally.messages = 0;
    assert_int_equal(gcb_pareto_totals(mark, &result, left_out, fields, count, NULL), 0);
    assert_true(!mark[0] && !mark[1] && mark[2]);
}

static void test_fields(void **state)
{
    static const char *const bad[] = {"",
                                      "rel_l2",
                                      ",",
                                      "rel_l2,",
                                      "rel_l2,x",
                                      "ratio,ratio",
                                      "elements,ratio",
                                      "rel_l2,ratio,cosine,encode_gbps,decode_gbps"};
    struct gcb_pareto_field fields[GCB_PARETO_FIELDS];
    struct gcb_diag diag;
    size_t count;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memset(&diag, 0, sizeof(diag));
        assert_int_equal(gcb_pareto_parse(fields, &count, bad[i], &diag), GCB_E_INVALID);
        assert_non_null(strstr(diag.text, "--pareto"));
    }
    assert_int_equal(gcb_pareto_parse(fields, &count, "rel_l2,cosine,ratio,wire_bytes", NULL), 0);
    assert_true(count == 4 && !fields[0].more && fields[1].more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_all_pairs),
        cmocka_unit_test(test_equal_ones_are_all_marked),
        cmocka_unit_test(test_totals_know_which_way_is_good),
        cmocka_unit_test(test_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
