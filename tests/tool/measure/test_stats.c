/* Medians, deviations and intervals of samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/measure/stats.h"
#include "tests/support/test.h"

static struct gcb_stats stats(const double *samples, size_t count)
{
    double scratch[16];
    struct gcb_stats s;

    gcb_stats_of(&s, samples, count, scratch);
    return s;
}

static void test_medians(void **state)
{
    static const struct {
        double v[5];
        size_t count;
        double median, mad, min, max;
    } rows[] = {
        {{5.0, 1.0, 9.0, 2.0, 4.0}, 5, 4.0, 2.0, 1.0, 9.0}, /* deviations 0 1 2 3 5 */
        {{8.0, 1.0, 2.0, 3.0}, 4, 2.5, 1.0, 1.0, 8.0},      /* 0.5 0.5 1.5 5.5 */
        {{1.0, 1.5, 0.5, 1e3, 1.0}, 5, 1.0, 0.5, 0.5, 1e3}, /* an outlier changes neither */
        {{3.0, 7.0}, 2, 5.0, 2.0, 3.0, 7.0},
    };
    struct gcb_stats s;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        s = stats(rows[i].v, rows[i].count);
        assert_true(s.median == rows[i].median && s.mad == rows[i].mad);
        assert_true(s.min == rows[i].min && s.max == rows[i].max);
    }
    s = stats(rows[3].v, 1);
    assert_true(s.median == 3.0 && s.min == 3.0 && s.max == 3.0);
    assert_true(isnan(s.mad)); /* one sample has no spread */
    s = stats(NULL, 0);
    assert_true(isnan(s.median) && isnan(s.min) && isnan(s.max) && isnan(s.mad));
}

/* The rank computed with exact integers: the largest r with 2 (C(n,0) + ... + C(n,r-1)) / 2^n <=
 * 1/20. */
static size_t exact_rank(unsigned n)
{
    uint64_t choose = 1, below = 0;
    unsigned r = 0;

    while (20 * (below + choose) <= UINT64_C(1) << (n - 1)) {
        below += choose;
        choose = choose * (n - r) / (r + 1);
        r++;
    }
    return n < GCB_STATS_LEAST ? 0 : r;
}

/* Ranks for more samples, computed in Python with exact fractions. */
static void test_ranks(void **state)
{
    static const size_t known[][2] = {{99, 40},     {100, 40},    {101, 41},   {500, 228},
                                      {999, 469},   {1000, 469},  {1023, 480}, {1024, 481},
                                      {5000, 2431}, {10000, 4902}};

    for (unsigned n = 1; n <= 55; n++)
        assert_int_equal(gcb_stats_rank(n), exact_rank(n));
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_int_equal(gcb_stats_rank(known[i][0]), known[i][1]);
    assert_int_equal(gcb_stats_rank(0), 0);
    assert_true(gcb_stats_rank(1000000) > 498000 && gcb_stats_rank(1000000) < 500000);
}

static void test_interval(void **state)
{
    double v[16];
    struct gcb_stats s;

    for (size_t i = 0; i < 10; i++)
        v[i] = (double)((i * 7) % 10);
    s = stats(v, 5);
    assert_true(isnan(s.low) && isnan(s.high));
    s = stats(v, 6); /* 0 7 4 1 8 5: the extremes */
    assert_true(s.low == 0.0 && s.high == 8.0);
    s = stats(v, 10); /* the second from either end */
    assert_true(s.low == 1.0 && s.high == 8.0 && s.median == 4.5);
}

/* For at least 95 % of 2000 sets of 15 skewed values the interval contains the true median. */
static void test_coverage(void **state)
{
    uint64_t x = 88172645463325252u;
    unsigned held = 0;

    for (unsigned set = 0; set < 2000; set++) {
        double v[15];
        struct gcb_stats s;

        for (size_t i = 0; i < 15; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            v[i] = -log(((double)(x >> 11) + 0.5) / 9007199254740992.0);
        }
        s = stats(v, 15);
        held += s.low <= log(2.0) && log(2.0) <= s.high;
    }
    assert_true(held >= 1900 && held < 1970); /* 96.5 % is exact for 15 */
}

RUN_TESTS(cmocka_unit_test(test_medians), cmocka_unit_test(test_ranks),
          cmocka_unit_test(test_interval), cmocka_unit_test(test_coverage))
