/* The line of settings of a method. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/search/rate.h"
#include "tests/support/test.h"

static struct gcb_rate_axis axis_of(struct gcb_method *m, const char *spec, const char *key)
{
    struct gcb_rate_axis axis;

    assert_int_equal(gcb_method_parse(m, spec, NULL), 0);
    assert_int_equal(gcb_rate_axis_init(&axis, m, key, NULL), 0);
    return axis;
}

static double value_at(struct gcb_method *m, const struct gcb_rate_axis *axis, uint64_t position)
{
    double value;

    assert_int_equal(gcb_rate_axis_set(m, axis, position, NULL), 0);
    assert_int_equal(gcb_method_check(m, NULL), 0);
    assert_true(gcb_method_value(m, axis->param->name, &value));
    return value;
}

static void test_density(void **state)
{
    struct gcb_method m, again;
    const struct gcb_rate_axis axis = axis_of(&m, "fft:bits=8", NULL);
    char spec[256];
    double before = 2.0;

    assert_string_equal(axis.param->name, "theta");
    assert_int_equal(axis.count, 7 * 90000 + 1);
    assert_true(value_at(&m, &axis, 0) == 0.9999999);
    assert_true(value_at(&m, &axis, 90000 * 6) == 0.9);
    assert_true(value_at(&m, &axis, 90000 * 6 + 1) == 0.89999);
    assert_true(value_at(&m, &axis, axis.count - 1) == 0.0);
    for (uint64_t i = 0; i < axis.count; i += 997) {
        const double theta = value_at(&m, &axis, i);

        assert_true(theta < before);
        before = theta;
        gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_GIVEN);
        assert_in_range(strlen(spec), 8, 30); /* people can type the setting, ... */
        assert_int_equal(gcb_method_parse(&again, spec, NULL), 0);
        assert_true(again.value[0] == theta); /* ... and it parses to the same value */
    }
}

static void test_whole_numbers(void **state)
{
    struct gcb_method m;
    struct gcb_rate_axis axis = axis_of(&m, "qsgd", NULL);

    assert_string_equal(axis.param->name, "bits");
    assert_int_equal(axis.count, 15);
    assert_true(value_at(&m, &axis, 0) == 2.0 && value_at(&m, &axis, 14) == 16.0);
    axis = axis_of(&m, "qsgd", "levels"); /* 0 means that bits decide */
    assert_int_equal(axis.count, 32767);
    assert_true(value_at(&m, &axis, 0) == 1.0 && value_at(&m, &axis, 32766) == 32767.0);
    axis = axis_of(&m, "range:mantissa=5", NULL); /* fewer bits have no room for the mantissa */
    assert_true(value_at(&m, &axis, 0) > 5.0);
    axis = axis_of(&m, "fft", "bits");
    assert_string_equal(axis.param->name, "bits");
}

/* A larger threshold keeps fewer elements: the line runs the other way. */
static void test_threshold(void **state)
{
    struct gcb_method m;
    const struct gcb_rate_axis axis = axis_of(&m, "sparse:select=threshold", NULL);

    assert_string_equal(axis.param->name, "threshold");
    assert_true(value_at(&m, &axis, 0) == 1e6);
    assert_true(value_at(&m, &axis, axis.count - 1) == 1e-12);
    assert_true(value_at(&m, &axis, 1) == 999990.0);
}

static void test_methods_without_one(void **state)
{
    struct gcb_method m;
    const struct gcb_rate_axis axis = axis_of(&m, "terngrad", NULL);

    assert_null(axis.param);
    assert_int_equal(axis.count, 1);
    assert_int_equal(gcb_rate_axis_set(&m, &axis, 0, NULL), 0);
}

static void test_refusals(void **state)
{
    struct gcb_rate_axis axis;
    struct gcb_diag diag = {0};
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, "topk:density=0.1", NULL), 0);
    assert_int_equal(gcb_rate_axis_init(&axis, &m, NULL, &diag), GCB_E_INVALID);
    assert_non_null(strstr(diag.text, "'theta' is searched for"));
    assert_int_equal(gcb_rate_axis_init(&axis, &m, "chunk", &diag), GCB_E_INVALID);
    assert_non_null(strstr(diag.text, "chunk"));
    assert_true(gcb_rate_named(&m, "theta"));
    assert_false(gcb_rate_named(&m, "bits")); /* topk sends float32 */
}

/* The ends and the middle of every method's line are valid settings. */
static void test_all(void **state)
{
    struct gcb_rate_axis axis;
    struct gcb_method m;
    size_t tuned = 0;

    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        assert_int_equal(gcb_rate_axis_init(&axis, &m, NULL, NULL), 0);
        tuned += axis.param != NULL;
        for (uint64_t k = 0; k < 3; k++) {
            assert_int_equal(gcb_rate_axis_set(&m, &axis, k * (axis.count - 1) / 2, NULL), 0);
            assert_int_equal(gcb_method_check(&m, NULL), 0);
        }
    }
    assert_true(tuned >= 10);
}

static void test_decimals(void **state)
{
    assert_true(gcb_decimal(12345, -5, false) == 0.12345);
    assert_true(gcb_decimal(12345, -5, true) == 0.87655);
    assert_true(gcb_decimal(12345, -3, false) == 12.345);
    assert_true(gcb_decimal(12345, 2, false) == 1234500.0);
    assert_true(gcb_decimal(10000, -16, false) == 1e-12);
    assert_true(gcb_decimal(10000, -4, true) == 0.0);
}

/* A factor above 1 means larger messages: a larger density, a smaller threshold, more bits. */
static void test_scale(void **state)
{
    static const char *const specs[] = {"topk", "sparse:select=threshold", "demo"};

    for (size_t k = 0; k < 3; k++) {
        struct gcb_method m;
        const struct gcb_rate_axis axis = axis_of(&m, specs[k], NULL);
        const bool density = axis.param->complement[0];

        for (uint64_t i = axis.count / 3; i < axis.count * 2 / 3; i += 9973)
            for (double factor = 0.01; factor < 99.0; factor *= 1.7) {
                const double was = value_at(&m, &axis, i);
                const double is = value_at(&m, &axis, gcb_rate_axis_scale(&axis, i, factor));
                const double want =
                    density ? fmax(fmin((1.0 - was) * factor, 1.0), 1e-7) : was / factor;

                assert_true(fabs((density ? 1.0 - is : is) / want - 1.0) < 1e-4);
            }
        assert_int_equal(gcb_rate_axis_scale(&axis, 77, 1.0), 77);
        assert_int_equal(gcb_rate_axis_scale(&axis, 5, 0.01), 0);
        assert_int_equal(gcb_rate_axis_scale(&axis, axis.count - 5, 100.0), axis.count - 1);
    }
}

static void test_scale_of_whole_numbers(void **state)
{
    struct gcb_method m;
    const struct gcb_rate_axis axis = axis_of(&m, "range", NULL), none = axis_of(&m, "fp16", NULL);
    const uint64_t four = 4 - axis.low;

    assert_int_equal(gcb_rate_axis_scale(&axis, four, 1.0), four);
    assert_int_equal(gcb_rate_axis_scale(&axis, four, 1.4), 6 - axis.low);
    assert_int_equal(gcb_rate_axis_scale(&axis, four, 0.75), 3 - axis.low);
    assert_int_equal(gcb_rate_axis_scale(&axis, four, 0.01), 0);
    assert_int_equal(gcb_rate_axis_scale(&axis, four, 100.0), axis.count - 1);
    assert_int_equal(gcb_rate_axis_scale(&none, 0, 4.0), 0);
}

RUN_TESTS(cmocka_unit_test(test_density), cmocka_unit_test(test_whole_numbers),
          cmocka_unit_test(test_threshold), cmocka_unit_test(test_methods_without_one),
          cmocka_unit_test(test_refusals), cmocka_unit_test(test_all),
          cmocka_unit_test(test_decimals), cmocka_unit_test(test_scale),
          cmocka_unit_test(test_scale_of_whole_numbers))
