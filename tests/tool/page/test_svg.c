/* Drawings in a page: what gnuplot writes passes, renamed; whatever could load, link or run is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/tool/page/svg.h"

static char buffer[8192];

static int inlined(const char *svg)
{
    struct gcb_diag diag = {.status = 0};
    FILE *out = tmpfile();
    size_t n;
    int err;

    assert_non_null(out);
    err = gcb_svg_inline(out, svg, "p1-", "a <title>", &diag);
    rewind(out);
    n = fread(buffer, 1, sizeof(buffer) - 1, out);
    buffer[n] = '\0';
    fclose(out);
    assert_int_equal(err, diag.status);
    assert_true(!err || diag.text[0]);
    return err;
}

static void drawings_pass(void **state)
{
    (void)state;
    assert_int_equal(
        inlined("<svg width='9' xmlns=\"http://www.w3.org/2000/svg\">\n<!-- x --><title>no</title>"
                "<g id='a' fill=\"none\"><path id=\"b\" d='M0,0 L1,1' stroke-width='2'/>"
                "<use xlink:href='#b' transform='rotate(45)'/></g>"
                "<text>1 &lt; 2</text></svg>\n"),
        0);
    assert_string_equal(
        buffer, "<svg role=\"img\" aria-label=\"a &lt;title&gt;\" width=\"9\">\n"
                "<g id=\"p1-a\" fill=\"none\"><path id=\"p1-b\" d=\"M0,0 L1,1\" stroke-width=\"2\">"
                "</path><use xlink:href=\"#p1-b\" transform=\"rotate(45)\"></use></g>"
                "<text>1 &lt; 2</text></svg>");
}

static void references_get_the_prefix(void **state)
{
    (void)state;
    assert_int_equal(inlined("<svg><rect fill='url(#pat)' stroke='rgb( 1, 2, 3)'/></svg>"), 0);
    assert_non_null(strstr(buffer, "fill=\"url(#p1-pat)\""));
    assert_int_equal(inlined("<svg><image xlink:href='data:image/png;base64,iVBORw0KGgo='/></svg>"),
                     0);
    assert_non_null(strstr(buffer, "\"data:image/png;base64,iVBORw0KGgo=\""));
}

static void anything_else_is_refused(void **state)
{
    static const char *const bad[] = {
        "<svg><script>alert(1)</script></svg>",
        "<svg onload='alert(1)'></svg>",
        "<svg><g onclick=\"x()\"/></svg>",
        "<svg><a xlink:href='http://a.example/'><text>x</text></a></svg>",
        "<svg><use xlink:href='http://a.example/x.svg#a'/></svg>",
        "<svg><use href='x.svg'/></svg>",
        "<svg><use xlink:href='javascript:x()'/></svg>",
        "<svg><image xlink:href='http://a.example/x.png'/></svg>",
        "<svg><image xlink:href='data:text/html,x'/></svg>",
        "<svg><image xlink:href='data:image/png;base64,x\"y'/></svg>",
        "<svg><image xlink:href='data:image/svg+xml;base64,AA=='/></svg>",
        "<svg><rect fill='url(http://a.example/x)'/></svg>",
        "<svg><rect fill=' url(x)'/></svg>",
        "<svg><rect style='background:url(x)'/></svg>",
        "<svg><style>@import 'x'</style></svg>",
        "<svg><foreignObject><p>x</p></foreignObject></svg>",
        "<svg><set attributeName='href' to='x'/></svg>",
        "<svg><text>a</svg>",
        "<svg></g></svg>",
        "<svg><g></svg></g>",
        "<svg></svg><p>",
        "<svg></svg>behind",
        "before<svg></svg>",
        "<g></g>",
        "<svg><g id=a/></svg>",
        "<svg><g id='a/></svg>",
        "<svg><g id='<'/></svg>",
        "<svg><g id/></svg>",
        "<svg><!-- ",
        "<svg><![CDATA[<x>]]></svg>",
        "<svg><?x?></svg>",
        "<svg",
        "<svg>",
        "<",
        "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (inlined(bad[i]) != GCB_E_CORRUPT)
            fail_msg("passes: %s", bad[i]);
}

static void depth_has_an_end(void **state)
{
    char deep[4096] = "<svg>";

    (void)state;
    for (int i = 0; i < 100; i++)
        strcat(deep, "<g>");
    assert_int_equal(inlined(deep), GCB_E_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawings_pass),
        cmocka_unit_test(references_get_the_prefix),
        cmocka_unit_test(anything_else_is_refused),
        cmocka_unit_test(depth_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
