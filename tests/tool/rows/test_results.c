/* Reading result files: the order of rows, and each kind of damaged or wrong file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tool/rows/results.h"
#include "tests/support/test.h"

struct seen {
    char records[64];
    uint64_t rows, last_line;
    double sum;
    int stop_at; /* visit fails at this row, counted from 1 */
};

static int visit(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct seen *s = ctx;

    s->records[s->rows++] = row->record[0];
    s->last_line = row->line;
    s->sum += isnan(gcb_results_real(row->json, GCB_FIELD_LOW))
                  ? 0.0
                  : gcb_results_real(row->json, GCB_FIELD_LOW);
    if (s->stop_at && s->rows == (uint64_t)s->stop_at)
        return gcb_diag_set(diag, GCB_E_INVALID, "stopped");
    return 0;
}

static int read_records(struct seen *s, const char *text, size_t length, unsigned records,
                        struct gcb_diag *diag)
{
    char path[] = "/tmp/gcbench-results-XXXXXX";
    const int fd = mkstemp(path);
    int err;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), (ssize_t)length);
    close(fd);
    memset(diag, 0, sizeof(*diag));
    err = gcb_results_read(NULL, path, records, visit, s, diag);
    unlink(path);
    return err;
}

static int read_text(struct seen *s, const char *text, size_t length, struct gcb_diag *diag)
{
    return read_records(s, text, length, GCB_RESULTS_ALL, diag);
}

/* Rows of other records are left out, however they are written. Rows of unknown records are not. */
static void test_unwanted(void **state)
{
    static const char text[] =
        "{\"record\": \"result\", \"schema\": 1, \"low\": }\n" /* not parsed */
        "{\"record\":\"result\",\"schema\":1,\"low\":2}\n"
        "{\"schema\": 1, \"record\": \"result\"}\n"
        "{\"record\": \"summary\", \"schema\": 1, \"low\": 8}\n"
        "{\"record\": \"unheard\", \"schema\": 1}\n";
    static const char cut[] = "{\"record\": \"result\", \"schema\": 1, \"low\"\n";
    struct seen s = {.rows = 0};
    struct gcb_diag diag;

    assert_int_equal(
        read_records(&s, text, strlen(text), GCB_RECORD_BIT(GCB_RECORD_SUMMARY), &diag), 0);
    assert_string_equal(s.records, "su");
    assert_true(s.sum == 8.0);
    assert_int_equal(read_records(&s, cut, strlen(cut), GCB_RECORD_BIT(GCB_RECORD_SUMMARY), &diag),
                     GCB_E_CORRUPT);
}

static void test_rows(void **state)
{
    static const char text[] = "{\"record\":\"environment\",\"schema\":1}\n"
                               "{\"record\":\"result\",\"schema\":1,\"low\":2}\n"
                               "{\"record\":\"summary\",\"schema\":1,\"low\":0.5,\"y\":null,"
                               "\"step\":18446744073709551616.0,\"mean_error\":-1}\n";
    struct seen s = {.rows = 0};
    struct gcb_diag diag;

    assert_int_equal(read_text(&s, text, strlen(text), &diag), 0);
    assert_string_equal(s.records, "ers");
    assert_int_equal(s.last_line, 3);
    assert_true(s.sum == 2.5);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "no results"},
        {"\n", "line 1: empty"},
        {"{\"record\":\"result\",\"schema\":1}", "line 1: incomplete"},
        {"{\"record\":\"result\",\"schema\":1}\n{\"rec", "line 2: incomplete"},
        {"{\"record\":\"result\",\"schema\":1}\n\n", "line 2: empty"},
        {"record,file\n", "line 1: not JSON but csv"},
        {"record\tfile\n", "--results"},
        {"\x89HDF\r\n\x1a\n", "an HDF5 file, not results"},
        {"{\"record\":\"result\",\"schema\":1}\n\x89HDF\r\n", "line 2: not JSON"},
        {"[1]\n", "not a row"},
        {"{\"schema\":1}\n", "no \"record\""},
        {"{\"record\":1,\"schema\":1}\n", "no \"record\""},
        {"{\"record\":\"result\"}\n", "schema"},
        {"{\"record\":\"result\",\"schema\":2}\n", "schema"},
        {"{\"record\":\"a\",\"record\":\"b\",\"schema\":1}\n", "not JSON"},
        {"{\"record\":\"result\",\"schema\":1,\"wire_bytes\":-5}\n",
         "line 1: its field `wire_bytes`"},
        {"{\"record\":\"result\",\"schema\":1,\"wire_bytes\":1e308}\n", "`wire_bytes`"},
        {"{\"record\":\"result\",\"schema\":1,\"rel_l2\":\"x\"}\n", "`rel_l2`"},
        {"{\"record\":\"summary\",\"schema\":1,\"rel_l2\":-1}\n", "`rel_l2`"},
        {"{\"record\":\"summary\",\"schema\":1,\"encode_seconds\":-1}\n", "`encode_seconds`"},
        {"{\"record\":\"summary\",\"schema\":1,\"pareto\":1}\n", "`pareto`"},
        {"{\"record\":\"result\",\"schema\":1,\"sums\":{\"zeros\":0.5}}\n", "`zeros`"},
        {"{\"record\":\"result\",\"schema\":1,\"encode_seconds_samples\":[1,-1]}\n", "_samples`"},
        {"{\"record\":\"result\",\"schema\":1,\"sums\":{\"errors\":-1e308}}\n", "`errors`"},
        {"{\"record\":\"result\",\"schema\":1,\"method\":[]}\n", "`method`"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct seen s = {.rows = 0};
        struct gcb_diag diag;

        assert_int_equal(read_text(&s, cases[i].text, strlen(cases[i].text), &diag), GCB_E_CORRUPT);
        if (!strstr(diag.text, cases[i].words))
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, diag.text, cases[i].words);
    }
}

/* Binary data is refused with a message: a NUL byte, or bytes that are not UTF-8. */
static void test_binary(void **state)
{
    static const char nul[] = "{\"record\":\"a\0b\",\"schema\":1}\n";
    struct seen s = {.rows = 0};
    struct gcb_diag diag;

    assert_int_equal(read_text(&s, nul, sizeof(nul) - 1, &diag), GCB_E_CORRUPT);
    assert_int_equal(read_text(&s, "\xff\xfe\n", 3, &diag), GCB_E_CORRUPT);
    assert_int_equal(s.rows, 0);
}

static void test_missing(void **state)
{
    struct seen s = {.rows = 0};
    struct gcb_diag diag = {0};

    assert_int_equal(
        gcb_results_read(NULL, "/nonexistent\n/r.json", GCB_RESULTS_ALL, visit, &s, &diag),
        GCB_E_IO);
    assert_non_null(strstr(diag.text, "\\x0a"));
    assert_int_equal(gcb_results_read(NULL, "/tmp", GCB_RESULTS_ALL, visit, &s, &diag), GCB_E_IO);
}

static void test_visitor_stops(void **state)
{
    static const char text[] = "{\"record\":\"a\",\"schema\":1}\n{\"record\":\"b\",\"schema\":1}\n";
    struct seen s = {.stop_at = 1};
    struct gcb_diag diag;

    assert_int_equal(read_text(&s, text, strlen(text), &diag), GCB_E_INVALID);
    assert_int_equal(s.rows, 1);
}

static void test_fields(void **state)
{
    json_t *row = json_loads(
        "{\"spec\":\"x\",\"kept\":7,\"ratio\":0.25,\"cosine\":null,\"min\":-1,\"baseline\":true}",
        0, NULL);

    assert_string_equal(gcb_results_text(row, GCB_FIELD_SPEC), "x");
    assert_null(gcb_results_text(row, GCB_FIELD_KEPT));
    assert_null(gcb_results_text(row, GCB_FIELD_REASON));
    assert_true(gcb_results_real(row, GCB_FIELD_KEPT) == 7.0 &&
                gcb_results_real(row, GCB_FIELD_RATIO) == 0.25);
    assert_true(isnan(gcb_results_real(row, GCB_FIELD_COSINE)) &&
                isnan(gcb_results_real(row, GCB_FIELD_SPEC)));
    assert_int_equal(gcb_results_u64(row, GCB_FIELD_KEPT), 7);
    assert_int_equal(gcb_results_u64(row, GCB_FIELD_MIN), 0);
    assert_int_equal(gcb_results_u64(row, GCB_FIELD_RATIO), 0);
    assert_true(gcb_results_bool(row, GCB_FIELD_BASELINE) &&
                !gcb_results_bool(row, GCB_FIELD_KEPT));
    json_decref(row);
}

RUN_TESTS(cmocka_unit_test(test_rows), cmocka_unit_test(test_unwanted),
          cmocka_unit_test(test_refused), cmocka_unit_test(test_binary),
          cmocka_unit_test(test_missing), cmocka_unit_test(test_visitor_stops),
          cmocka_unit_test(test_fields))
