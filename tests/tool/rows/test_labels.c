/* Labels tell the methods of a set apart, and are the same whenever the set is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/payoff/ways.h"
#include "src/tool/rows/labels.h"
#include "tests/support/test.h"

#define MOST 400
#define SPEC 1024
static char specs[MOST][SPEC];
static struct gcb_label labels[MOST];

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* Labels the first `count` specs, in `sets` sets in turn. */
static void label(size_t count, size_t sets)
{
    for (size_t i = 0; i < count; i++)
        labels[i] = (struct gcb_label){.spec = specs[i], .set = i % sets};
    gcb_label_all(labels, count);
}

/* Does the same happen? A user may also give what is not shown: memory=none, or the collective that
 * is taken anyway. */
static bool is_same(const char *a, const char *b)
{
    struct gcb_method x, y;

    if (gcb_method_parse(&x, a, NULL) || gcb_method_parse(&y, b, NULL))
        return strcmp(a, b) == 0;
    for (size_t row = 0; gcb_method_param(&x, row); row++)
        if (x.codec != y.codec || gcb_method_applies(&x, row) != gcb_method_applies(&y, row) ||
            (gcb_method_applies(&x, row) &&
             (x.value[row] < y.value[row] || x.value[row] > y.value[row])))
            return false;
    return strcmp(x.name, y.name) == 0;
}

static void expect_apart(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(labels[i].text) == 0)
            fail_msg("%s has no label", specs[i]);
        if (!gcb_spec_is_named(labels[i].text, specs[i], labels[i].text))
            fail_msg("%s is not named by its label %s", specs[i], labels[i].text);
        for (size_t k = 0; k < i; k++)
            if (labels[i].set == labels[k].set && strcmp(labels[i].text, labels[k].text) == 0 &&
                !is_same(specs[i], specs[k]))
                fail_msg("%s and %s: %s", specs[i], specs[k], labels[i].text);
    }
}

/* A value of the parameter that another one of a set may have too. */
static void change(struct gcb_method *m, const struct gcb_param *p)
{
    size_t choices = 0;

    if (p->type == GCB_PARAM_CHOICE) {
        while (p->choices[choices])
            choices++;
        gcb_method_change(m, p->name, p->choices[draw((uint32_t)choices)], NULL);
    } else {
        const double low = isfinite(p->min) ? p->min : 0.0;
        const double span = fmin(isfinite(p->max) ? p->max - low : 8.0, 64.0);
        double value = low + span * draw(8) / 8.0;
        char text[48];

        if (p->type != GCB_PARAM_REAL)
            value = floor(value);
        gcb_method_change(m, p->name, gcb_param_text(text, p, value), NULL);
    }
}

/* A method with random values of some parameters. Values that are refused leave it as it was. */
static void draw_spec(char out[SPEC], size_t method)
{
    struct gcb_method m;
    uint32_t rows = 0;

    assert_true(gcb_method_at(&m, method));
    while (gcb_method_param(&m, rows))
        rows++;
    for (uint32_t k = draw(4); k > 0; k--)
        change(&m, gcb_method_param(&m, draw(rows)));
    gcb_method_spec(out, SPEC, &m, GCB_SPEC_FULL);
}

static size_t count_methods(void)
{
    struct gcb_method m;
    size_t n = 0;

    while (gcb_method_at(&m, n))
        n++;
    return n;
}

static void test_apart(void **state)
{
    const size_t methods = count_methods();
    struct gcb_method m;
    size_t count = 0;

    for (; gcb_ways_default[count]; count++) { /* those that payoff tries */
        assert_int_equal(gcb_method_parse(&m, gcb_ways_default[count], NULL), 0);
        gcb_method_spec(specs[count], SPEC, &m, GCB_SPEC_FULL);
    }
    label(count, 1);
    expect_apart(count);
    for (size_t i = 0; i < methods; i++) {
        assert_true(gcb_method_at(&m, i));
        gcb_method_spec(specs[i], SPEC, &m, GCB_SPEC_FULL);
    }
    label(methods, 1);
    expect_apart(methods);
    seed = 1;
    for (size_t round = 0; round < 100;
         round++) { /* settings of a few methods, in up to three sets */
        const uint32_t few = 1 + draw(4), first = draw((uint32_t)methods);

        count = 2 + draw(80);
        for (size_t i = 0; i < count; i++)
            draw_spec(specs[i], (first + draw(few)) % methods);
        label(count, 1 + draw(3));
        expect_apart(count);
    }
    for (size_t i = 0; i < methods; i++) {
        for (count = 0; count < 80; count++)
            draw_spec(specs[count], i);
        label(count, 1);
        expect_apart(count);
    }
}

static void put(size_t i, const char *spec)
{
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    gcb_method_spec(specs[i], SPEC, &m, GCB_SPEC_FULL);
}

/* What was changed is shown, and a main parameter if the set has other values of it. */
static void test_parameters(void **state)
{
    put(0, "randomk:memory=ef,decay=0.5"); /* theta as it is without being told */
    label(1, 1);
    assert_true(gcb_spec_has(labels[0].text, "memory=ef", 9));
    assert_true(gcb_spec_has(labels[0].text, "decay=0.5", 9));
    assert_null(strstr(labels[0].text, "theta"));
    put(1, "randomk:theta=0.9,memory=ef");
    label(2, 1);
    assert_non_null(strstr(labels[0].text, "theta="));
    assert_true(gcb_spec_has(labels[1].text, "theta=0.9", 9));
    assert_true(gcb_spec_has(labels[1].text, "memory=ef", 9));
}

/* The label depends only on the set, not on its order, and not on other sets. */
static void test_stable(void **state)
{
    static char texts[MOST][GCB_LABEL];
    static char turned[MOST][SPEC];
    const size_t methods = count_methods(), count = 60;

    seed = 99;
    for (size_t i = 0; i < count; i++)
        draw_spec(specs[i], draw((uint32_t)methods));
    label(count, 1);
    for (size_t i = 0; i < count; i++)
        memcpy(texts[i], labels[i].text, GCB_LABEL);
    label(count, 1);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(labels[i].text, texts[i]);
    memcpy(turned, specs, sizeof(specs));
    for (size_t i = 0; i < count; i++)
        memcpy(specs[i], turned[count - 1 - i], SPEC);
    label(count, 1);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(labels[i].text, texts[count - 1 - i]);
    for (size_t i = 0; i < count; i++) { /* each twice, and each of two sets has all */
        memcpy(specs[2 * i], turned[i], SPEC);
        memcpy(specs[2 * i + 1], turned[i], SPEC);
    }
    label(2 * count, 2);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(labels[2 * i].text, texts[i]);
        assert_string_equal(labels[2 * i + 1].text, texts[i]);
    }
    for (size_t i = 0; i < count; i++) { /* alone in its set, it is as if it were alone */
        memcpy(specs[0], turned[i], SPEC);
        label(1, 1);
        memcpy(texts[0], labels[0].text, GCB_LABEL);
        for (size_t k = 0; k < methods; k++) {
            draw_spec(specs[1], k);
            label(2, 2);
            assert_string_equal(labels[0].text, texts[0]);
        }
    }
}

/* Of policies the number of rules is shown, and the id only if that is not enough. */
static void test_policies(void **state)
{
    strcpy(specs[0], "policy:rules=3,id=0123456789abcdef");
    strcpy(specs[1], "policy:rules=4,id=fedcba9876543210");
    strcpy(specs[2], "topk:theta=0.99");
    label(3, 1);
    assert_null(strstr(labels[0].text, "id="));
    assert_null(strstr(labels[1].text, "id="));
    assert_string_not_equal(labels[0].text, labels[1].text);
    strcpy(specs[1], "policy:rules=3,id=fedcba9876543210");
    label(3, 1);
    assert_non_null(strstr(labels[0].text, "0123456789abcdef"));
    assert_non_null(strstr(labels[1].text, "fedcba9876543210"));
    label(3, 2); /* not of one set */
    assert_null(strstr(labels[0].text, "id="));
    strcpy(specs[1], specs[0]); /* the same one */
    label(3, 1);
    assert_null(strstr(labels[0].text, "id="));
    strcpy(specs[0], "no method at all"); /* any other text is its own label */
    strcpy(specs[1], "");
    label(2, 1);
    assert_string_equal(labels[0].text, "no method at all");
    assert_string_equal(labels[1].text, "");
}

static void test_names(void **state)
{
    static const char spec[] = "topk:theta=0.99,index=u32,select=topk";
    char out[SPEC];

    assert_true(gcb_spec_has(spec, "index=u32", 9));
    assert_false(gcb_spec_has(spec, "index=u3", 8) || gcb_spec_has(spec, "topk", 4) ||
                 gcb_spec_has(spec, "dex=u32", 7) || gcb_spec_has("topk", "topk", 4));
    assert_true(gcb_spec_is_named("topk", spec, "x"));
    assert_true(gcb_spec_is_named("topk:select=topk,theta=0.99", spec, "x"));
    assert_true(gcb_spec_is_named(spec, spec, "x") && gcb_spec_is_named("x", spec, "x"));
    assert_false(gcb_spec_is_named("topk:theta=0.9", spec, "x"));
    assert_false(gcb_spec_is_named("top", spec, "x") || gcb_spec_is_named("topk-range", spec, "x"));
    /* a parameter is taken out wherever it stands, and only the one of that name */
    strcpy(out, "topk:index=u32,theta=0.9");
    assert_string_equal(gcb_spec_drop(out, "index"), "topk:theta=0.9");
    assert_string_equal(gcb_spec_drop(out, "eta"), "topk:theta=0.9");
    assert_string_equal(gcb_spec_drop(out, "theta"), "topk");
    assert_string_equal(gcb_spec_drop(out, "theta"), "topk");
    strcpy(out, "a:b=1,cd=2,e=3");
    assert_string_equal(gcb_spec_drop(out, "c"), "a:b=1,cd=2,e=3");
    assert_string_equal(gcb_spec_drop(out, "cd"), "a:b=1,e=3");
    assert_string_equal(gcb_spec_drop(out, "e"), "a:b=1");
}

/* Methods that lie inside other structs have the labels of their set. */
static void test_methods(void **state)
{
    static const char *const names[] = {"topk", "qsgd:bits=8", "qsgd:bits=4,collective=twoshot",
                                        "topk:memory=ef"};
    struct {
        double before;
        struct gcb_method method;
    } set[4];
    struct gcb_label *found;

    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(gcb_method_parse(&set[i].method, names[i], NULL), 0);
        gcb_method_spec(specs[i], SPEC, &set[i].method, GCB_SPEC_FULL);
    }
    label(4, 1);
    found = gcb_label_methods(&set[0].method, sizeof(set[0]), 4);
    assert_non_null(found);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(found[i].spec, specs[i]);
        assert_string_equal(found[i].text, labels[i].text);
    }
    gcb_free(found);
}

RUN_TESTS(cmocka_unit_test(test_apart), cmocka_unit_test(test_parameters),
          cmocka_unit_test(test_stable), cmocka_unit_test(test_policies),
          cmocka_unit_test(test_names), cmocka_unit_test(test_methods))
