/* The Pareto set, compared with the definition. */
#include <math.h>
#include <stdlib.h>

#include "src/tool/search/sweep.h"
#include "tests/support/test.h"

#define N 200

/* The definition, in another order than the library uses. */
static bool unbeaten(const struct gcb_pareto_point *p, size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++) {
        const int better = (p[k].error < p[i].error) + (p[k].bits < p[i].bits);
        const int worse = (p[k].error > p[i].error) + (p[k].bits > p[i].bits);

        if (better > 0 && worse == 0 && !isnan(p[k].error + p[k].bits))
            return false;
    }
    return !isnan(p[i].error + p[i].bits);
}

static double draw(int grain)
{
    return rand() % 50 == 0 ? (double)NAN : (double)(rand() % grain);
}

static void test_against_all_pairs(void **state)
{
    static struct gcb_pareto_point points[N];
    bool mark[N];

    srand(7);
    for (int grain = 4; grain <= 4000; grain *= 10) {
        size_t marked = 0;

        for (size_t i = 0; i < N; i++)
            points[i] = (struct gcb_pareto_point){draw(grain), draw(grain)};
        gcb_pareto_mark(mark, points, N);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(mark[i], unbeaten(points, N, i));
            marked += mark[i];
        }
        assert_in_range(marked, 1, N - 1);
    }
}

static void test_equal_ones_are_all_marked(void **state)
{
    const struct gcb_pareto_point points[] = {{1, 2}, {1, 2}, {2, 1}, {2, 2}, {NAN, 0}};
    bool mark[5];

    gcb_pareto_mark(mark, points, 5);
    assert_true(mark[0] && mark[1] && mark[2] && !mark[3] && !mark[4]);
    gcb_pareto_mark(mark, points, 0);
}

RUN_TESTS(cmocka_unit_test(test_against_all_pairs),
          cmocka_unit_test(test_equal_ones_are_all_marked))
