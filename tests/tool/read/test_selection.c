/* Selectors of steps and workers, and globs on tensor paths. */
#include <string.h>

#include "src/tool/read/source_private.h"
#include "tests/support/test.h"

/* Expects that exactly those of 0..15 are accepted whose bits are set in `want`. */
static void check_accepts(const char *text, unsigned want)
{
    struct gcb_numbers s;
    unsigned got = 0;

    assert_int_equal(gcb_numbers_parse(&s, text, "--step", true, NULL), 0);
    for (unsigned n = 0; n < 16; n++)
        got |= (unsigned)gcb_numbers_contain(&s, n) << n;
    gcb_numbers_fini(&s);
    assert_int_equal(got, want);
}

static void test_accepts(void **state)
{
    check_accepts(NULL, 0xffff);
    check_accepts("all", 0xffff);
    check_accepts("0", 1u << 0);
    check_accepts("007", 1u << 7);
    check_accepts("3-5", 7u << 3);
    check_accepts("4-4", 1u << 4);
    check_accepts("1-10/4", 1u << 1 | 1u << 5 | 1u << 9);
    check_accepts("1,2,12", 1u << 1 | 1u << 2 | 1u << 12);
    check_accepts("15,2-3,8-20/3", 1u << 15 | 3u << 2 | 1u << 8 | 1u << 11 | 1u << 14);
    check_accepts("last", 0);
    check_accepts("last,2", 1u << 2);
}

static void test_extremes(void **state)
{
    struct gcb_numbers s;

    assert_int_equal(gcb_numbers_parse(&s, "1-18446744073709551615/2", "--step", false, NULL), 0);
    assert_true(gcb_numbers_contain(&s, UINT64_MAX));
    assert_false(gcb_numbers_contain(&s, UINT64_MAX - 1));
    assert_false(gcb_numbers_contain(&s, 0));
    gcb_numbers_fini(&s);
}

static void test_malformed(void **state)
{
    static const char *const bad[] = {
        "",        ",",
        "1,",      ",1",
        "a",       "-1",
        "1-",      "5-3",
        "1-5/",    "1-5/0",
        "1/2",     " 1",
        "1 ",      "1.5",
        "1--2",    "1-2-3",
        "0x10",    "all,1",
        "LAST",    "last-3",
        "1-5/2/3", "18446744073709551616",
        "1\n",     "+1",
    };
    struct gcb_numbers s;
    struct gcb_diag diag;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        memset(&s, 0xff, sizeof(s));
        assert_int_equal(gcb_numbers_parse(&s, bad[i], "--step", true, &diag), GCB_E_INVALID);
        assert_non_null(strstr(diag.text, "--step"));
        assert_null(strchr(diag.text, '\n'));
        assert_null(s.ranges);
    }
    assert_int_equal(gcb_numbers_parse(&s, "last", "--worker", false, &diag), GCB_E_INVALID);
    assert_null(strstr(diag.text, "last,"));
}

static void test_long_lists(void **state)
{
    char text[4096], digits[200];
    struct gcb_numbers s;
    size_t n = 0;

    for (unsigned i = 0; i < 500; i++) {
        memcpy(text + n, i % 2 ? "77," : "123,", i % 2 ? 3 : 4);
        n += i % 2 ? 3 : 4;
    }
    text[n - 1] = '\0';
    assert_int_equal(gcb_numbers_parse(&s, text, "--step", true, NULL), 0);
    assert_int_equal(s.count, 500);
    gcb_numbers_fini(&s);
    memset(digits, '1', sizeof(digits) - 1);
    digits[sizeof(digits) - 1] = '\0';
    assert_int_equal(gcb_numbers_parse(&s, digits, "--step", true, NULL), GCB_E_INVALID);
}

static void test_missed(void **state)
{
    struct gcb_numbers s;
    uint64_t n = 0;

    assert_int_equal(gcb_numbers_parse(&s, "1,5,8-9", "--step", true, NULL), 0);
    assert_true(gcb_numbers_missed(&s, &n));
    assert_int_equal(n, 1);
    gcb_numbers_meet(&s, 1);
    assert_true(gcb_numbers_missed(&s, &n));
    assert_int_equal(n, 5);
    gcb_numbers_meet(&s, 5);
    assert_false(gcb_numbers_missed(&s, &n)); /* a range may be empty */
    gcb_numbers_fini(&s);
}

static void test_globs(void **state)
{
    const char *include[] = {"layers.*", "head/?"}, *exclude[] = {"*bias"};
    struct gcb_tensor_selection all = {0}, some = {.include = include, .include_count = 2};

    assert_true(gcb_selection_accepts(&all, "anything/at all"));
    assert_true(gcb_selection_accepts(&some, "layers.0/weight"));
    assert_true(gcb_selection_accepts(&some, "head/w"));
    assert_false(gcb_selection_accepts(&some, "stem.weight"));
    assert_true(gcb_selection_accepts(&some, "layers.0/bias"));
    some.exclude = exclude;
    some.exclude_count = 1;
    assert_false(gcb_selection_accepts(&some, "layers.0/bias"));
    assert_true(gcb_selection_accepts(&some, "layers.0/weight"));
}

/* Which groups may have selected tensors below them. */
static void test_reaches(void **state)
{
    static const char *const globs[] = {"a/b*", "[cd]/x", "weight", "e/f"};
    static const struct {
        const char *group;
        unsigned globs; /* a bit for each glob */
    } rows[] = {{"", 15},      {"a", 3}, {"a/b", 3}, {"a/bc", 3}, {"a/c", 2},
                {"weight", 2}, {"w", 2}, {"e", 10},  {"e/f", 2},  {"c", 2}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned g = 0; g < 4; g++) {
            const struct gcb_tensor_selection one = {.include = &globs[g], .include_count = 1};
            const struct gcb_tensor_selection none = {.exclude = &globs[g], .exclude_count = 1};

            assert_int_equal(gcb_selection_reaches(&one, rows[i].group), rows[i].globs >> g & 1);
            assert_true(gcb_selection_reaches(&none, rows[i].group));
        }
}

RUN_TESTS(cmocka_unit_test(test_reaches), cmocka_unit_test(test_accepts),
          cmocka_unit_test(test_extremes), cmocka_unit_test(test_malformed),
          cmocka_unit_test(test_long_lists), cmocka_unit_test(test_missed),
          cmocka_unit_test(test_globs))
