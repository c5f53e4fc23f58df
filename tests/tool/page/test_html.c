/* HTML shows text and never reads it as markup; images stay inside of their attribute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/tool/page/html.h"

/* The output of `write` for `text`, valid until the next call. */
static const char *made(void (*write)(FILE *out, const char *text), const char *text)
{
    static char buffer[4096];
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

static void markup_is_text(void **state)
{
    (void)state;
    assert_string_equal(made(gcb_html_text, "<script>alert('x')</script>"),
                        "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
    assert_string_equal(made(gcb_html_text, "a&amp;\"b\""), "a&amp;amp;&quot;b&quot;");
    assert_string_equal(made(gcb_html_text, ""), "");
    assert_string_equal(made(gcb_html_text, NULL), "");
}

static void what_is_invisible_is_spelled_out(void **state)
{
    (void)state;
    assert_string_equal(made(gcb_html_text, "a\x1b[2Jb\n\x7f"), "a\\x1b[2Jb\\x0a\\x7f");
    assert_string_equal(made(gcb_html_text, "\xe2\x80\xae|\xc2\x9b|\xff"),
                        "\\xe2\\x80\\xae|\\xc2\\x9b|\\xff");
    assert_string_equal(made(gcb_html_text, "layers.0\\x1b"), "layers.0\\x1b"); /* escaped before */
    assert_string_equal(made(gcb_html_text, "\xce\xb8 = 0.85"), "\xce\xb8 = 0.85");
}

static void long_names_may_break(void **state)
{
    char name[600];

    (void)state;
    assert_string_equal(made(gcb_html_name, "fft:theta=0.8,bits=<4>"),
                        "fft:<wbr>theta=0.8,<wbr>bits=&lt;4&gt;");
    assert_string_equal(made(gcb_html_name, "plain"), "plain");
    assert_string_equal(made(gcb_html_name, "end,"), "end,");
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_string_equal(made(gcb_html_name, name), name);
}

static void write_image(FILE *out, const char *image)
{
    gcb_html_image(out, "image/svg+xml", image, strlen(image), "a \"b\" <c>");
}

#define IMAGE(base64) \
    "<img alt=\"a &quot;b&quot; &lt;c&gt;\" src=\"data:image/svg+xml;base64," base64 "\">"

static void images_are_base64(void **state)
{
    (void)state;
    assert_string_equal(made(write_image, ""), IMAGE(""));
    assert_string_equal(made(write_image, "M"), IMAGE("TQ=="));
    assert_string_equal(made(write_image, "Ma"), IMAGE("TWE="));
    assert_string_equal(made(write_image, "Man"), IMAGE("TWFu"));
    assert_string_equal(made(write_image, "\xff\xfe\xfb\x7f"), IMAGE("//77fw=="));
}

/* Whatever the image is, only digits of base64 stand between the quotes. */
static void images_cannot_break_out(void **state)
{
    const char *page =
        made(write_image, "<svg>\"'><script>alert(1)</script>\\\n&quot;</svg>\xff-->]]>");
    const char *data = strstr(page, ";base64,");

    (void)state;
    assert_non_null(data);
    data += strlen(";base64,");
    data += strspn(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    data += strspn(data, "=");
    assert_string_equal(data, "\">");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_is_text),
        cmocka_unit_test(what_is_invisible_is_spelled_out),
        cmocka_unit_test(long_names_may_break),
        cmocka_unit_test(images_are_base64),
        cmocka_unit_test(images_cannot_break_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
