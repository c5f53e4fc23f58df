#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "src/codec/method.h"

static void expect_error(const char *spec, const char *words)
{
    struct gcb_method m;
    struct gcb_diag diag = {0};

    assert_int_equal(gcb_method_parse(&m, spec, &diag), GCB_E_INVALID);
    if (!strstr(diag.text, words))
        fail_msg("'%s' says '%s', not '%s'", spec, diag.text, words);
}

static void parses_specs(void **state)
{
    struct gcb_method m;
    char spec[256];

    (void)state;
    assert_int_equal(gcb_method_parse(&m, "fft:theta=0.8", NULL), 0);
    assert_string_equal(m.name, "fft");
    assert_string_equal(m.codec->name, "sparse");
    assert_string_equal(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_LABEL),
                        "fft:theta=0.8,bits=10");
    assert_string_equal(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL),
                        "fft:theta=0.8,transform=fft,chunk=0,select=topk,values=range,bits=10,"
                        "mantissa=0,max=0,rounding=nearest,index=bitmap");
    assert_int_equal(gcb_method_parse(&m, "topk:density=0.25", NULL), 0);
    assert_string_equal(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_LABEL), "topk:theta=0.75");
    assert_int_equal(gcb_method_parse(&m, "identity", NULL), 0);
    assert_string_equal(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL), "identity");
}

static void full_spec_reads_back(void **state)
{
    struct gcb_method m, back;
    char spec[512], again[512];

    (void)state;
    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL);
        assert_int_equal(gcb_method_parse(&back, spec, NULL), 0);
        assert_memory_equal(m.value, back.value, sizeof(m.value));
        assert_string_equal(gcb_method_spec(again, sizeof(again), &back, GCB_SPEC_FULL), spec);
    }
}

static void explains_errors(void **state)
{
    (void)state;
    expect_error("tokp", "unknown method 'tokp'; did you mean 'topk'?");
    expect_error("", "unknown method ''");
    expect_error("topk:", "lacks its key=value");
    expect_error("topk:theta", "'theta' is not key=value");
    expect_error("topk:theta=1", "theta must be a number in [0, 1), not '1'");
    expect_error("topk:theta=nan", "theta must be");
    expect_error("topk:theta=0x1p-1000000", "theta");
    expect_error("topk:theta=-0.1", "theta must be");
    expect_error("topk:density=0", "density must be a number in (0, 1], not '0'");
    expect_error("topk:theta=0.8,density=0.1", "given twice");
    expect_error("topk:theta=0.8,theta=0.8", "given twice");
    expect_error("topk:thet=0.8", "did you mean 'theta'?");
    expect_error("topk:bits=4", "only with values=range");
    expect_error("range:bits=0", "bits must be a whole number in [2, 16], not '0'");
    expect_error("range:bits=99", "not '99'");
    expect_error("range:bits=10,mantissa=2", "mantissa=2 is too small");
    expect_error("range:bits=4,mantissa=4", "does not fit");
    expect_error("qsgd:norm=l3", "norm is one of max, l2, not 'l3'");
    expect_error("identity:bits=3", "has no 'bits'");
    expect_error("topk:theta=\x1b[2J", "\\x1b[2J");
}

static bool is_option(const char *name)
{
    /* every option that CLI.md gives to more than one method: a parameter may not take its name */
    static const char *const options[] = {
        "device",       "threads",      "scope",          "bucket-bytes", "dataset",  "exclude",
        "min-elements", "dense",        "output-layer",   "step",         "worker",   "order",
        "nonfinite",    "max-bytes",    "allow-external", "isa",          "fft-plan", "warmup",
        "repeat",       "min-time",     "histogram",      "spectrum",     "method",   "format",
        "results",      "color",        "force",          "seed",         "per",      "top",
        "sort",         "no-baselines", "help",           "version",      "budget",   "all",
        "vary",         "match",        "suite",          "samples",
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(options[i], name) == 0)
            return true;
    return false;
}

static void tables_are_sound(void **state)
{
    const struct gcb_codec *codec;

    (void)state;
    for (size_t c = 0; (codec = gcb_codec_at(c)); c++) {
        assert_ptr_equal(gcb_codec_by_wire_id(codec->wire_id), codec);
        assert_true(gcb_param_count(codec->params) <= GCB_MAX_PARAMS);
        for (const struct gcb_param *p = codec->params; p && p->name; p++) {
            assert_false(is_option(p->name));
            assert_non_null(p->help);
            assert_true(p->type == GCB_PARAM_CHOICE || (p->def >= p->min && p->def <= p->max));
            assert_true(p->type != GCB_PARAM_CHOICE || p->choices);
        }
    }
}

static void params_travel(void **state)
{
    struct gcb_method m;
    double value[GCB_MAX_PARAMS];
    uint8_t bytes[64], image[4096] = {0};
    struct gcb_wbuf w = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_rbuf r = {.data = bytes};

    (void)state;
    assert_int_equal(gcb_method_parse(&m, "qsgd:levels=300,bucket=70000,coding=elias", NULL), 0);
    assert_true(m.codec->ops->state_size <= sizeof(image));
    gcb_param_store(m.codec->params, m.value, image);
    gcb_param_write(m.codec->params, image, &w);
    assert_int_equal(w.len, 1 + 2 + 4 + 1);
    r.len = w.len;
    assert_int_equal(gcb_param_read(m.codec->params, value, &r, NULL), 0);
    assert_true(value[1] == 300 && value[2] == 70000 && value[4] == 1);
    bytes[7] = 9; /* no such coding */
    r.pos = 0;
    assert_int_equal(gcb_param_read(m.codec->params, value, &r, NULL), GCB_E_CORRUPT);
    bytes[7] = 1;
    r.pos = 0;
    r.len--;
    assert_int_equal(gcb_param_read(m.codec->params, value, &r, NULL), GCB_E_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_specs),    cmocka_unit_test(full_spec_reads_back),
        cmocka_unit_test(explains_errors), cmocka_unit_test(tables_are_sound),
        cmocka_unit_test(params_travel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
