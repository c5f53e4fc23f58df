/* What answers recommend, and what their rows say. Words are not tested. */
#include <math.h>
#include <string.h>

#include "src/tool/rows/answer.h"
#include "src/tool/rows/results.h"
#include "tests/support/test.h"

#define FED .memory = true
#define BASE .baseline = true
#define PLAIN .memory = false
#define ITEM(label, its_error, its_lasting, its_gain, more) \
    { \
        .name = label, .error = its_error, .lasting = its_lasting, .gain = its_gain, .low = NAN, \
        .high = NAN, .step = NAN, .speed = NAN, more \
    }

/* Which items are chosen: their names; "": none. */
static void expect(const struct gcb_answer_item *items, size_t count, const char *best,
                   const char *noisy, const char *trained)
{
    struct gcb_answer a = {.items = items, .count = count, .bar = "fp16"};
    const struct {
        const size_t *at;
        const char *name;
    } parts[] = {{&a.best, best}, {&a.noisy, noisy}, {&a.trained, trained}};

    gcb_answer_choose(&a);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(*parts[i].at == SIZE_MAX ? "" : items[*parts[i].at].name,
                            parts[i].name);
}

static void kinds_follow_error_and_what_lasts(void **state)
{
    static const struct {
        double error, lasting;
        bool unbiased;
        enum gcb_error_kind kind;
    } cases[] = {
        {0.0, 0.0, false, GCB_ERROR_EXACT},       {0.05, 0.05, false, GCB_ERROR_EXACT},
        {0.051, 0.051, false, GCB_ERROR_LASTING}, {0.051, 0.05, false, GCB_ERROR_NOISE},
        {0.35, 0.0, false, GCB_ERROR_NOISE},      {0.36, 0.0, false, GCB_ERROR_LOUD},
        {0.36, 0.06, true, GCB_ERROR_LASTING},    {0.2, NAN, true, GCB_ERROR_NOISE},
        {0.2, NAN, false, GCB_ERROR_LASTING},     {0.04, NAN, false, GCB_ERROR_EXACT},
    };
    const struct gcb_answer a = {.count = 0}, moved = {.exact = 0.1, .noise = 0.2};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct gcb_answer_item item = {
            .error = cases[i].error, .lasting = cases[i].lasting, .unbiased = cases[i].unbiased};

        assert_int_equal(gcb_answer_kind(&a, &item), cases[i].kind);
    }
    assert_int_equal(gcb_answer_kind(&moved, &(struct gcb_answer_item){.error = 0.1}),
                     GCB_ERROR_EXACT);
    assert_int_equal(gcb_answer_kind(&moved, &(struct gcb_answer_item){.error = 0.3}),
                     GCB_ERROR_LOUD);
}

static void the_best_of_each_kind_is_chosen(void **state)
{
    const struct gcb_answer_item items[] = {
        ITEM("fp16", 0.0, 0.0, 1.0, BASE),     ITEM("bf16", 0.0, 0.0, 9.0, BASE),
        ITEM("exact", 0.01, 0.01, 1.5, PLAIN), ITEM("slower", 0.001, 0.0, 1.4, PLAIN),
        ITEM("noise", 0.3, 0.0, 1.9, PLAIN),   ITEM("loud", 0.5, 0.0, 20.0, PLAIN),
        ITEM("bare", 0.3, 0.3, 30.0, PLAIN),   ITEM("fed", 0.3, 0.2, 2.0, FED),
        ITEM("far", 0.9, 0.8, 40.0, FED),      ITEM("failed", NAN, NAN, 50.0, PLAIN),
    };

    expect(items, sizeof(items) / sizeof(items[0]), "exact", "noise", "fed");
    expect(items, 2, "", "", ""); /* never a baseline */
    expect(items, 0, "", "", "");
}

/* Of gains that are about the same, the smaller error decides. */
static void errors_decide_between_near_gains(void **state)
{
    const struct gcb_answer_item items[] = {
        ITEM("fastest", 0.04, 0.0, 2.0, PLAIN),  ITEM("close", 0.01, 0.0, 1.91, PLAIN),
        ITEM("slower", 0.001, 0.0, 1.89, PLAIN), ITEM("noise", 0.3, 0.0, 3.0, PLAIN),
        ITEM("less", 0.2, 0.0, 2.86, PLAIN),
    };

    expect(items, 5, "close", "less", "");
}

static void gains_decide(void **state)
{
    static const struct {
        double exact, noise, fed;
        const char *best, *noisy, *trained;
    } cases[] = {
        {1.1, 1.31, 1.31, "exact", "", "fed"}, {1.1, 1.33, 1.33, "exact", "noise", "fed"},
        {1.09, 1.21, 1.05, "", "noise", ""},   {1.09, 1.19, 1.09, "", "", ""},
        {2.0, 2.3, 1.9, "exact", "", ""},      {2.0, 2.5, 2.4, "exact", "noise", ""},
        {0.5, 0.5, 1.2, "", "", "fed"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct gcb_answer_item items[] = {
            ITEM("exact", 0.01, 0.01, cases[i].exact, PLAIN),
            ITEM("noise", 0.3, 0.0, cases[i].noise, PLAIN),
            ITEM("fed", 0.3, 0.2, cases[i].fed, FED),
        };

        expect(items, 3, cases[i].best, cases[i].noisy, cases[i].trained);
    }
}

static void rows_say_what_was_chosen(void **state)
{
    const struct gcb_answer_item items[] = {
        ITEM("exact", 0.01, 0.01, 1.5, PLAIN),
        ITEM("fed", 0.3, 0.2, 2.0, FED),
    };
    struct gcb_answer a = {.items = items, .count = 2, .bar = "fp16", .times = true};
    struct gcb_row row;
    char text[1000];

    gcb_answer_choose(&a);
    gcb_answer_row(&row, gcb_answer_text(text, sizeof(text), &a), &a);
    assert_string_equal(gcb_results_text(row.json, GCB_FIELD_BEST), "exact");
    assert_true(fabs(gcb_results_real(row.json, GCB_FIELD_BEST_ERROR) - 0.01) < 1e-12);
    assert_true(fabs(gcb_results_real(row.json, GCB_FIELD_BEST_GAIN) - 1.5) < 1e-12);
    assert_null(gcb_results_text(row.json, GCB_FIELD_NOISE));
    assert_true(isnan(gcb_results_real(row.json, GCB_FIELD_NOISE_GAIN)));
    assert_string_equal(gcb_results_text(row.json, GCB_FIELD_TRAIN), "fed");
    assert_string_equal(gcb_results_text(row.json, GCB_FIELD_ANSWER), text);
    gcb_row_fini(&row);
    /* a text that is too long for its room is cut */
    assert_true(strlen(gcb_answer_text(text, 20, &a)) < 20);
}

RUN_TESTS(cmocka_unit_test(kinds_follow_error_and_what_lasts),
          cmocka_unit_test(the_best_of_each_kind_is_chosen),
          cmocka_unit_test(errors_decide_between_near_gains), cmocka_unit_test(gains_decide),
          cmocka_unit_test(rows_say_what_was_chosen))
