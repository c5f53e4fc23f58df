/* Settings of several methods from what is varied. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/lib/base/alloc.h"
#include "src/tool/search/sweep.h"

#define MAX 8

/* Specs of the settings, joined by blanks; or the words of the refusal. */
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
    if (gcb_sweep_expand(&settings, &count, list, m, vary, v, &diag)) {
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
    (void)state;
    assert_string_equal(expand(LIST("topk", "qsgd:bits=3"), nothing), "topk qsgd:bits=3");
}

static void test_each_takes_what_it_has(void **state)
{
    (void)state;
    assert_string_equal(expand(LIST("topk", "qsgd"), LIST("theta=0.9,0.8")),
                        "topk:theta=0.9 topk:theta=0.8 qsgd");
    assert_string_equal(expand(LIST("fft", "topk", "qsgd"), LIST("density=0.5", "bits=3,4")),
                        "fft:theta=0.5,bits=3 fft:theta=0.5,bits=4 topk:theta=0.5 qsgd:bits=3 "
                        "qsgd:bits=4");
}

static void test_all_combinations(void **state)
{
    (void)state;
    assert_string_equal(expand(LIST("fft"), LIST("theta=0.1,0.2", "bits=3,4", "index=u32,golomb")),
                        "fft:theta=0.1,bits=3,index=u32 fft:theta=0.1,bits=3,index=golomb "
                        "fft:theta=0.1,bits=4,index=u32 fft:theta=0.1,bits=4,index=golomb "
                        "fft:theta=0.2,bits=3,index=u32 fft:theta=0.2,bits=3,index=golomb "
                        "fft:theta=0.2,bits=4,index=u32 fft:theta=0.2,bits=4,index=golomb");
}

/* theta has no meaning where a threshold selects: one setting, not two. */
static void test_without_a_meaning(void **state)
{
    (void)state;
    assert_string_equal(
        expand(LIST("sparse"), LIST("theta=0.1,0.2", "select=topk,threshold")),
        "sparse:theta=0.1,select=topk sparse:select=threshold sparse:theta=0.2,select=topk");
    assert_string_equal(expand(LIST("sparse"), LIST("theta=0.1,0.10,0.1e0")), "sparse:theta=0.1");
}

/* What a method does not take is a setting like the others, as long as one stands: a run says why. */
static void test_some_do_not_stand(void **state)
{
    (void)state;
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
    (void)state;
    refused(LIST("topk"), LIST("bucket=64"), "no method given has that");
    refused(LIST("topk"), LIST("thata=0.5"), "did you mean 'theta'?");
    refused(LIST("topk"), LIST("bits=3"), "or a use for it");
    refused(LIST("topk"), LIST("theta=0.1", "theta=0.2"), "given twice");
    refused(LIST("topk"), LIST("theta=0.1", "density=0.2"), "given twice");
    refused(LIST("topk:theta=0.5"), LIST("theta=0.1"), "given twice");
    refused(LIST("topk"), LIST("theta=1.5"), "theta must be a number in [0, 1)");
    refused(LIST("fft"), LIST("theta=0..0.9/2000", "bits=2,3,4"), "more than 4096 settings");
    refused(LIST("fft", "topk"), LIST("theta=0..0.9/3000"), "more than 4096 settings");
    refused(LIST("sparse"), LIST("values=mean"), "one mean");
    refused(LIST("range:bits=8"), LIST("mantissa=8,9"), "does not fit");
}

/* By default a sweep takes what has parameters; of a codec with presets, the presets. */
static void test_defaults(void **state)
{
    static const char *const taken[] = {"range", "qsgd", "topk", "dgc"};
    static const char *const left_out[] = {"identity", "fp16", "sparse"};
    struct gcb_method m;

    (void)state;
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        assert_int_equal(gcb_method_parse(&m, taken[i], NULL), 0);
        assert_true(gcb_sweep_default(&m));
    }
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        assert_int_equal(gcb_method_parse(&m, left_out[i], NULL), 0);
        assert_false(gcb_sweep_default(&m));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_varied),    cmocka_unit_test(test_each_takes_what_it_has),
        cmocka_unit_test(test_all_combinations),  cmocka_unit_test(test_some_do_not_stand),
        cmocka_unit_test(test_without_a_meaning), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
