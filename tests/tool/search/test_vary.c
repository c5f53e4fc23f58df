/* Lists and ranges of values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/lib/codec/method.h"
#include "src/tool/search/vary.h"

static const struct gcb_param *row(const char *method, const char *key)
{
    struct gcb_method m;
    bool complement;

    assert_int_equal(gcb_method_parse(&m, method, NULL), 0);
    return gcb_param_find(m.codec->params, key, &complement);
}

/* The values of a --vary for a method, joined by blanks. */
static const char *values(const char *method, const char *text)
{
    static char out[4096];
    struct gcb_values v;
    struct gcb_vary vary;

    assert_int_equal(gcb_vary_parse(&vary, text, NULL), 0);
    assert_int_equal(gcb_vary_values(&v, &vary, row(method, vary.key), NULL), 0);
    out[0] = '\0';
    for (size_t i = 0; i < v.count; i++)
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i ? " " : "", v.text[i]);
    gcb_values_fini(&v);
    return out;
}

static void test_lists(void **state)
{
    (void)state;
    assert_string_equal(values("topk", "theta=0.9,0.99"), "0.9 0.99");
    assert_string_equal(values("topk", "theta=0.9,0.9,0.8"), "0.9 0.8");
    assert_string_equal(values("fft", "index=bitmap,golomb"), "bitmap golomb");
    assert_string_equal(values("fft", "chunk=4K"), "4K");
}

static void test_even_steps(void **state)
{
    (void)state;
    assert_string_equal(values("topk", "theta=0.5..0.9/5"), "0.5 0.6 0.7 0.8 0.9");
    assert_string_equal(values("topk", "theta=0.9..0.5/3"), "0.9 0.7 0.5");
    assert_string_equal(values("topk", "density=0.1..0.3/3"), "0.1 0.2 0.3");
    assert_string_equal(values("topk", "theta=0.5..0.5/1"), "0.5");
    assert_string_equal(values("topk", "theta=0..0.9/2"), "0 0.9");
    assert_string_equal(values("topk", "theta=0..0.1/4"), "0 0.033333 0.066667 0.1");
    assert_string_equal(values("qsgd", "bits=2..8/3"), "2 5 8");
    assert_string_equal(values("qsgd", "bits=2..5/100"), "2 3 4 5");
}

static void test_steps_of_the_logarithm(void **state)
{
    (void)state;
    assert_string_equal(values("topk", "density=0.1..0.001/3log"), "0.1 0.01 0.001");
    assert_string_equal(values("topk", "theta=0.9..0.999/3log"), "0.9 0.99 0.999");
    assert_string_equal(values("topk", "theta=0.999..0.9/3log"), "0.999 0.99 0.9");
    assert_string_equal(values("topk", "p=1..0.01/3log"), "1 0.1 0.01");
    assert_string_equal(values("qsgd", "bucket=64..1024/5log"), "64 128 256 512 1024");
    assert_string_equal(values("sparse", "threshold=1e-4..1e-2/3log"), "1e-4 0.001 1e-2");
    assert_string_equal(values("topk", "theta=0.5..0.999/4log"), "0.5 0.937004 0.992063 0.999");
}

static void test_hostile(void **state)
{
    static const char *const unread[] = {
        "",
        "theta",
        "=1",
        "theta=",
        "theta=1..",
        "theta=..",
        "theta=..5/3",
        "theta=1../3",
        "theta=0..1/",
        "theta=0..1/3.5",
        "theta=0..1/-3",
        "theta=0..1/0",
        "theta=0..1/3lo",
        "theta=0..1/3loglog",
        "theta=0..1/1000000000",
        "theta=0..1/99999999999999999999999999",
        "theta=0/1..2",
    };
    static const char *const unfit[] = {
        "theta=0.1,,0.2",   "theta=,",           "theta=0.1,",          "theta=inf..0.5/3",
        "theta=nan..0.5/3", "theta=0..1/3",      "theta=0..2/3",        "theta=-1..0.5/3",
        "theta=0.1..0.5/1", "density=0..1/3log", "index=u32..golomb/2", "bits=1..99/3",
        "bits=2..4.5/3",
    };
    struct gcb_values v;
    struct gcb_vary vary;
    struct gcb_diag diag;

    (void)state;
    for (size_t i = 0; i < sizeof(unread) / sizeof(unread[0]); i++) {
        memset(&diag, 0, sizeof(diag));
        assert_int_equal(gcb_vary_parse(&vary, unread[i], &diag), GCB_E_INVALID);
        assert_non_null(strstr(diag.text, "--vary"));
    }
    for (size_t i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++) {
        memset(&diag, 0, sizeof(diag));
        assert_int_equal(gcb_vary_parse(&vary, unfit[i], &diag), 0);
        assert_int_equal(gcb_vary_values(&v, &vary, row("fft", vary.key), &diag), GCB_E_INVALID);
        assert_true(diag.text[0]);
        gcb_values_fini(&v);
    }
}

/* A key or value of any length. */
static void test_long(void **state)
{
    char text[4000];
    struct gcb_vary vary;
    struct gcb_values v;

    (void)state;
    for (size_t n = 1; n < sizeof(text); n *= 3) {
        memset(text, 'x', sizeof(text));
        snprintf(text + n, sizeof(text) - n, "=1");
        assert_int_equal(gcb_vary_parse(&vary, text, NULL), n < 64 ? 0 : GCB_E_INVALID);
    }
    memset(text, '9', sizeof(text));
    memcpy(text, "theta=", 6);
    text[3000] = '\0';
    assert_int_equal(gcb_vary_parse(&vary, text, NULL), 0);
    assert_int_equal(gcb_vary_values(&v, &vary, row("fft", "theta"), NULL), GCB_E_INVALID);
    gcb_values_fini(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),   cmocka_unit_test(test_even_steps),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_steps_of_the_logarithm),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
