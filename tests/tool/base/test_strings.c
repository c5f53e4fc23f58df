/* Strings in blocks: each is kept as given, and equal texts have one copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/strings.h"
#include "tests/support/test.h"

#define MANY 5000

/* Text number i; some are longer than a block. */
static void make_text(char *out, size_t i)
{
    sprintf(out, "text %zu", i);
    if (i % 1000 == 999) {
        memset(out, 'x', 70000);
        sprintf(out + 70000, "%zu", i);
    }
}

static void test_keep(void **state)
{
    static char text[70100];
    static const char *kept[MANY];
    struct gcb_strings s = {.count = 0};

    for (size_t i = 0; i < MANY; i++) {
        make_text(text, i);
        kept[i] = gcb_strings_keep(&s, text);
        assert_non_null(kept[i]);
        assert_ptr_not_equal(gcb_strings_add(&s, text, 4), kept[i]);
    }
    for (size_t i = 0; i < MANY; i++) {
        make_text(text, i);
        assert_string_equal(kept[i], text);
        assert_ptr_equal(gcb_strings_keep(&s, text), kept[i]);
    }
    assert_string_equal(gcb_strings_add(&s, "abc", 2), "ab");
    assert_string_equal(gcb_strings_keep(&s, ""), "");
    gcb_strings_fini(&s);
    gcb_strings_fini(&s);
}

RUN_TESTS(cmocka_unit_test(test_keep))
