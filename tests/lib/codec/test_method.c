#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/codec/foreign.h"
#include "src/lib/codec/method.h"
#include "tests/support/comma.h"
#include "tests/support/test.h"

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

    assert_int_equal(gcb_method_parse(&m, "fft:theta=0.8", NULL), 0);
    assert_string_equal(m.name, "fft");
    assert_string_equal(m.codec->name, "sparse");
    assert_string_equal(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_LABEL),
                        "fft:theta=0.8,bits=10");
    assert_string_equal(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL),
                        "fft:theta=0.8,transform=fft,chunk=0,pad=smooth,input=fp32,select=topk,"
                        "values=range,bits=10,"
                        "mantissa=0,max=0,rounding=nearest,index=bitmap,tile=none");
    assert_int_equal(gcb_method_parse(&m, "topk:density=0.25", NULL), 0);
    assert_string_equal(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_LABEL), "topk:theta=0.75");
    assert_int_equal(gcb_method_parse(&m, "fft:chunk=4096", NULL), 0);
    assert_string_equal(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_GIVEN), "fft:chunk=4096");
    assert_int_equal(gcb_method_parse(&m, "fft:pad=none", NULL), 0);
    assert_non_null(strstr(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL), ",pad=none,"));
    assert_int_equal(gcb_method_parse(&m, "identity", NULL), 0);
    assert_string_equal(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL), "identity");
}

/* In a program that speaks another language. */
static void parses_with_a_comma(void **state)
{
    if (!comma_begin()) {
        print_message("skipped: no locale with a decimal comma (Debian package locales)\n");
        skip();
    }
    parses_specs(state);
    expect_error("topk:theta=0,5", "'5'");
    setlocale(LC_ALL, "C");
}

static void full_spec_reads_back(void **state)
{
    struct gcb_method m, back;
    char spec[512], again[512];

    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL);
        assert_int_equal(gcb_method_parse(&back, spec, NULL), 0);
        assert_memory_equal(m.value, back.value, sizeof(m.value));
        assert_string_equal(gcb_method_spec(again, sizeof(again), &back, GCB_SPEC_FULL), spec);
    }
}

static void explains_errors(void **state)
{
    expect_error("tokp", "unknown method 'tokp'; did you mean 'topk'?");
    expect_error("1bit", "did you mean 'onebit'?");
    expect_error("FP8_E4M3", "did you mean 'fp8'?");
    expect_error("", "unknown method ''");
    expect_error("topk:", "has no key=value after the colon");
    expect_error("topk:theta=0.8,", "'' is not key=value");
    expect_error("topk:theta=1", "theta must be a number in [0, 1), not '1'");
    expect_error("topk:theta=0x1p-1000000", "theta");
    expect_error("topk:theta=0.8,density=0.1", "given twice");
    expect_error("topk:thet=0.8", "did you mean 'theta'?");
    expect_error("topk:bits=4", "only with values=range");
    expect_error("range:bits=0", "bits must be a whole number in [2, 16], not '0'");
    expect_error("range:bits=10,mantissa=2", "mantissa=2 is too small");
    expect_error("qsgd:norm=l3", "norm is one of max, l2, not 'l3'");
    expect_error("identity:bits=3", "has no 'bits'");
    expect_error("topk:theta=\x1b[2J", "\\x1b[2J");
}

static bool is_option(const char *name)
{
    /* options that several commands share: a parameter may not take the name of one */
    static const char *const options[] = {
        "device",     "threads",      "scope",        "bucket-bytes",   "dataset",
        "exclude",    "min-elements", "dense",        "output-layer",   "step",
        "worker",     "order",        "nonfinite",    "max-bytes",      "allow-external",
        "in-process", "isa",          "fft-engine",   "warmup",         "repeat",
        "min-time",   "histogram",    "spectrum",     "method",         "format",
        "results",    "color",        "force",        "seed",           "per",
        "top",        "sort",         "no-baselines", "help",           "version",
        "budget",     "all",          "vary",         "match",          "suite",
        "samples",    "loop",         "allow-gaps",   "theta-schedule",
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(options[i], name) == 0)
            return true;
    return false;
}

static void row_is_sound(const struct gcb_param *p)
{
    assert_false(is_option(p->name));
    assert_non_null(p->help);
    assert_true(p->type == GCB_PARAM_CHOICE || (p->def >= p->min && p->def <= p->max));
    assert_true(p->type != GCB_PARAM_CHOICE || p->choices);
    for (size_t c = 0; p->complement[c]; c++)
        assert_false(is_option(p->complement[c]));
}

/* A key means one row of a method, whichever of the two tables it stands in. */
static void expect_no_collision(const struct gcb_codec *codec)
{
    for (const struct gcb_param *p = gcb_memory_table; p->name; p++) {
        assert_null(gcb_param_find(codec->params, p->name));
        for (size_t c = 0; p->complement[c]; c++)
            assert_null(gcb_param_find(codec->params, p->complement[c]));
    }
    for (const struct gcb_param *p = codec->params; p && p->name; p++)
        for (size_t c = 0; p->complement[c]; c++)
            assert_null(gcb_param_find(gcb_memory_table, p->complement[c]));
}

static void tables_are_sound(void **state)
{
    const struct gcb_codec *codec;

    for (size_t c = 0; (codec = gcb_codec_at(c)); c++) {
        assert_ptr_equal(gcb_codec_by_wire_id(codec->wire_id), codec);
        assert_true(gcb_param_count(codec->params) <= GCB_MAX_PARAMS);
        for (const struct gcb_param *p = codec->params; p && p->name; p++)
            row_is_sound(p);
        expect_no_collision(codec);
    }
    assert_true(gcb_param_count(gcb_memory_table) <= GCB_MAX_METHOD_PARAMS - GCB_MAX_PARAMS);
    for (const struct gcb_param *p = gcb_memory_table; p->name; p++)
        row_is_sound(p);
}

static void expect_spec(const char *spec, enum gcb_spec_style style, const char *want)
{
    struct gcb_method m;
    char got[512];

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    assert_string_equal(gcb_method_spec(got, sizeof(got), &m, style), want);
}

static void memories(void **state)
{
    struct gcb_memory_params p;
    struct gcb_method m;
    char spec[512];

    expect_spec("qsgd:memory=ef,decay=0.9", GCB_SPEC_LABEL,
                "qsgd:bits=4,bucket=512,memory=ef,decay=0.9");
    expect_spec("sbc:p=0.01,delay=4", GCB_SPEC_LABEL, "sbc:theta=0.99,delay=4");
    expect_spec("identity", GCB_SPEC_FULL, "identity");
    expect_spec("identity:memory=none", GCB_SPEC_FULL, "identity:memory=none");
    expect_spec("identity:memory=dgc", GCB_SPEC_FULL,
                "identity:memory=dgc,momentum=0,nesterov=no,masking=yes,residual=subtract,"
                "clip-norm=0");
    expect_error("topk:decay=0.9", "'decay' has a meaning only with memory=ef");
    expect_error("sbc:memory=none,delay=4", "'delay' has a meaning only with memory=delay");
    expect_error("identity:memory=ef,memory=ef", "given twice");
    expect_error("identity:momentun=0.9", "did you mean 'momentum'?");
    expect_error("identity:memory=ef,decay=2", "decay must be a number in [0, 1], not '2'");
    assert_int_equal(gcb_method_parse(&m, "dgc:nesterov=yes,clip-norm=2", NULL), 0);
    gcb_method_memory(&p, &m);
    assert_true(p.kind == GCB_MEMORY_DGC && p.momentum == 0.9 && p.nesterov && p.masking);
    assert_true(p.clip == 2.0);
    assert_true(gcb_method_forget(&m));
    assert_false(gcb_method_forget(&m));
    assert_null(strstr(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL), "memory"));
    gcb_method_memory(&p, &m);
    assert_int_equal(p.kind, GCB_MEMORY_NONE);
    assert_int_equal(gcb_method_parse(&m, "topk:memory=gmc,momentum=0.5", NULL), 0);
    gcb_method_memory(&p, &m);
    assert_true(p.kind == GCB_MEMORY_GMC && p.momentum == 0.5);
    assert_true(!p.masking && p.delay == 0 && p.decay == 0.0); /* no meaning with gmc */
    expect_error("topk:memory=gmc,masking=no",
                 "'masking' has a meaning only with memory=dgc|delay");
    assert_int_equal(gcb_method_parse(&m, "sbc", NULL), 0);
    assert_false(gcb_method_forget(&m)); /* it was not asked for */
}

static void assigns(void **state)
{
    struct gcb_method m;
    double v = 0.0;

    assert_int_equal(gcb_method_parse(&m, "fft:theta=0.8", NULL), 0);
    assert_int_equal(gcb_method_assign(&m, "theta", 0.25, NULL), 0);
    assert_true(gcb_method_value(&m, "theta", &v) && v == 0.25);
    assert_int_equal(gcb_method_assign(&m, "theta", 1.0, NULL), GCB_E_INVALID);
    assert_int_equal(gcb_method_assign(&m, "density", 0.5, NULL), GCB_E_INVALID);
    assert_false(gcb_method_value(&m, "threshold", &v)); /* select=topk has none */
    assert_false(gcb_method_value(&m, "levels", &v));
    assert_true(gcb_method_value(&m, "memory", NULL));
}

static void params_travel(void **state)
{
    struct gcb_method m;
    double value[GCB_MAX_PARAMS];
    uint8_t bytes[64], image[4096] = {0};
    struct gcb_wbuf w = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_rbuf r = {.data = bytes};

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

/* From a full spec, as result rows have it, to what is worth saying. */
static void labels(void **state)
{
    char spec[256], label[256];
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, "fft:bits=6,index=golomb", NULL), 0);
    gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL);
    assert_string_equal(gcb_method_label(label, sizeof(label), spec),
                        "fft:theta=0.85,bits=6,index=golomb");
    assert_string_equal(gcb_method_label(label, sizeof(label), "topk"), "topk:theta=0.85");
    assert_string_equal(gcb_method_label(label, sizeof(label), "memcpy"), "memcpy");
    assert_string_equal(gcb_method_label(label, sizeof(label), "topk:new=1"), "topk:new=1");
    assert_string_equal(gcb_method_label(label, 5, "unheard-of"), "unhe");
}

/* Methods are equal if their full specs are. */
static void equals(void **state)
{
    static const char *const specs[] = {"topk",
                                        "topk:theta=0.85",
                                        "topk:density=0.5",
                                        "topk:theta=0.5",
                                        "topk-range",
                                        "topk:memory=none",
                                        "sbc",
                                        "sbc:memory=none",
                                        "qsgd",
                                        "qsgd:bits=4",
                                        "qsgd:bits=5",
                                        "topk:memory=ef",
                                        "sparse",
                                        "topk:memory=delay",
                                        "fft",
                                        "topk:collective=allgather",
                                        "identity",
                                        "identity:memory=ef",
                                        "signsgd",
                                        "topk:memory=ef,decay=0.5"};
    enum { COUNT = sizeof(specs) / sizeof(specs[0]) };
    struct gcb_method m[COUNT];
    char full[COUNT][512];

    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(gcb_method_parse(&m[i], specs[i], NULL), 0);
        gcb_method_spec(full[i], sizeof(full[i]), &m[i], GCB_SPEC_FULL);
        for (size_t k = 0; k <= i; k++)
            if (gcb_method_equal(&m[i], &m[k]) != (strcmp(full[i], full[k]) == 0))
                fail_msg("%s and %s", full[i], full[k]);
    }
}

static int never_called(void *ctx, const struct gcb_own_at *at, const float *x, uint64_t n,
                        void *out, size_t room, size_t *length, struct gcb_diag *diag)
{
    return GCB_E_INTERNAL;
}

/* Methods that only rows name leave room for methods that can encode. */
static void named_methods_end(void **state)
{
    const struct gcb_codec *codec;
    struct gcb_foreign named = {{.name = "of/rows"}, .timed = "inside"};
    char params[16];
    int err = 0;

    named.own.params = params;
    for (unsigned i = 0; !err && i < 200; i++) {
        snprintf(params, sizeof(params), "number=%u", i);
        err = gcb_foreign_add(&codec, &named, NULL);
    }
    assert_int_equal(err, GCB_E_UNSUPPORTED);
    named.own.encode = never_called;
    assert_int_equal(gcb_foreign_add(&codec, &named, NULL), 0);
    assert_string_equal(codec->timed, "inside");
    named.timed = "round_trip";
    assert_int_equal(gcb_foreign_add(&codec, &named, NULL), 0);
    assert_string_equal(codec->timed, "round_trip");
}

RUN_TESTS(cmocka_unit_test(labels), cmocka_unit_test(equals), cmocka_unit_test(parses_specs),
          cmocka_unit_test(parses_with_a_comma), cmocka_unit_test(full_spec_reads_back),
          cmocka_unit_test(explains_errors), cmocka_unit_test(tables_are_sound),
          cmocka_unit_test(params_travel), cmocka_unit_test(memories), cmocka_unit_test(assigns),
          cmocka_unit_test(named_methods_end))
