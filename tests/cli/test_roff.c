/* Text becomes source of a manual page: nothing in it is a request or an escape, and lines are not too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/docs/roff.h"

/* The output of `write` for `text`, valid until the next call. */
static const char *made(void (*write)(FILE *out, const char *text), const char *text)
{
    static char buffer[8192];
    FILE *out = tmpfile();
    size_t n;

    assert_non_null(out);
    write(out, text);
    rewind(out);
    n = fread(buffer, 1, sizeof(buffer) - 1, out);
    buffer[n] = '\0';
    fclose(out);
    return buffer;
}

static void text_is_escaped(void **state)
{
    (void)state;
    assert_string_equal(made(roff_text, ".so /etc/passwd"), "\\&.so /etc/passwd\n");
    assert_string_equal(made(roff_text, "'br"), "\\(aqbr\n");
    assert_string_equal(made(roff_text, "a \\fB b"), "a \\efB b\n");
    assert_string_equal(made(roff_text, "--theta x-y"), "\\-\\-theta x\\-y\n");
    assert_string_equal(made(roff_text, "say \"^~\""), "say \\(dq\\(ha\\(ti\\(dq\n");
    assert_string_equal(made(roff_text, ""), "");
    assert_string_equal(made(roff_text, "  two   words "), "two words\n");
}

static void backticks_are_bold_in_pairs(void **state)
{
    (void)state;
    assert_string_equal(made(roff_text, "`a b`, c"), "\\fBa b\\fP, c\n");
    assert_string_equal(made(roff_text, "one ` alone"), "one \\(ga alone\n");
    assert_string_equal(made(roff_text, "`a` ` b"), "\\fBa\\fP \\(ga b\n");
}

/* A word that begins a line anywhere in a paragraph. */
static void no_line_begins_a_request(void **state)
{
    char text[4096] = "";
    const char *line;

    (void)state;
    for (int i = 0; i < 300; i++)
        strcat(text, i % 3 ? ".ab 'x " : "word ");
    for (line = made(roff_text, text); *line; line = strchr(line, '\n') + 1) {
        assert_true(*line != '.' && *line != '\'');
        assert_true(strcspn(line, "\n") <= 80);
    }
}

static void examples_keep_their_lines(void **state)
{
    (void)state;
    assert_string_equal(made(roff_literal, "  a -o b\n.c\n"), "  a \\-o b\n\\&.c\n");
    assert_string_equal(made(roff_literal, "no end"), "no end\n");
}

static void calls_show_what_is_to_be_replaced(void **state)
{
    (void)state;
    assert_string_equal(made(roff_synopsis, "plot [options] FILE... -o DIR"),
                        "plot [options] \\fIFILE\\fP... \\fB\\-o\\fP \\fIDIR\\fP\n");
    assert_string_equal(made(roff_synopsis, "x --method A[:b=c]"),
                        "x \\fB\\-\\-method\\fP \\fIA\\fP[:b=c]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(backticks_are_bold_in_pairs),
        cmocka_unit_test(no_line_begins_a_request),
        cmocka_unit_test(examples_keep_their_lines),
        cmocka_unit_test(calls_show_what_is_to_be_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
