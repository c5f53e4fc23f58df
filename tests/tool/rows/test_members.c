/* Fields of rows that are read without JSON values: the same values as with them, or none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/tool/rows/results.h"

static const enum gcb_field fields[] = {GCB_FIELD_SCHEMA, GCB_FIELD_FILE,   GCB_FIELD_SPEC,
                                        GCB_FIELD_RATIO,  GCB_FIELD_KEPT,   GCB_FIELD_COSINE,
                                        GCB_FIELD_PARAMS, GCB_FIELD_REASON, GCB_FIELD_LOW};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static struct gcb_members members;

/* Reads a line without JSON values. Returns whether that was possible. */
static bool read_line(const char *line)
{
    static char copy[4096];
    const size_t length = strlen(line);
    bool read;

    for (size_t i = 0; i < FIELDS; i++)
        members.wanted[fields[i]] = true;
    memcpy(copy, line, length + 1);
    read = gcb_members_read(&members, copy, length);
    if (!read)
        assert_memory_equal(copy, line, length + 1);
    return read;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Compares the last line's fields with the same line as JSON. */
static void check_fields(const char *line, const json_t *json)
{
    const struct gcb_results_row slim = {.members = &members}, full = {.json = json};

    for (size_t i = 0; i < FIELDS; i++) {
        const double a = gcb_results_row_real(&slim, fields[i]);
        const double b = gcb_results_row_real(&full, fields[i]);

        if (!same_text(gcb_results_row_text(&slim, fields[i]),
                       gcb_results_row_text(&full, fields[i])) ||
            !(a == b || (isnan(a) && isnan(b))) ||
            gcb_results_row_u64(&slim, fields[i]) != gcb_results_row_u64(&full, fields[i]))
            fail_msg("%s of %s", gcb_field_name(fields[i]), line);
    }
}

static void test_read(void **state)
{
    static const char *const lines[] = {
        "{\"schema\": 1, \"file\": \"a b.h5\", \"kept\": 7, \"ratio\": 0.25, \"low\": null}",
        "{\"schema\":1,\"later\":{\"a\":[1,{\"b\":\"}]\"}]},\"spec\":\"\"}",
        "{\"schema\": 1, \"later\": [[], {}], \"kept\": -3, \"low\": -1.5e-07, \"cosine\": 1e+10}",
        "{\"kept\": 999999999999999999, \"ratio\": 123456789012345678, \"cosine\": 0}",
        "{\"spec\": true, \"ratio\": \"7\", \"low\": 1E3, \"later\": false}",
        "{\"kept\": 9007199254740993, \"later\": 0.1, \"ratio\": 0.1}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        json_t *json = json_loads(lines[i], JSON_REJECT_DUPLICATES, NULL);

        assert_non_null(json);
        for (int again = 0; again < 2; again++) { /* then with the names of the line before */
            assert_true(read_line(lines[i]));
            check_fields(lines[i], json);
        }
        json_decref(json);
    }
}

/* Lines that need JSON, valid and not. */
static void test_left(void **state)
{
    static const char *const lines[] = {
        "",
        "{",
        "{}",
        "[1]",
        "{\"spec\": \"a\\u0041\"}",
        "{\"spec\": \"\xc3\xa4\"}",
        "{\"spec\": \"a\tb\"}",
        "{\"sp\\u0065c\": 1}",
        "{\"kept\": 1, \"kept\": 1}",
        "{\"kept\": 1} ",
        "{\"kept\": 1,}",
        "{\"kept\": 1 \"ratio\": 2}",
        "{\"kept\" 1}",
        "{\"kept\": }",
        "{\"kept\": 01}",
        "{\"kept\": +1}",
        "{\"kept\": .5}",
        "{\"kept\": 5.}",
        "{\"kept\": 1e}",
        "{\"kept\": 1e999}",
        "{\"kept\": 0x10}",
        "{\"kept\": nan}",
        "{\"kept\": nullx}",
        "{\"kept\": 1234567890123456789}",
        "{\"later\": [1, 2}",
        "{\"kept\": [}",
        "{\"params\": {\"a\": 1}}",
        "{\"later\": \"a}",
        "{\"a name that is longer than the name of any field there is\": 1}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (read_line(lines[i]))
            fail_msg("%s was read", lines[i]);
}

/* A row with more members than there is room for. */
static void test_many(void **state)
{
    char line[4096] = "{\"kept\": 1";

    (void)state;
    for (int i = 0; i < GCB_MEMBERS_KEYS; i++)
        sprintf(line + strlen(line), ", \"x%d\": 1", i);
    strcat(line, "}");
    assert_false(read_line(line));
}

/* Random changes: what is read has the values that JSON gives. */
static void test_changed(void **state)
{
    static const char line[] = "{\"schema\": 1, \"file\": \"a.h5\", \"spec\": \"topk:theta=0.9\", "
                               "\"params\": {\"theta\": 0.9, \"x\": [\"y\"]}, \"ratio\": 12.5e-1, "
                               "\"kept\": 70, \"cosine\": null, \"low\": -0.5}";
    static const char letters[] = "{}[],:\" \\0159-+.eEnultrfa";
    uint32_t seed = 1;
    size_t read = 0;

    (void)state;
    for (int n = 0; n < 50000; n++) {
        char changed[sizeof(line)];
        json_t *json;

        memcpy(changed, line, sizeof(line));
        for (unsigned i = 0; i < 1 + seed % 2; i++) {
            seed = seed * 1664525u + 1013904223u;
            changed[(seed >> 8) % (sizeof(line) - 1)] =
                letters[(seed >> 3) % (sizeof(letters) - 1)];
        }
        seed = seed * 1664525u + 1013904223u;
        json = json_loads(changed, JSON_REJECT_DUPLICATES, NULL);
        if (read_line(changed) && json) {
            check_fields(changed, json);
            read++;
        }
        json_decref(json);
    }
    assert_true(read > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
