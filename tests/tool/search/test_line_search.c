/* The line search finds the edge of a monotonic figure, and reports figures that are not
 * monotonic. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/search/match.h"
#include "tests/support/test.h"

#define LINE 630001

typedef double figure(uint64_t at, uint64_t count);

static double share(uint64_t at, uint64_t count)
{
    return count > 1 ? (double)at / (double)(count - 1) : 0.0;
}

/* errors: fall from 1 to 0 */
static double straight(uint64_t at, uint64_t count)
{
    return 1.0 - share(at, count);
}

static double curved(uint64_t at, uint64_t count)
{
    return exp(-9.0 * share(at, count));
}

/* five plateaus: 1.0 0.8 0.6 0.4 0.2 */
static double plateaus(uint64_t at, uint64_t count)
{
    return 1.0 - floor(4.999 * share(at, count)) / 5.0;
}

static double flat(uint64_t at, uint64_t count)
{
    return 0.5;
}

/* down to 0.3 at 0.7 of the line, and up again */
static double valley(uint64_t at, uint64_t count)
{
    return 0.3 + fabs(share(at, count) - 0.7);
}

static double mostly_nan(uint64_t at, uint64_t count)
{
    return share(at, count) < 0.9 ? (double)NAN : 0.1;
}

static const struct gcb_match_goal error = {
    .field = GCB_FIELD_REL_L2, .at_most = true, .rises = false};
static const struct gcb_match_goal cosine = {
    .field = GCB_FIELD_COSINE, .at_most = false, .rises = true};
static const struct gcb_match_goal ratio = {
    .field = GCB_FIELD_RATIO, .at_most = false, .rises = false};
static const struct gcb_match_goal bits = {
    .field = GCB_FIELD_BITS_PER_ELEMENT, .at_most = true, .rises = true};

static struct gcb_line_search last;

static uint64_t start = UINT64_MAX; /* where searches start; UINT64_MAX: with the grid */

/* Runs a search. No position is asked for twice, and all are on the line. */
static struct gcb_line_found search(const struct gcb_match_goal *kind, double target, figure *f,
                                    uint64_t count)
{
    struct gcb_match_goal goal = *kind;
    uint64_t position[GCB_LINE_ASKS];
    struct gcb_line_found found;
    size_t n;

    goal.target = target;
    gcb_line_search_init(&last, &goal, count);
    if (start != UINT64_MAX)
        gcb_line_search_start(&last, start);
    while ((n = gcb_line_search_ask(&last, position)) > 0)
        for (size_t i = 0; i < n; i++) {
            assert_true(position[i] < count);
            gcb_line_search_tell(&last, position[i],
                                 (struct gcb_line_point){.value = f(position[i], count),
                                                         .error = f(position[i], count)});
        }
    assert_true(last.seen_count <= GCB_LINE_SEEN);
    for (size_t i = 1; i < last.seen_count; i++)
        assert_true(last.seen[i - 1].at < last.seen[i].at);
    gcb_line_search_result(&found, &last);
    return found;
}

/* Finds the lowest position that meets the target by trying all. */
static uint64_t first(double target, figure *f, uint64_t count)
{
    uint64_t at = 0;

    while (at < count && !(f(at, count) <= target))
        at++;
    return at;
}

static void test_short_lines_are_exact(void **state)
{
    for (uint64_t count = 1; count <= 40; count++)
        for (double target = 0.05; target < 1.0; target += 0.1) {
            const struct gcb_line_found found = search(&error, target, straight, count);
            const uint64_t want = first(target, straight, count);

            assert_int_equal(found.reached, want < count);
            if (found.reached)
                assert_int_equal(found.position, want);
            if (found.reached && want > 0)
                assert_true(found.beyond > target && found.beyond <= straight(0, count));
            else
                assert_true(isnan(found.beyond));
            assert_true(found.monotonic);
        }
}

static void test_long_lines_are_near(void **state)
{
    static figure *const figures[] = {straight, curved};

    for (size_t i = 0; i < 2; i++)
        for (double target = 0.01; target < 1.0; target += 0.09) {
            const struct gcb_line_found found = search(&error, target, figures[i], LINE);

            assert_true(found.reached && found.monotonic);
            assert_true(found.value <= target && found.value >= target * (1 - GCB_LINE_NEAR));
            assert_in_range(last.seen_count, 8, 30);
        }
}

static void test_a_plateau_is_entered_at_its_edge(void **state)
{
    for (double target = 0.25; target < 1.0; target += 0.1) {
        const struct gcb_line_found found = search(&error, target, plateaus, LINE);

        assert_true(found.reached && found.monotonic);
        assert_int_equal(found.position, first(target, plateaus, LINE));
    }
}

/* Each kind of figure has its edge on the right side. */
static double rising(uint64_t at, uint64_t count)
{
    return share(at, count);
}

static void test_sides(void **state)
{
    struct gcb_line_found found;

    found = search(&cosine, 0.335, rising, 101);
    assert_int_equal(found.position, 34);
    found = search(&bits, 0.335, rising, 101);
    assert_int_equal(found.position, 33);
    found = search(&ratio, 0.335, straight, 101);
    assert_int_equal(found.position, 66);
    found = search(&error, 0.335, straight, 101);
    assert_int_equal(found.position, 67);
}

static void test_ends(void **state)
{
    struct gcb_line_found found = search(&error, 2.0, straight, LINE);

    assert_true(found.reached && found.position == 0);
    found = search(&error, 0.4, flat, LINE);
    assert_true(!found.reached && found.monotonic && found.value == 0.5);
    found = search(&error, 0.6, flat, LINE);
    assert_true(found.reached && found.position == 0);
    found = search(&error, 0.5, flat, 1);
    assert_true(found.reached && found.position == 0 && last.seen_count == 1);
    found = search(&cosine, 2.0, rising, LINE);
    assert_true(!found.reached && found.position == LINE - 1);
}

/* A figure with a minimum is reported as not monotonic. The search finds the near edge if the
 * target can be met, else the minimum. */
static void test_valley(void **state)
{
    struct gcb_line_found found = search(&error, 0.5, valley, LINE);

    assert_true(found.reached && !found.monotonic);
    assert_true(fabs(share(found.position, LINE) - 0.5) < 1e-3);
    found = search(&error, 0.1, valley, LINE);
    assert_true(!found.reached && !found.monotonic);
    assert_true(found.value < 0.3 + 1e-3);
    found = search(&error, 0.301, valley, LINE);
    assert_true(found.reached && found.value <= 0.301);
}

static void test_what_is_no_number_meets_nothing(void **state)
{
    struct gcb_line_found found = search(&error, 0.2, mostly_nan, LINE);

    assert_true(found.reached && found.value == 0.1);
    assert_int_equal(found.position, first(0.2, mostly_nan, LINE));
    found = search(&error, 0.05, mostly_nan, LINE);
    assert_true(!found.reached && found.value == 0.1);
}

/* Squared errors and sizes are sums over messages, and so is the inverse of a ratio; more meets
 * fewer targets. */
static void test_sums(void **state)
{
    static const struct {
        const char *text;
        double value, sum;
    } rows[] = {{"rel_l2=0.4", 0.5, 0.25},
                {"ratio=10", 8.0, 0.125},
                {"bits=2", 3.0, 3.0},
                {"wire_bytes=100", 200.0, 200.0},
                {"cosine=0.9", 0.75, -0.75}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gcb_match_goal goal;

        assert_int_equal(gcb_match_goal_parse(&goal, "match", rows[i].text, NULL), 0);
        assert_true(gcb_match_sum(&goal, rows[i].value) == rows[i].sum);
        assert_false(gcb_match_meets(&goal, rows[i].value));
        assert_true(gcb_match_sum(&goal, goal.target) < rows[i].sum);
        assert_int_equal(goal.power != 0, goal.field != GCB_FIELD_COSINE);
    }
}

static void test_goals(void **state)
{
    static const char *const bad[] = {"",           "rel_l2",     "rel_l2=",       "rel_l2=x",
                                      "rel_l2=inf", "rel_l2=nan", "rel_l2=0",      "rel_l2=-1",
                                      "ratio=0",    "bits=1e300", "cosine=1.01",   "wire_bytes=1.5",
                                      "theta=1",    "=1",         "wire_bytes=-1", "ratio=2x"};
    struct gcb_match_goal goal;
    struct gcb_diag diag;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memset(&diag, 0, sizeof(diag));
        assert_int_equal(gcb_match_goal_parse(&goal, "match", bad[i], &diag), GCB_E_INVALID);
        assert_non_null(strstr(diag.text, "--match"));
    }
    assert_int_equal(gcb_match_goal_parse(&goal, "match", "bits=2", NULL), 0);
    assert_int_equal(goal.field, GCB_FIELD_BITS_PER_ELEMENT);
    assert_true(goal.target == 2.0 && goal.at_most && goal.rises);
    assert_int_equal(gcb_match_goal_parse(&goal, "match", "wire_bytes=2K", NULL), 0);
    assert_true(goal.target == 2048.0);
    assert_int_equal(gcb_match_goal_parse(&goal, "match", "cosine=-0.5", NULL), 0);
    assert_true(gcb_match_meets(&goal, 0.0) && !gcb_match_meets(&goal, -0.6));
    assert_false(gcb_match_meets(&goal, (double)NAN));
}

/* From any start, a search finds what the search from the grid finds; from a near one with few
 * measurements. */
static void test_starts_anywhere(void **state)
{
    static figure *const figures[] = {straight, curved, plateaus, flat, mostly_nan};

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        for (double target = 0.05; target < 1.2; target += 0.1) {
            const struct gcb_line_found want = search(&error, target, figures[i], LINE);

            for (start = 0; start < LINE; start += LINE / 9) {
                const struct gcb_line_found found = search(&error, target, figures[i], LINE);

                assert_int_equal(found.reached, want.reached);
                if (found.reached)
                    assert_true(fabs(figures[i](found.position, LINE) -
                                     figures[i](want.position, LINE)) <= 2e-3 * target);
            }
            start = UINT64_MAX;
        }
    for (double target = 0.1; target < 0.9; target += 0.01) {
        start = first(target, curved, LINE) * 1003 / 1000;
        assert_true(search(&error, target, curved, LINE).reached);
        assert_in_range(last.seen_count, 1, 6);
    }
    start = UINT64_MAX;
}

RUN_TESTS(cmocka_unit_test(test_starts_anywhere), cmocka_unit_test(test_short_lines_are_exact),
          cmocka_unit_test(test_long_lines_are_near),
          cmocka_unit_test(test_a_plateau_is_entered_at_its_edge), cmocka_unit_test(test_sides),
          cmocka_unit_test(test_ends), cmocka_unit_test(test_valley),
          cmocka_unit_test(test_what_is_no_number_meets_nothing), cmocka_unit_test(test_sums),
          cmocka_unit_test(test_goals))
