/* The width of texts on a terminal, and shortening them. */
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/columns.h"
#include "tests/support/test.h"

#define AE "\xc3\xa4"           /* one column */
#define KANJI "\xe6\xbc\xa2"    /* two */
#define ACCENT "\xcc\x81"       /* none: it combines with the letter before */
#define FACE "\xf0\x9f\x98\x80" /* two */

static void test_columns(void **state)
{
    assert_int_equal(gcb_text_columns(""), 0);
    assert_int_equal(gcb_text_columns("layers.12"), 9);
    assert_int_equal(gcb_text_columns(AE "e" ACCENT), 2);
    assert_int_equal(gcb_text_columns(KANJI FACE "x"), 5);
    assert_int_equal(gcb_text_columns("\x80\xff" AE "\xc3"),
                     4); /* invalid bytes, and half a character */
}

static void check_shorten(const char *text, size_t width, const char *want)
{
    char out[64];

    assert_ptr_equal(gcb_text_shorten(out, sizeof(out), text, width), out);
    assert_string_equal(out, want);
    assert_true(gcb_text_columns(out) <= width || width < 2);
}

static void test_shorten(void **state)
{
    check_shorten("layers.12.weight", 16, "layers.12.weight");
    check_shorten("layers.12.weight", 12, "laye..weight");
    check_shorten("layers.12.weight", 2, "..");
    check_shorten(AE AE AE AE AE AE, 5, AE ".." AE AE);
    check_shorten(KANJI KANJI KANJI KANJI, 7, KANJI ".." KANJI);
    check_shorten(KANJI KANJI KANJI KANJI, 6, ".." KANJI KANJI);
}

static void test_break(void **state)
{
    static const char name[] = "sparse:a=1,b=2,cc=33";

    assert_int_equal(gcb_text_break(name, 20, 20), 20);
    assert_int_equal(gcb_text_break(name, 20, 19), 15); /* "sparse:a=1,b=2," */
    assert_int_equal(gcb_text_break(name, 20, 15), 15);
    assert_int_equal(gcb_text_break(name, 20, 14), 11);
    assert_int_equal(gcb_text_break(name, 20, 3), 11); /* a part without a comma is not cut */
    assert_int_equal(gcb_text_break("layers", 6, 3), 6);
    assert_int_equal(gcb_text_break(name, 12, 11), 11); /* only the first 12 bytes count */
    assert_int_equal(gcb_text_break(AE AE "," AE, 7, 3), 5);
    assert_int_equal(gcb_text_break("", 0, 5), 0);
}

RUN_TESTS(cmocka_unit_test(test_columns), cmocka_unit_test(test_shorten),
          cmocka_unit_test(test_break))
