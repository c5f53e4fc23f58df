/* Greedy allocation of a budget, compared with all combinations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/search/policy_search.h"
#include "tests/support/test.h"

#define TENSORS 4
#define SETTINGS 6
#define COMBINATIONS 1296 /* SETTINGS to the power of TENSORS */

static struct gcb_allot_option items[TENSORS][SETTINGS], copy[TENSORS][SETTINGS];
static struct gcb_allotment tensors[TENSORS];

static double draw(double most)
{
    return most * (double)rand() / (double)RAND_MAX;
}

/* Random settings; with `convex`, errors that fall on a convex curve of the bytes. */
static void fill(bool convex)
{
    for (size_t t = 0; t < TENSORS; t++) {
        const double scale = 1.0 + draw(100.0);

        for (size_t s = 0; s < SETTINGS; s++) {
            const double bytes = 10.0 + draw(1000.0);

            items[t][s] = (struct gcb_allot_option){
                .bytes = bytes, .error = convex ? scale / bytes : draw(scale), .setting = s};
        }
    }
    memcpy(copy, items, sizeof(copy));
    for (size_t t = 0; t < TENSORS; t++)
        tensors[t] = (struct gcb_allotment){.items = items[t], .count = SETTINGS};
}

static bool meets(const struct gcb_budget_limit *limit, double bytes, double error)
{
    return limit->on_error ? error <= limit->most : bytes <= limit->most;
}

/* The fewest bytes (or the least error) of all combinations that meet the limit; INFINITY: none. */
static double find_optimum(const struct gcb_budget_limit *limit)
{
    double best = INFINITY;

    for (size_t all = 0; all < COMBINATIONS; all++) {
        double bytes = 0.0, error = 0.0;

        for (size_t t = 0, rest = all; t < TENSORS; t++, rest /= SETTINGS) {
            bytes += copy[t][rest % SETTINGS].bytes;
            error += copy[t][rest % SETTINGS].error;
        }
        if (meets(limit, bytes, error))
            best = fmin(best, limit->on_error ? bytes : error);
    }
    return best;
}

/* The most that one step adds in bytes, or takes away in error. */
static double largest_step(bool bytes)
{
    double most = 0.0;

    for (size_t t = 0; t < TENSORS; t++)
        for (size_t s = 1; s < tensors[t].count; s++) {
            const struct gcb_allot_option *a = &items[t][s - 1], *b = &items[t][s];

            most = fmax(most, bytes ? b->bytes - a->bytes : a->error - b->error);
        }
    return most;
}

static void check(bool convex, bool on_error)
{
    double least[2] = {0.0, 0.0}, most[2] = {0.0, 0.0}; /* sums of bytes and of errors */
    struct gcb_budget_limit limit = {.on_error = on_error};
    struct gcb_allot_option sum;
    double optimum, slope, got;

    fill(convex);
    for (size_t t = 0; t < TENSORS; t++) {
        double low[2] = {INFINITY, INFINITY}, high[2] = {0.0, 0.0};

        for (size_t s = 0; s < SETTINGS; s++) {
            low[0] = fmin(low[0], items[t][s].bytes);
            low[1] = fmin(low[1], items[t][s].error);
            high[0] = fmax(high[0], items[t][s].bytes);
            high[1] = fmax(high[1], items[t][s].error);
        }
        for (int i = 0; i < 2; i++) {
            least[i] += low[i];
            most[i] += high[i];
        }
    }
    limit.most = least[on_error] + draw(most[on_error] - least[on_error]);
    optimum = find_optimum(&limit);
    assert_true(gcb_allocate(tensors, TENSORS, &limit, &slope) == (optimum < INFINITY));
    sum = gcb_allocated(tensors, TENSORS);
    got = on_error ? sum.bytes : sum.error;
    assert_true(meets(&limit, sum.bytes, sum.error));
    assert_true(got >= optimum * (1.0 - 1e-12));
    assert_true(got <= optimum + largest_step(on_error) + 1e-9);
    for (size_t t = 0; t < TENSORS; t++) { /* what was chosen is one of the settings */
        const struct gcb_allot_option *o = &items[t][tensors[t].chosen];

        assert_true(copy[t][o->setting].bytes == o->bytes && copy[t][o->setting].error == o->error);
    }
}

static void test_against_all_combinations(void **state)
{
    srand(11);
    for (int i = 0; i < 4000; i++)
        check(i % 2 == 0, i % 4 < 2);
}

/* Equal steps can be added up in any order, so the allocation is the best there is. */
static void test_equal_steps_are_optimal(void **state)
{
    struct gcb_budget_limit limit = {.on_error = false};
    double slope;

    srand(12);
    for (int i = 0; i < 200; i++) {
        for (size_t t = 0; t < TENSORS; t++) {
            double error = 10000.0, step = 1000.0;

            for (size_t s = 0; s < SETTINGS; s++) {
                items[t][s] = (struct gcb_allot_option){.bytes = 100.0 * (double)s, .error = error};
                step *= 0.3 + draw(0.6);
                error -= step;
            }
            tensors[t] = (struct gcb_allotment){.items = items[t], .count = SETTINGS};
        }
        memcpy(copy, items, sizeof(copy));
        limit.most = 100.0 * floor(draw(TENSORS * SETTINGS));
        assert_true(gcb_allocate(tensors, TENSORS, &limit, &slope));
        assert_true(fabs(gcb_allocated(tensors, TENSORS).error / find_optimum(&limit) - 1.0) <
                    1e-12);
    }
}

static void test_budgets_that_cannot_be_met(void **state)
{
    struct gcb_allot_option one[2] = {{.bytes = 10.0, .error = 1.0}, {.bytes = 30.0, .error = 0.5}};
    struct gcb_allotment t = {.items = one, .count = 2};
    double slope;

    assert_false(gcb_allocate(&t, 1, &(struct gcb_budget_limit){false, 9.0}, &slope));
    assert_int_equal(t.chosen, 0);
    assert_false(gcb_allocate(&t, 1, &(struct gcb_budget_limit){true, 0.4}, &slope));
    assert_int_equal(t.chosen, 1);
    assert_true(gcb_allocate(&t, 1, &(struct gcb_budget_limit){true, 0.6}, &slope));
    assert_true(fabs(slope - 40.0) < 1e-9);
    assert_true(gcb_allocate(&t, 1, &(struct gcb_budget_limit){true, 2.0}, &slope));
    assert_true(t.chosen == 0 && slope <= 0.0);
}

RUN_TESTS(cmocka_unit_test(test_against_all_combinations),
          cmocka_unit_test(test_equal_steps_are_optimal),
          cmocka_unit_test(test_budgets_that_cannot_be_met))
