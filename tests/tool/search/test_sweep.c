/* Values of parameters, and the settings of several methods that follow from them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/search/sweep.h"
#include "tests/support/test.h"

/* ---- values ---- */

static const struct gcb_param *row(const char *method, const char *key)
{
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, method, NULL), 0);
    return gcb_param_find(m.codec->params, key);
}

/* The values of --vary for a method, with blanks between them. */
static const char *values(const char *method, const char *text)
{
    static char out[4096];
    struct gcb_value_list v;
    struct gcb_vary vary;

    assert_int_equal(gcb_vary_parse(&vary, text, NULL), 0);
    assert_int_equal(gcb_vary_values(&v, &vary, row(method, vary.key), NULL), 0);
    out[0] = '\0';
    for (size_t i = 0; i < v.count; i++)
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i ? " " : "", v.text[i]);
    gcb_value_list_fini(&v);
    return out;
}

static void test_lists(void **state)
{
    assert_string_equal(values("topk", "theta=0.9,0.99"), "0.9 0.99");
    assert_string_equal(values("topk", "theta=0.9,0.9,0.8"), "0.9 0.8");
    assert_string_equal(values("fft", "index=bitmap,golomb"), "bitmap golomb");
    assert_string_equal(values("fft", "chunk=4K"), "4K");
}

static void test_even_steps(void **state)
{
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
    struct gcb_value_list v;
    struct gcb_vary vary;
    struct gcb_diag diag;

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
        gcb_value_list_fini(&v);
    }
}

/* Keys and values may be of any length. */
static void test_long(void **state)
{
    char text[4000];
    struct gcb_vary vary;
    struct gcb_value_list v;

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
    gcb_value_list_fini(&v);
}

/* ---- combinations ---- */

#define MAX 8

/* The specs of the settings, with blanks between them; or the words of the refusal. */
static const char *expand(const char *const *methods, const char *const *vary)
{
    static char out[8192];
    struct gcb_method list[MAX], *settings;
    struct gcb_diag diag = {0};
    size_t m = 0, v = 0, count;
    char spec[256];

    for (; methods[m]; m++)
        assert_int_equal(gcb_method_parse(&list[m], methods[m], NULL), 0);
    while (vary[v])
        v++;
    if (gcb_sweep_expand(&settings, &count, list, m, false, vary, v, &diag)) {
        assert_null(settings);
        return strcpy(out, diag.text);
    }
    out[0] = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i ? " " : "",
                 gcb_method_spec(spec, sizeof(spec), &settings[i], GCB_SPEC_GIVEN));
    gcb_free(settings);
    return out;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
static const char *const nothing[] = {NULL};

static void test_nothing_varied(void **state)
{
    assert_string_equal(expand(LIST("topk", "qsgd:bits=3"), nothing), "topk qsgd:bits=3");
}

static void test_each_takes_what_it_has(void **state)
{
    assert_string_equal(expand(LIST("topk", "qsgd"), LIST("theta=0.9,0.8")),
                        "topk:theta=0.9 topk:theta=0.8 qsgd");
    assert_string_equal(expand(LIST("fft", "topk", "qsgd"), LIST("density=0.5", "bits=3,4")),
                        "fft:theta=0.5,bits=3 fft:theta=0.5,bits=4 topk:theta=0.5 qsgd:bits=3 "
                        "qsgd:bits=4");
}

static void test_all_combinations(void **state)
{
    assert_string_equal(expand(LIST("fft"), LIST("theta=0.1,0.2", "bits=3,4", "index=u32,golomb")),
                        "fft:theta=0.1,bits=3,index=u32 fft:theta=0.1,bits=3,index=golomb "
                        "fft:theta=0.1,bits=4,index=u32 fft:theta=0.1,bits=4,index=golomb "
                        "fft:theta=0.2,bits=3,index=u32 fft:theta=0.2,bits=3,index=golomb "
                        "fft:theta=0.2,bits=4,index=u32 fft:theta=0.2,bits=4,index=golomb");
}

/* theta has no meaning if a threshold selects: then there is one setting, not two. */
static void test_without_a_meaning(void **state)
{
    assert_string_equal(
        expand(LIST("sparse"), LIST("theta=0.1,0.2", "select=topk,threshold")),
        "sparse:theta=0.1,select=topk sparse:select=threshold sparse:theta=0.2,select=topk");
    assert_string_equal(expand(LIST("sparse"), LIST("theta=0.1,0.10,0.1e0")), "sparse:theta=0.1");
}

/* Settings that a method refuses are listed too if at least one is valid: a run reports why. */
static void test_some_are_refused(void **state)
{
    assert_string_equal(expand(LIST("range"), LIST("bits=4,8", "mantissa=3,6")),
                        "range:bits=4,mantissa=3 range:bits=4,mantissa=6 range:bits=8,mantissa=3 "
                        "range:bits=8,mantissa=6");
    assert_string_equal(expand(LIST("sparse"), LIST("values=range,mean")),
                        "sparse:values=range sparse:values=mean");
}

static void refused(const char *const *methods, const char *const *vary, const char *words)
{
    const char *text = expand(methods, vary);

    if (!strstr(text, words))
        fail_msg("'%s' is not in '%s'", words, text);
}

static void test_refusals(void **state)
{
    refused(LIST("topk"), LIST("bucket=64"), "no method given has this parameter");
    refused(LIST("topk"), LIST("thata=0.5"), "did you mean 'theta'?");
    refused(LIST("topk"), LIST("bits=3"), "or it has no effect with the method's other values");
    refused(LIST("topk"), LIST("theta=0.1", "theta=0.2"), "given twice");
    refused(LIST("topk"), LIST("theta=0.1", "density=0.2"), "given twice");
    refused(LIST("topk:theta=0.5"), LIST("theta=0.1"), "given twice");
    refused(LIST("topk"), LIST("theta=1.5"), "theta must be a number in [0, 1)");
    refused(LIST("fft"), LIST("theta=0..0.9/2000", "bits=2,3,4"), "more than 4096 settings");
    refused(LIST("fft", "topk"), LIST("theta=0..0.9/3000"), "more than 4096 settings");
    refused(LIST("sparse"), LIST("values=mean"), "one mean");
    refused(LIST("range:bits=8"), LIST("mantissa=8,9"), "does not fit");
}

/* A method that has no room for its settings is not left out, even if the user named no methods. */
static void test_too_many_of_all(void **state)
{
    const char *const vary[] = {"theta=0..0.9/3000"};
    struct gcb_method methods[2], *settings;
    struct gcb_diag diag = {0};
    size_t count;

    assert_int_equal(gcb_method_parse(&methods[0], "fft", NULL), 0);
    assert_int_equal(gcb_method_parse(&methods[1], "topk", NULL), 0);
    assert_int_equal(gcb_sweep_expand(&settings, &count, methods, 2, true, vary, 1, &diag),
                     GCB_E_INVALID);
    assert_null(settings);
    assert_non_null(strstr(diag.text, "more than 4096 settings"));
}

/* By default a sweep takes the methods that have parameters, and a preset instead of a codec that
 * is the same. */
static void test_defaults(void **state)
{
    static const char *const taken[] = {"range", "qsgd", "qgz", "topk", "dgc"};
    static const char *const left_out[] = {"identity", "fp16", "sparse"};
    struct gcb_method m;

    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        assert_int_equal(gcb_method_parse(&m, taken[i], NULL), 0);
        assert_true(gcb_sweep_default(&m));
    }
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        assert_int_equal(gcb_method_parse(&m, left_out[i], NULL), 0);
        assert_false(gcb_sweep_default(&m));
    }
}

RUN_TESTS(cmocka_unit_test(test_nothing_varied), cmocka_unit_test(test_each_takes_what_it_has),
          cmocka_unit_test(test_all_combinations), cmocka_unit_test(test_some_are_refused),
          cmocka_unit_test(test_without_a_meaning), cmocka_unit_test(test_refusals),
          cmocka_unit_test(test_too_many_of_all), cmocka_unit_test(test_defaults),
          cmocka_unit_test(test_lists), cmocka_unit_test(test_even_steps),
          cmocka_unit_test(test_hostile), cmocka_unit_test(test_steps_of_the_logarithm),
          cmocka_unit_test(test_long))
