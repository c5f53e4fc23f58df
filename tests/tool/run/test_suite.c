/* Suites: the shipped ones parse, and errors in a suite are reported with the name of the field.
 * The values of options are tested in tests/cli/test_suite_options.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tool/run/suite.h"
#include "tests/support/test.h"

#define HEAD "{\"schema\":1,\"name\":\"x\""

static int parse(struct gcb_suite *s, const char *text, struct gcb_diag *diag)
{
    return gcb_suite_parse(s, text, strlen(text), "f.json", diag);
}

static void test_defaults(void **state)
{
    struct gcb_suite s;

    assert_int_equal(parse(&s, HEAD "}", NULL), 0);
    assert_string_equal(s.name, "x");
    assert_true(s.pair_count == 0 && s.input_count == 0);
    gcb_suite_fini(&s);
}

static void test_everything(void **state)
{
    static const char *const pairs[] = {
        "methods", "fft:theta=0.9", "methods", "topk",     "threads", "2",        "threads",
        "4",       "repeat",        "3",       "min_time", "0.5",     "max_time", "2s"};
    struct gcb_suite s;

    assert_int_equal(parse(&s,
                           HEAD
                           ",\"about\":\"words\",\"methods\":[\"fft:theta=0.9\",\"topk\"],"
                           "\"threads\":[2,4],\"repeat\":3,\"min_time\":0.5,\"max_time\":\"2s\","
                           "\"inputs\":[{\"dist\":\"normal\",\"elements\":[\"4K\",100]},"
                           "{\"dist\":\"student-t:df=4\",\"layout\":\"resnet50\"}]}",
                           NULL),
                     0);
    assert_int_equal(2 * s.pair_count, sizeof(pairs) / sizeof(pairs[0]));
    for (size_t i = 0; i < 2 * s.pair_count; i++)
        assert_string_equal(s.pairs[i], pairs[i]);
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

    assert_int_equal(parse(&s,
                           HEAD ",\"inputs\":["
                                "{\"dist\":\"normal\",\"elements\":[1,2]},"
                                "{\"dist\":\"laplace\",\"elements\":[3]},"
                                "{\"name\":\"ar\",\"dist\":\"ar:rho=0.9\",\"elements\":[4]},"
                                "{\"file\":\"x/a.h5\"},{\"file\":\"b.h5\",\"name\":\"real\"}]}",
                           NULL),
                     0);
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
    {HEAD ",\"scopes\":[]}", "scopes must not be empty"},
    {HEAD ",\"scopes\":[[1]]}", "scopes must be a text, a number, or a list"},
    {HEAD ",\"repeat\":null}", "repeat must be a text, a number, or a list"},
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
    {HEAD ",\"inputs\":[{\"file\":\"a-dump-whose-name-is-longer-than-39-bytes.h5\"}]}",
     "1 to 39 bytes"},
    {"{\"schema\":1,\"name\":\"\"}", "1 to 39 bytes"},
    {HEAD ",\"inputs\":[{\"file\":\"a.h5\",\"layout\":\"gpt2\"}]}", "either file, or dist"},
    {HEAD ",\"inputs\":[{\"file\":\"a.h5\",\"name\":\"\"}]}", "either file, or dist"},
    {HEAD ",\"inputs\":[{\"file\":\"b/a.h5\"},{\"file\":\"a.h5\"}]}", "has a name twice"},
    {HEAD ",\"inputs\":[{\"dist\":\"normal\",\"elements\":[4]},{\"file\":\"a.h5\"},"
          "{\"dist\":\"normal\",\"elements\":[5]}]}",
     "entries without a name must follow each other"},
    {HEAD ",\"inputs\":[{\"dist\":\"cauchy\",\"elements\":[4]}]}", "cauchy"},
};

static void test_wrong(void **state)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct gcb_diag diag = {0};
        struct gcb_suite s;

        if (parse(&s, wrong[i][0], &diag) != GCB_E_INVALID || !strstr(diag.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], diag.text);
        gcb_suite_fini(&s);
    }
}

/* The shipped suites are found by name, and parse. Their inputs have different names. */
static void test_shipped(void **state)
{
    static const char *const expected[] = {"ci",        "default", "paper-fft", "paper-redsync",
                                           "paper-sbc", "quick"};
    struct gcb_source *source;
    struct gcb_suite s;

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(gcb_suite_load(&s, expected[i], NULL), 0);
        assert_string_equal(s.name, expected[i]);
        assert_true(s.input_count > 0);
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
}

static void test_load(void **state)
{
    char path[] = "/tmp/test_suite.XXXXXX";
    const int fd = mkstemp(path);
    struct gcb_diag diag = {0};
    struct gcb_suite s;

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

RUN_TESTS(cmocka_unit_test(test_inputs), cmocka_unit_test(test_defaults),
          cmocka_unit_test(test_everything), cmocka_unit_test(test_wrong),
          cmocka_unit_test(test_shipped), cmocka_unit_test(test_load))
