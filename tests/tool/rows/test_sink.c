/* Rows, sinks and tables: the exact bytes that are written, and the errors of a stream that cannot
 * be written. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tool/rows/sink.h"
#include "src/tool/rows/table.h"
#include "tests/support/test.h"

enum { records = GCB_RECORD_BIT(GCB_RECORD_HISTOGRAM) | GCB_RECORD_BIT(GCB_RECORD_SPECTRUM) };

#define HEADER \
    "record,tensor,by,low,high,count,share,bins,energy,energy_share,max_magnitude,threshold," \
    "density"

/* A row with a value of each type, in fields chosen for their order alone. */
static void make_row(struct gcb_row *row, enum gcb_record record, const char *text)
{
    gcb_row_init(row, record);
    gcb_row_real(row, GCB_FIELD_LOW, 0.8);
    gcb_row_text(row, GCB_FIELD_TENSOR, text);
    gcb_row_u64(row, GCB_FIELD_COUNT, 7);
    gcb_row_bool(row, GCB_FIELD_SHARE, true);
    gcb_row_real(row, GCB_FIELD_HIGH, NAN);
    gcb_row_real(row, GCB_FIELD_ENERGY, -INFINITY);
    gcb_row_real(row, GCB_FIELD_BINS, 5.0);
    gcb_row_null(row, GCB_FIELD_BY);
    gcb_row_text(row, GCB_FIELD_DENSITY, NULL);
}

/* The output of a sink for rows with these texts, as a string to free. */
static char *written(enum gcb_format format, const char *const *texts, size_t n)
{
    struct gcb_sink *sink = NULL;
    char *data = NULL;
    size_t size;
    FILE *f = open_memstream(&data, &size);

    assert_int_equal(gcb_sink_create(&sink, format, f, "memory", records, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        struct gcb_row row;

        make_row(&row, i % 2 ? GCB_RECORD_SPECTRUM : GCB_RECORD_HISTOGRAM, texts[i]);
        assert_int_equal(gcb_sink_put(sink, &row, NULL), 0);
        gcb_row_fini(&row);
    }
    gcb_sink_destroy(sink);
    fclose(f);
    return data;
}

static void test_json(void **state)
{
    const char *const texts[] = {"x\"\n\xff"};
    char *data = written(GCB_FORMAT_JSON, texts, 1);

    assert_string_equal(data,
                        "{\"record\": \"histogram\", \"schema\": 1, \"low\": 0.8, \"tensor\": "
                        "\"x\\\"\\\\x0a\\\\xff\", \"count\": 7, \"share\": true, \"high\": null, "
                        "\"energy\": null, \"bins\": 5.0, \"by\": null, \"density\": null}\n");
    free(data);
}

static void test_any_key(void **state)
{
    struct gcb_sink *sink = NULL;
    char *data = NULL;
    size_t size;
    FILE *f = open_memstream(&data, &size);
    struct gcb_row row = {.json = json_pack("{si}", "a\"b\n", 1)};

    assert_int_equal(gcb_sink_create(&sink, GCB_FORMAT_JSON, f, "memory", records, NULL), 0);
    assert_int_equal(gcb_sink_put(sink, &row, NULL), 0);
    fclose(f);
    assert_string_equal(data, "{\"a\\\"b\\n\": 1}\n");
    gcb_row_fini(&row);
    gcb_sink_destroy(sink);
    free(data);
}

static void test_csv(void **state)
{
    const char *const texts[] = {"plain", "a,b", "q\"q", "=1+1", "-x,", "tab\t", ""};
    char *data = written(GCB_FORMAT_CSV, texts, 7);

    assert_string_equal(data, HEADER "\n"
                                     "histogram,plain,,0.8,,7,true,5,,,,,\n"
                                     "spectrum,\"a,b\",,0.8,,7,true,5,,,,,\n"
                                     "histogram,\"q\"\"q\",,0.8,,7,true,5,,,,,\n"
                                     "spectrum,'=1+1,,0.8,,7,true,5,,,,,\n"
                                     "histogram,\"'-x,\",,0.8,,7,true,5,,,,,\n"
                                     "spectrum,tab\\x09,,0.8,,7,true,5,,,,,\n"
                                     "histogram,,,0.8,,7,true,5,,,,,\n");
    free(data);
}

/* Returns a row as csv, and releases the row. The caller frees the text. */
static char *csv_of(struct gcb_row *row)
{
    struct gcb_sink *sink = NULL;
    char *data = NULL;
    size_t size;
    FILE *f = open_memstream(&data, &size);

    assert_int_equal(gcb_sink_create(&sink, GCB_FORMAT_CSV, f, "memory", records, NULL), 0);
    assert_int_equal(gcb_sink_put(sink, row, NULL), 0);
    fclose(f);
    gcb_row_fini(row);
    gcb_sink_destroy(sink);
    return data;
}

/* A row from a file may have a text that is not escaped. */
static void test_csv_escapes_again(void **state)
{
    struct gcb_row row = {
        .json = json_pack("{ssss}", "record", "histogram", "tensor", "a\nb\x1b[1m,\\x0a")};
    char *data = csv_of(&row);

    assert_string_equal(data, HEADER "\nhistogram,\"a\\x0ab\\x1b[1m,\\x0a\",,,,,,,,,,,\n");
    free(data);
}

static void test_table_drops_rows(void **state)
{
    const char *const texts[] = {"x"};
    char *data = written(GCB_FORMAT_TABLE, texts, 1);

    assert_string_equal(data, "");
    free(data);
}

static void test_other_records_stay_out_of_csv(void **state)
{
    struct gcb_row row;
    char *data;

    make_row(&row, GCB_RECORD_ENVIRONMENT, "x");
    data = csv_of(&row);
    assert_string_equal(data, HEADER "\n");
    free(data);
}

static void test_large_numbers(void **state)
{
    struct gcb_row row;

    gcb_row_init(&row, GCB_RECORD_HISTOGRAM);
    gcb_row_u64(&row, GCB_FIELD_MAX, UINT64_MAX);
    gcb_row_u64(&row, GCB_FIELD_MIN, INT64_MAX);
    assert_true(json_is_real(json_object_get(row.json, "max")));
    assert_true(json_integer_value(json_object_get(row.json, "min")) == INT64_MAX);
    gcb_row_fini(&row);
}

static void test_method(void **state)
{
    struct gcb_method m;
    struct gcb_row row;
    json_t *params;

    assert_int_equal(gcb_method_parse(&m, "topk:density=0.25", NULL), 0);
    gcb_row_init(&row, GCB_RECORD_RESULT);
    gcb_row_method(&row, &m);
    assert_string_equal(json_string_value(json_object_get(row.json, "method")), "topk");
    params = json_object_get(row.json, "params");
    assert_true(json_real_value(json_object_get(params, "theta")) == 0.75);
    assert_string_equal(json_string_value(json_object_get(params, "values")), "fp32");
    assert_null(json_object_get(params, "bits")); /* has no effect with fp32 */
    gcb_row_fini(&row);
}

static void test_full_disk(void **state)
{
    static const enum gcb_format formats[] = {GCB_FORMAT_JSON, GCB_FORMAT_CSV, GCB_FORMAT_TSV};

    for (size_t i = 0; i < 3; i++) {
        FILE *f = fopen("/dev/full", "w");
        struct gcb_sink *sink = NULL;
        struct gcb_diag diag = {0};
        struct gcb_row row;
        int err;

        assert_non_null(f);
        make_row(&row, GCB_RECORD_HISTOGRAM, "x");
        err = gcb_sink_create(&sink, formats[i], f, "the stream", records, &diag);
        if (!err)
            err = gcb_sink_put(sink, &row, &diag);
        assert_int_equal(err, GCB_E_IO);
        assert_string_equal(diag.text, "the stream: cannot write: No space left on device");
        gcb_row_fini(&row);
        gcb_sink_destroy(sink);
        fclose(f);
    }
}

static void test_reader_gone(void **state)
{
    struct gcb_sink *sink = NULL;
    struct gcb_diag diag = {.text = "old words"};
    struct gcb_row row;
    int ends[2];
    FILE *f;

    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    f = fdopen(ends[1], "w");
    close(ends[0]);
    make_row(&row, GCB_RECORD_HISTOGRAM, "x");
    assert_int_equal(gcb_sink_create(&sink, GCB_FORMAT_JSON, f, "s", records, &diag), 0);
    assert_int_equal(gcb_sink_put(sink, &row, &diag), GCB_E_IO);
    assert_string_equal(diag.text, "");
    gcb_row_fini(&row);
    gcb_sink_destroy(sink);
    fclose(f);
}

/* Scripts depend on the names and the order of the csv columns of results. */
static void test_result_columns(void **state)
{
    static const char *const first[] = {"record",  "file",  "step",   "worker",  "tensor",
                                        "scope",   "order", "method", "spec",    "device",
                                        "threads", "isa",   "status", "elements"};

    enum gcb_field columns[GCB_FIELDS];
    const size_t count = gcb_field_columns(columns, GCB_RESULT_RECORDS);

    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        assert_string_equal(gcb_field_name(columns[i]), first[i]);
    assert_true(count > 110);
    assert_string_equal(gcb_field_name(columns[110]), "shuffle"); /* new columns come after it */
    for (size_t i = 0; i < count; i++)
        assert_int_not_equal(columns[i], GCB_FIELD_PARAMS);
}

static char *drawn(unsigned width, bool color)
{
    static const struct gcb_table_column cols[] = {{.title = "name", .elastic = true},
                                                   {.title = "n"}};
    struct gcb_table *t = gcb_table_create(cols, 2);
    char *data = NULL;
    size_t size;
    FILE *f = open_memstream(&data, &size);

    gcb_table_cell(t, "caf\u00e9");
    gcb_table_cell(t, "1");
    gcb_table_cell(t, "a.long.name.of.a.tensor");
    gcb_table_cell(t, "200");
    gcb_table_cell(t, "\u6f22\u5b57");
    gcb_table_cell(t, NULL);
    assert_int_equal(gcb_table_rows(t), 3);
    gcb_table_print(t, f, width, color);
    gcb_table_destroy(t);
    fclose(f);
    return data;
}

static void test_table(void **state)
{
    char *data = drawn(80, false);

    assert_string_equal(data, "name                       n\n"
                              "caf\u00e9                       1\n"
                              "a.long.name.of.a.tensor  200\n"
                              "\u6f22\u5b57                       -\n");
    free(data);
    data = drawn(17, true);
    assert_string_equal(data, "\033[1mname            n\033[0m\n"
                              "caf\u00e9            1\n"
                              "a.long...a.tensor\n"
                              "              200\n"
                              "\u6f22\u5b57            -\n");
    free(data);
}

RUN_TESTS(cmocka_unit_test(test_json), cmocka_unit_test(test_any_key), cmocka_unit_test(test_csv),
          cmocka_unit_test(test_csv_escapes_again), cmocka_unit_test(test_table_drops_rows),
          cmocka_unit_test(test_other_records_stay_out_of_csv),
          cmocka_unit_test(test_large_numbers), cmocka_unit_test(test_method),
          cmocka_unit_test(test_full_disk), cmocka_unit_test(test_reader_gone),
          cmocka_unit_test(test_result_columns), cmocka_unit_test(test_table))
