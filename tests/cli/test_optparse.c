/* Options: every way to write one, every way to write one wrongly, and methods with overrides. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/options.h"
#include "cli/base/optparse.h"
#include "src/lib/base/alloc.h"
#include "tests/support/test.h"

struct values {
    bool flag;
    int level, n, pick;
    const char *text;
    struct opt_list list;
    uint64_t size, u64;
    double real;
    struct opt_methods methods;
};

static const char *const picks[] = {"one", "two", NULL};
/* clang-format off */
static const struct opt_row rows[] = {
    {.name = "flag", .letter = 'f', .type = OPT_FLAG, .offset = offsetof(struct values, flag),
     .help = "a flag"},
    {.name = "level", .letter = 'v', .type = OPT_COUNT, .offset = offsetof(struct values, level),
     .help = "counted"},
    {.name = "text", .letter = 't', .metavar = "TEXT", .type = OPT_TEXT,
     .offset = offsetof(struct values, text),
     .help = "text"},
    {.name = "list", .letter = 'l', .metavar = "ITEM", .type = OPT_LIST,
     .offset = offsetof(struct values, list),
     .help = "repeatable"},
    {.name = "number", .type = OPT_INT, .offset = offsetof(struct values, n), .min = 1, .max = 9,
     .help = "an int"},
    {.name = "u64", .type = OPT_U64, .offset = offsetof(struct values, u64),
     .help = "a count"},
    {.name = "size", .type = OPT_SIZE, .offset = offsetof(struct values, size),
     .help = "a size"},
    {.name = "real", .metavar = "X", .type = OPT_REAL, .offset = offsetof(struct values, real),
     .max = 2,
     .help = "a real"},
    {.name = "pick", .metavar = "WHICH", .type = OPT_CHOICE,
     .offset = offsetof(struct values, pick), .choices = picks,
     .help = "a choice"},
    {.name = NULL},
};
/* clang-format on */
static const struct opt_group groups[] = {
    {.title = "Test", .rows = rows},
    OPT_GROUP("Methods", opt_methods_rows, struct values, methods),
    {.rows = NULL},
};
static const struct opt_spec spec = {
    groups, {opt_methods_key_at, offsetof(struct values, methods.overrides)}};

/* Parses words that end with NULL. Strings borrowed from argv stay valid until the next call. */
static int parse(struct values *v, struct opt_result *result, struct gcb_diag *diag,
                 const char *const *words)
{
    static char text[32][128];
    char *argv[32];
    int n = 0;

    for (; words[n]; n++) {
        snprintf(text[n], sizeof(text[n]), "%s", words[n]);
        argv[n] = text[n];
    }
    memset(v, 0, sizeof(*v));
    memset(diag, 0, sizeof(*diag));
    return opt_parse(result, &spec, v, n, argv, diag);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_forms(void **state)
{
    struct opt_result r;
    struct gcb_diag diag;
    struct values v;

    assert_int_equal(
        parse(&v, &r, &diag,
              WORDS("in", "--text=a=b", "-fvv", "--list", "x", "-ly", "-l", "-z", "--number", "9",
                    "--size=1.5K", "--u64", "18446744073709551615", "--real", "-0", "--pick", "two",
                    "--level", "-", "--", "--flag", "-v")),
        0);
    assert_true(v.flag);
    assert_int_equal(v.level, 3);
    assert_string_equal(v.text, "a=b");
    assert_int_equal(v.list.count, 3);
    assert_string_equal(v.list.items[1], "y");
    assert_string_equal(v.list.items[2], "-z");
    assert_int_equal(v.n, 9);
    assert_int_equal(v.size, 1536);
    assert_true(v.u64 == UINT64_MAX);
    assert_int_equal(v.pick, 1);
    assert_int_equal(r.operands.count, 4);
    assert_string_equal(r.operands.items[1], "-");
    assert_string_equal(r.operands.items[2], "--flag");
    opt_fini(&r, &spec, &v);
    assert_int_equal(v.list.count, 0);
}

static void test_help_ends_reading(void **state)
{
    static const char *const asked[] = {"--help", "-h"};
    struct opt_result r;
    struct gcb_diag diag;
    struct values v;

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(parse(&v, &r, &diag, WORDS("--flag", asked[i], "--bogus")), 0);
        assert_true(r.help);
        opt_fini(&r, &spec, &v);
    }
    assert_int_equal(parse(&v, &r, &diag, WORDS("--", "--help")), 0);
    assert_false(r.help);
    opt_fini(&r, &spec, &v);
}

static void test_wrong(void **state)
{
    static const struct {
        const char *words[4];
        const char *says;
    } cases[] = {
        {{"--txet", "x"}, "unknown option '--txet'; did you mean '--text'?"},
        {{"--tex", "x"}, "unknown option '--tex'; did you mean '--text'?"},
        {{"--\033"}, "unknown option '--\\x1b'"},
        {{"--"
          "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
          "q"},
         "unknown option '--qqq"},
        {{"-x"}, "unknown option '-x'"},
        {{"-fx"}, "unknown option '-x'"},
        {{"--text"}, "--text needs a value (TEXT)"},
        {{"-t"}, "-t needs a value (TEXT)"},
        {{"--text", "--flag"}, "--text needs a value (TEXT)"},
        {{"--flag=1"}, "--flag takes no value"},
        {{"--text", "a", "--text=a"}, "--text is given twice"},
        {{"-ta", "--text=b"}, "--text is given twice"},
        {{"--number", "0"}, "--number takes a whole number, in [1, 9], not '0'"},
        {{"--number", "10"}, "[1, 9]"},
        {{"--number", "3x"}, "not '3x'"},
        {{"--number", "99999999999"}, "[1, 9]"},
        {{"--number="}, "not ''"},
        {{"--u64", "18446744073709551616"}, "--u64 takes a whole number, not"},
        {{"--u64", "-1"}, "not '-1'"},
        {{"--size", "1.3"}, "--size takes a size such as 64K or 25M, not '1.3'"},
        {{"--real", "2.1"}, "--real takes a number, in [0, 2], not '2.1'"},
        {{"--real", "nan"}, "not 'nan'"},
        {{"--pick", "tow"}, "--pick is one of one, two, not 'tow'; did you mean 'two'?"},
        {{"--theta"}, "--theta needs a value"},
        {{"--thetta", "1"}, "did you mean '--theta'?"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct opt_result r;
        struct gcb_diag diag;
        struct values v;

        assert_int_equal(parse(&v, &r, &diag, cases[i].words), GCB_E_INVALID);
        if (!strstr(diag.text, cases[i].says))
            fail_msg("'%s' does not say '%s'", diag.text, cases[i].says);
        opt_fini(&r, &spec, &v);
    }
}

/* Resolves the methods of a command line; an error message goes to diag. */
static int resolve(struct gcb_method **out, size_t *count, struct gcb_diag *diag,
                   const char *const *words)
{
    struct opt_result r;
    struct values v;
    int err = parse(&v, &r, diag, words);

    if (!err)
        err = opt_methods_resolve(out, count, &v.methods, NULL, diag);
    opt_fini(&r, &spec, &v);
    return err;
}

static void test_overrides(void **state)
{
    struct gcb_method *m = NULL;
    struct gcb_diag diag;
    char text[256];
    size_t n;

    assert_int_equal(resolve(&m, &n, &diag,
                             WORDS("--method", "topk:values=range", "--theta", "0.5",
                                   "--method=qsgd", "--bits", "5", "--method", "identity")),
                     0);
    assert_int_equal(n, 3);
    gcb_method_spec(text, sizeof(text), &m[0], GCB_SPEC_LABEL);
    assert_non_null(strstr(text, "theta=0.5"));
    assert_non_null(strstr(text, "bits=5"));
    gcb_method_spec(text, sizeof(text), &m[1], GCB_SPEC_LABEL);
    assert_non_null(strstr(text, "bits=5"));
    gcb_method_spec(text, sizeof(text), &m[2], GCB_SPEC_LABEL);
    assert_string_equal(text, "identity");
    gcb_free(m);
    m = NULL;
    /* a parameter that depends on another override, in either order */
    assert_int_equal(
        resolve(&m, &n, &diag, WORDS("--mantissa", "3", "--method", "topk", "--values", "range")),
        0);
    gcb_free(m);
    m = NULL;
    assert_int_equal(resolve(&m, &n, &diag, WORDS("--density=0.25", "--method", "topk")), 0);
    gcb_method_spec(text, sizeof(text), &m[0], GCB_SPEC_LABEL);
    assert_non_null(strstr(text, "theta=0.75"));
    gcb_free(m);
    m = NULL;
    assert_int_equal(resolve(&m, &n, &diag, WORDS("file")), 0);
    assert_int_equal(n, 0);
    gcb_free(m);
}

static void test_wrong_overrides(void **state)
{
    static const struct {
        const char *words[8];
        const char *says;
    } cases[] = {
        {{"--method", "identity", "--theta", "0.5"}, "--theta: no method given has this parameter"},
        {{"--theta", "0.5"}, "--theta: no method given"},
        {{"--method", "topk:theta=0.5", "--theta", "0.6"}, "given twice"},
        {{"--method", "topk", "--theta", "0.5", "--density", "0.5"}, "given twice"},
        {{"--method", "topk", "--theta", "0.5,values=fp16"}, "theta must be a number in [0, 1)"},
        {{"--method", "topk", "--theta", "1"}, "[0, 1)"},
        {{"--method", "tokp"}, "did you mean 'topk'?"},
        {{"--method", "topk", "--mantissa", "3"}, "values=range"},
        {{"--method", "topk:"}, "has no key=value"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gcb_method *m = NULL;
        struct gcb_diag diag;
        size_t n;

        assert_int_equal(resolve(&m, &n, &diag, cases[i].words), GCB_E_INVALID);
        if (!strstr(diag.text, cases[i].says))
            fail_msg("'%s' does not say '%s'", diag.text, cases[i].says);
        assert_null(m);
    }
}

/* A parameter with the name of an option could be set in a spec only. `format`, of the codec float,
 * is set so: its values are those that papers name, and presets need no option. */
static void test_no_parameter_is_an_option(void **state)
{
    static const struct opt_row *const shared[] = {
        opt_input_rows, opt_scope_rows,  opt_message_rows, opt_device_rows, opt_threads_rows,
        opt_exec_rows,  opt_timing_rows, opt_methods_rows, opt_show_rows,   opt_save_rows,
        opt_hash_rows,  opt_output_rows, opt_force_rows};
    static const char *const more[] = {"help",      "version",  "per",          "top",  "sort",
                                       "histogram", "spectrum", "no-baselines", "vary", "match"};
    const char *key;

    for (size_t i = 0; (key = opt_methods_key_at(i)); i++) {
        for (size_t g = 0; g < sizeof(shared) / sizeof(shared[0]); g++)
            for (const struct opt_row *row = shared[g]; row->name; row++)
                assert_string_not_equal(row->name, key);
        for (size_t j = 0; j < sizeof(more) / sizeof(more[0]); j++)
            assert_string_not_equal(more[j], key);
    }
}

RUN_TESTS(cmocka_unit_test(test_forms), cmocka_unit_test(test_help_ends_reading),
          cmocka_unit_test(test_wrong), cmocka_unit_test(test_overrides),
          cmocka_unit_test(test_wrong_overrides), cmocka_unit_test(test_no_parameter_is_an_option))
