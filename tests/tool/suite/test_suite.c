/* Suites: the shipped ones parse, and errors in a suite are reported with the name of the field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/lib/codec/method.h"
#include "src/tool/suite/suite.h"

#define HEAD "{\"schema\":1,\"name\":\"x\""

static int parse(struct gcb_suite *s, const char *text, struct gcb_diag *diag)
{
    return gcb_suite_parse(s, text, strlen(text), "f.json", diag);
}

static void test_defaults(void **state)
{
    struct gcb_suite s;

    (void)state;
    assert_int_equal(parse(&s, HEAD "}", NULL), 0);
    assert_string_equal(s.name, "x");
    assert_true(s.method_count == 0 && s.input_count == 0 && s.repeat == 0 && s.warmup == 1);
    assert_true(s.scope_count == 1 && s.scopes[0] == GCB_SCOPE_TENSOR);
    assert_true(s.thread_count == 1 && s.threads[0] == 1);
    assert_true(s.device_count == 1 && strcmp(s.devices[0], "cpu") == 0);
    assert_true(s.cache_count == 1 && s.caches[0] == GCB_CACHE_WARM);
    gcb_suite_fini(&s);
}

static void test_everything(void **state)
{
    struct gcb_suite s;

    (void)state;
    assert_int_equal(
        parse(&s,
              HEAD ",\"about\":\"words\",\"methods\":[\"fft:theta=0.9\",\"topk\"],"
                   "\"scopes\":[\"model\",\"tensor\"],\"devices\":[\"cpu\",\"cuda:1\"],"
                   "\"threads\":[2,4],\"caches\":[\"cold\",\"warm\"],\"warmup\":0,"
                   "\"min_time\":0.5,\"max_time\":2,\"precision\":0.1,\"time_budget\":7,"
                   "\"max_samples\":99,\"inputs\":[{\"dist\":\"normal\",\"elements\":[\"4K\",100]},"
                   "{\"dist\":\"student-t:df=4\",\"layout\":\"resnet50\"}]}",
              NULL),
        0);
    assert_true(s.method_count == 2 && strcmp(s.methods[0], "fft:theta=0.9") == 0);
    assert_true(s.scope_count == 2 && s.scopes[0] == GCB_SCOPE_MODEL &&
                s.scopes[1] == GCB_SCOPE_TENSOR);
    assert_true(s.device_count == 2 && strcmp(s.devices[1], "cuda:1") == 0);
    assert_true(s.thread_count == 2 && s.threads[0] == 2 && s.threads[1] == 4);
    assert_true(s.cache_count == 2 && s.caches[0] == GCB_CACHE_COLD);
    assert_true(s.warmup == 0 && s.min_time == 0.5 && s.max_time == 2.0 && s.precision == 0.1);
    assert_true(s.time_budget == 7.0 && s.max_samples == 99);
    assert_true(s.input_count == 1 && s.inputs[0].count == 3);
    assert_string_equal(s.inputs[0].name, "synthetic");
    assert_true(s.tensors[0].elements == 4096 && s.tensors[1].elements == 100);
    assert_true(s.tensors[2].dist.dist == GCB_DIST_STUDENT_T && s.tensors[2].dist.df == 4.0);
    assert_string_equal(s.tensors[2].layout, "resnet50");
    gcb_suite_fini(&s);
}

/* Entries with a name or a file are inputs of their own; neighbours without are one input. */
static void test_inputs(void **state)
{
    struct gcb_suite s;

    (void)state;
    assert_int_equal(parse(&s,
                           HEAD ",\"nearer_than\":\"topk\",\"inputs\":["
                                "{\"dist\":\"normal\",\"elements\":[1,2]},"
                                "{\"dist\":\"laplace\",\"elements\":[3]},"
                                "{\"name\":\"ar\",\"dist\":\"ar:rho=0.9\",\"elements\":[4]},"
                                "{\"file\":\"x/a.h5\"},{\"file\":\"b.h5\",\"name\":\"real\"}]}",
                           NULL),
                     0);
    assert_string_equal(s.nearer_than, "topk");
    assert_int_equal(s.input_count, 4);
    assert_true(s.inputs[0].first == 0 && s.inputs[0].count == 3 && !s.inputs[0].file);
    assert_true(s.inputs[1].first == 3 && s.inputs[1].count == 1 && !s.inputs[1].file);
    assert_string_equal(s.inputs[0].name, "synthetic");
    assert_string_equal(s.inputs[1].name, "ar");
    assert_string_equal(s.inputs[2].name, "a.h5");
    assert_string_equal(s.inputs[2].file, "x/a.h5");
    assert_string_equal(s.inputs[3].name, "real");
    gcb_suite_fini(&s);
}

/* Pairs: a suite with one error, and a part of the message. */
static const char *const wrong[][2] = {
    {"", "line 1"},
    {"[1]", "not a JSON object"},
    {HEAD ",\"name\":\"y\"}", "duplicate"},
    {"{\"name\":\"x\"}", "schema and name are needed"},
    {"{\"schema\":1}", "schema and name are needed"},
    {"{\"schema\":2,\"name\":\"x\"}", "schema must be 1"},
    {"{\"schema\":1,\"name\":7}", "name must be a short text"},
    {"{\"schema\":1,\"name\":\"\\u001b[2J\"}", "name must be a short text"},
    {HEAD ",\"metods\":[]}", "did you mean 'methods'?"},
    {HEAD ",\"zzzzzzzz\":1}", "unknown field 'zzzzzzzz'"},
    {HEAD ",\"methods\":\"some\"}", "methods must be \"all\" or a list"},
    {HEAD ",\"methods\":[]}", "methods must be \"all\" or a list"},
    {HEAD ",\"methods\":[1]}", "methods must be \"all\" or a list"},
    {HEAD ",\"scopes\":[]}", "scopes must be a list"},
    {HEAD ",\"scopes\":\"model\"}", "scopes must be a list"},
    {HEAD ",\"scopes\":[\"modle\"]}", "'modle' is not one of tensor, bucket, model"},
    {HEAD ",\"scopes\":[\"model\",\"model\"]}", "different"},
    {HEAD ",\"scopes\":[3]}", "scopes must be a list"},
    {HEAD ",\"caches\":[\"both\"]}", "'both' is not one of warm, cold"},
    {HEAD ",\"devices\":[1]}", "devices must be a list"},
    {HEAD ",\"threads\":[0]}", "threads must be a list of numbers from 1"},
    {HEAD ",\"threads\":[1.5]}", "threads must be a list of numbers from 1"},
    {HEAD ",\"threads\":4}", "threads must be a list"},
    {HEAD ",\"repeat\":0}", "repeat must be a number from 1"},
    {HEAD ",\"repeat\":2.5}", "repeat must be a whole number"},
    {HEAD ",\"warmup\":-1}", "warmup must be a number from 0"},
    {HEAD ",\"precision\":0}", "precision must be a number from 1e-06 to 1"},
    {HEAD ",\"precision\":\"2%\"}", "precision must be a number"},
    {HEAD ",\"time_budget\":0}", "time_budget must be a number"},
    {HEAD ",\"repeat\":3,\"precision\":0.1}", "repeat fixes the amount of work"},
    {HEAD ",\"inputs\":{}}", "inputs must be a list"},
    {HEAD ",\"inputs\":[{\"dist\":\"normal\"}]}", "one of elements and layout"},
    {HEAD ",\"inputs\":[{\"dist\":\"normal\",\"elements\":[4],\"layout\":\"gpt2\"}]}",
     "one of elements and layout"},
    {HEAD ",\"inputs\":[{\"dist\":\"normal\",\"elements\":[4],\"more\":1}]}",
     "one of elements and layout"},
    {HEAD ",\"inputs\":[{\"dist\":\"normal\",\"elements\":[\"4X\"]}]}", "an invalid size"},
    {HEAD ",\"inputs\":[{\"dist\":\"normal\",\"elements\":[-4]}]}", "an invalid size"},
    {HEAD ",\"inputs\":[{\"dist\":\"normal\",\"elements\":4}]}", "elements are not a list"},
    {HEAD ",\"inputs\":[{\"dist\":\"normal\",\"elements\":[4],\"file\":\"a.h5\"}]}",
     "either file, or dist"},
    {HEAD ",\"inputs\":[{\"file\":7}]}", "either file, or dist"},
    {HEAD ",\"inputs\":[{\"file\":\"a.h5\",\"layout\":\"gpt2\"}]}", "either file, or dist"},
    {HEAD ",\"inputs\":[{\"file\":\"a.h5\",\"name\":\"\"}]}", "either file, or dist"},
    {HEAD ",\"inputs\":[{\"file\":\"b/a.h5\"},{\"file\":\"a.h5\"}]}", "has a name twice"},
    {HEAD ",\"inputs\":[{\"dist\":\"normal\",\"elements\":[4]},{\"file\":\"a.h5\"},"
          "{\"dist\":\"normal\",\"elements\":[5]}]}",
     "entries without a name must follow each other"},
    {HEAD ",\"nearer_than\":1}", "nearer_than must be a method"},
    {HEAD ",\"inputs\":[{\"dist\":\"cauchy\",\"elements\":[4]}]}", "cauchy"},
};

static void test_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct gcb_diag diag = {0};
        struct gcb_suite s;

        if (parse(&s, wrong[i][0], &diag) != GCB_E_INVALID || !strstr(diag.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], diag.text);
        gcb_suite_fini(&s);
    }
}

/* The shipped suites are found by name, parse, and name existing methods. Their inputs have different names. */
static void test_shipped(void **state)
{
    static const char *const expected[] = {"ci",        "default", "paper-fft", "paper-redsync",
                                           "paper-sbc", "quick"};
    struct gcb_source *source;
    struct gcb_method m;
    struct gcb_suite s;

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(gcb_suite_load(&s, expected[i], NULL), 0);
        assert_string_equal(s.name, expected[i]);
        assert_true(s.input_count > 0);
        for (size_t k = 0; k < s.method_count; k++)
            assert_int_equal(gcb_method_parse(&m, s.methods[k], NULL), 0);
        for (size_t k = 0; k < s.input_count; k++) {
            const struct gcb_suite_input *in = &s.inputs[k];
            char path[GCB_DATA_PATH];

            if (in->file) {
                assert_true(gcb_suite_find(path, &s, in->file));
                continue;
            }
            assert_int_equal(
                gcb_source_open_synthetic(&source, &s.tensors[in->first], in->count, 1, NULL), 0);
            gcb_source_close(source);
        }
        gcb_suite_fini(&s);
    }
    assert_int_equal(gcb_suite_load(&s, "ci", NULL), 0);
    assert_true(s.repeat > 0 && s.time_budget == 0.0); /* each process does the same work */
    gcb_suite_fini(&s);
}

static void test_load(void **state)
{
    char path[] = "/tmp/test_suite.XXXXXX";
    const int fd = mkstemp(path);
    struct gcb_diag diag = {0};
    struct gcb_suite s;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, HEAD "}", strlen(HEAD "}")), (int)strlen(HEAD "}"));
    close(fd);
    assert_int_equal(gcb_suite_load(&s, path, &diag), 0);
    gcb_suite_fini(&s);
    unlink(path);
    assert_int_equal(gcb_suite_load(&s, path, &diag), GCB_E_IO);
    gcb_suite_fini(&s);
    assert_int_equal(gcb_suite_load(&s, "qiuck", &diag), GCB_E_INVALID);
    assert_non_null(strstr(diag.text, "did you mean 'quick'?"));
    gcb_suite_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs),     cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_everything), cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_shipped),    cmocka_unit_test(test_load),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
