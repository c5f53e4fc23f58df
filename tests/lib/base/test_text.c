/* Escaping of names, numbers, sizes, suggestions and globs. */
#include <stdlib.h>
#include <string.h>

#include <locale.h>
#include <math.h>

#include "src/lib/base/text.h"
#include "tests/support/comma.h"
#include "tests/support/test.h"

static void check_escape(const char *in, const char *want)
{
    char out[64];

    assert_ptr_equal(gcb_escape(out, sizeof(out), in), out);
    assert_string_equal(out, want);
}

static void test_escape(void **state)
{
    check_escape("", "");
    check_escape("layer.0/weight [3 x 4]~", "layer.0/weight [3 x 4]~");
    check_escape("\x1b[31m\r\n\x7f\\", "\\x1b[31m\\x0d\\x0a\\x7f\\x5c");
    check_escape("gr\xc3\xb6\xc3\x9f\xe2\x82\xac\xf0\x9f\x98\x80",
                 "gr\xc3\xb6\xc3\x9f\xe2\x82\xac\xf0\x9f\x98\x80");
    check_escape("\xc2\x9b", "\\xc2\\x9b");          /* C1: control sequence introducer */
    check_escape("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* right-to-left override */
    check_escape("\xe2\x80\x8f", "\\xe2\\x80\\x8f"); /* right-to-left mark */
    check_escape("\xe2\x81\xa6", "\\xe2\\x81\\xa6"); /* isolate */
    check_escape("\xef\xbb\xbf", "\\xef\\xbb\\xbf"); /* byte order mark */
    check_escape("\xff"
                 "a\xc3",
                 "\\xffa\\xc3"); /* invalid and cut sequences */
    check_escape("\xc0\xaf\xe0\x80\x80", "\\xc0\\xaf\\xe0\\x80\\x80"); /* overlong */
    check_escape("\xed\xa0\x80\xf4\x90\x80\x80", /* surrogate, beyond U+10FFFF */
                 "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
}

/* For each size the text is terminated, fits, and does not end within an escaped character. */
static void test_escape_cut(void **state)
{
    static const char in[] = "a\x01\xc3\xb6\\d\xe2\x82\xac";
    static const char *const pieces[] = {"a", "\\x01", "\xc3\xb6", "\\x5c", "d", "\xe2\x82\xac"};
    char whole[32] = "";

    for (size_t i = 0; i < 6; i++)
        strcat(whole, pieces[i]);
    for (size_t size = 1; size < 24; size++) {
        char *out = malloc(size); /* exact size, so that a sanitizer sees a write past the end */
        char want[32] = "";

        for (size_t i = 0; i < 6 && strlen(want) + strlen(pieces[i]) + 3 < size; i++)
            strcat(want, pieces[i]);
        strcat(want, "...");
        want[size - 1] = '\0';
        assert_non_null(out);
        gcb_escape(out, size, in);
        assert_string_equal(out, strlen(whole) < size ? whole : want);
        free(out);
    }
    gcb_escape(NULL, 0, in);
}

static void check_real(const char *s, double want)
{
    double v = -1.0;

    assert_true(gcb_parse_real(s, &v));
    assert_true(v == want);
}

static const char *const bad_reals[] = {"",    " 1",    "1 ",  "\v1", "1x", "nan", "inf", "-inf",
                                        "0x1", "1e999", "1,5", "e5",  "-",  ".",   "1e",  "--1"};

static void test_real(void **state)
{
    check_real("0.85", 0.85);
    check_real("-1e-3", -1e-3);
    check_real("+.5", 0.5);
    check_real("1E4", 1e4);
    for (size_t i = 0; i < sizeof(bad_reals) / sizeof(bad_reals[0]); i++) {
        double v = 7.0;

        assert_false(gcb_parse_real(bad_reals[i], &v));
        assert_true(v == 7.0);
    }
}

static void test_u64(void **state)
{
    static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "1.0", "18446744073709551616",
                                      "x"};
    uint64_t v = 0;

    assert_true(gcb_parse_u64("18446744073709551615", &v) && v == UINT64_MAX);
    assert_true(gcb_parse_u64("007", &v) && v == 7);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(gcb_parse_u64(bad[i], &v));
    assert_true(v == 7);
}

static void check_size(const char *s, uint64_t want)
{
    uint64_t v = 1;

    assert_true(gcb_parse_size(s, &v));
    assert_true(v == want);
}

static void test_size(void **state)
{
    static const char *const bad[] = {"",
                                      "K",
                                      "-1K",
                                      "+1K",
                                      "1KiB ",
                                      "1 K",
                                      "1iB",
                                      "1.5",
                                      "B",
                                      "KB",
                                      "1BB",
                                      "0x1K",
                                      "nan",
                                      "16777216T",
                                      "1e30",
                                      "infK",
                                      "1KK",
                                      "17179869184G",
                                      "1.8446744073709552e19"};
    uint64_t v = 5;

    check_size("0", 0);
    check_size("25M", UINT64_C(25) << 20);
    check_size("1.5G", UINT64_C(3) << 29);
    check_size("4k", 4096);
    check_size("2T", UINT64_C(2) << 40);
    check_size("1e6", 1000000);
    check_size("18446744073709551615", UINT64_MAX);
    check_size("9007199254740993K", UINT64_C(9007199254740993)
                                        << 10); /* exact, without conversion to double */
    check_size("1KB", 1000);
    check_size("1.4GB", 1400000000);
    check_size("1.4GiB", UINT64_C(1503238554)); /* 1503238553.6, rounded */
    check_size("1.4G", UINT64_C(1503238554));
    check_size("64kiB", 65536);
    check_size("16777215T", UINT64_C(16777215) << 40);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(gcb_parse_size(bad[i], &v));
        assert_true(v == 5);
    }
}

static void check_suggest(const char *word, const char *want)
{
    static const char *const names[] = {"topk", "fft", NULL, "qsgd", "terngrad", "p", "sbc"};
    const char *got = gcb_suggest(word, names, sizeof(names) / sizeof(names[0]));

    if (want)
        assert_string_equal(got ? got : "(none)", want);
    else
        assert_null(got);
}

static void test_suggest(void **state)
{
    char longest[200];

    check_suggest("tokp", "topk");
    check_suggest("scb", "sbc"); /* a transposition counts once */
    check_suggest("fff", "fft");
    check_suggest("qsg", "qsgd");
    check_suggest("tern-grad", "terngrad");
    check_suggest("zzzz", NULL);
    check_suggest("x", NULL); /* a name of one letter suggests nothing */
    check_suggest("", NULL);
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    check_suggest(longest, NULL);
    for (size_t n = 60; n < 70; n++) {
        const char *const one[] = {longest + sizeof(longest) - 1 - n};
        const char *got = gcb_suggest(longest + sizeof(longest) - n, one, 1);

        assert_true(n < 64 ? got == one[0] : got == NULL);
    }
}

static void test_lists(void **state)
{
    assert_true(gcb_lists("topk", "topk"));
    assert_true(gcb_lists("qsgd, topk, fft", "topk"));
    assert_true(gcb_lists("qsgd, topk", "topk"));
    assert_false(gcb_lists("topk-range, stopk, x topk", "topk"));
    assert_false(gcb_lists("", "topk"));
}

static void test_glob(void **state)
{
    assert_true(gcb_glob("*", ""));
    assert_true(gcb_glob("", ""));
    assert_false(gcb_glob("", "a"));
    assert_false(gcb_glob("a", ""));
    assert_true(gcb_glob("*.weight", "layers/0.weight"));
    assert_false(gcb_glob("*.weight", "layers/0.weight2"));
    assert_true(gcb_glob("a*b*c", "a/x/b/b/c"));
    assert_false(gcb_glob("a*b*c", "a/x/c"));
    assert_true(gcb_glob("?b", "ab"));
    assert_false(gcb_glob("?b", "b"));
    assert_true(gcb_glob("[a-c]x", "bx"));
    assert_false(gcb_glob("[a-c]x", "dx"));
    assert_true(gcb_glob("[!a-c]x", "dx"));
    assert_false(gcb_glob("[^a-c]x", "ax"));
    assert_true(gcb_glob("[]]", "]"));
    assert_true(gcb_glob("[a-]", "-"));
    assert_true(gcb_glob("[\x80-\xff]", "\xc3"));
    assert_true(gcb_glob("[ab", "[ab")); /* an unclosed class is literal */
    assert_false(gcb_glob("[ab", "a"));
    assert_true(gcb_glob("\\*", "*"));
    assert_false(gcb_glob("\\*", "a"));
    assert_true(gcb_glob("\\?\\[\\\\", "?[\\"));
    assert_true(gcb_glob("a\\", "a\\"));
    assert_true(gcb_glob("**a", "ba"));
}

/* A pattern that makes naive matchers take exponential time. */
static void test_glob_is_not_exponential(void **state)
{
    char name[2001], pattern[201];

    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t i = 0; i < sizeof(pattern) - 1; i++)
        pattern[i] = "a*"[i % 2];
    memcpy(pattern + sizeof(pattern) - 3, "*b", 3);
    assert_false(gcb_glob(pattern, name));
}

static void check_text(double v, const char *want)
{
    char out[32];

    assert_ptr_equal(gcb_real_text(out, v), out);
    assert_string_equal(out, want);
}

static void test_real_text(void **state)
{
    check_text(0.8, "0.8");
    check_text(1e-5, "1e-05");
    check_text(0.1 + 0.2, "0.30000000000000004");
    check_text(-0.0, "-0");
    check_text(1.0 / 3.0, "0.3333333333333333");
    check_text(-2.2250738585072014e-308, "-2.2250738585072014e-308");
    check_text((double)INFINITY, "inf");
}

/* In a locale whose decimal sign is a comma. */
static void test_other_locale(void **state)
{
    if (!comma_begin()) {
        print_message("skipped: no locale with a decimal comma is installed, nor made by "
                      "localedef (Debian package: locales)\n");
        skip();
    }
    test_real(state);
    test_real_text(state);
    test_size(state);
    setlocale(LC_ALL, "C");
}

RUN_TESTS(cmocka_unit_test(test_escape), cmocka_unit_test(test_escape_cut),
          cmocka_unit_test(test_real), cmocka_unit_test(test_u64), cmocka_unit_test(test_size),
          cmocka_unit_test(test_suggest), cmocka_unit_test(test_lists), cmocka_unit_test(test_glob),
          cmocka_unit_test(test_glob_is_not_exponential), cmocka_unit_test(test_real_text),
          cmocka_unit_test(test_other_locale))
