/* Numbers and texts fit into the columns of tables, whatever was measured; a note on a busy
 * machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/output.h"
#include "cli/base/session.h"
#include "src/tool/base/host.h"
#include "src/tool/rows/number.h"
#include "tests/support/test.h"

static const double seconds[] = {1e-300, 1e-12, 1e-6, 1.0, 12345.6, 1e12, 1e300, NAN};
#define SECONDS (sizeof(seconds) / sizeof(seconds[0]))

/* The machine that notes are about. */
static struct gcb_host machine;

void __wrap_gcb_host_read(struct gcb_host *out);

void __wrap_gcb_host_read(struct gcb_host *out)
{
    *out = machine;
}

/* What is printed into `report`. */
struct printed {
    char *text;
    size_t size;
    struct out_report report;
};

static const double values[] = {
    0.0,     1.0,    -1.0,   0.123456789, 9.995,    99.995,   12345.678, 999999.5,
    1234567, 1e9,    1e-5,   1e-12,       -1e-12,   1.234e17, 1.234e99,  -1.234e99,
    1e300,   1e-300, 5e-324, -1e300,      INFINITY, NAN,
};
#define VALUES (sizeof(values) / sizeof(values[0]))

static void begin(struct printed *p)
{
    *p = (struct printed){.report.width = 80, .report.table = true};
    p->report.out = open_memstream(&p->text, &p->size);
    assert_non_null(p->report.out);
}

static void end(struct printed *p)
{
    fclose(p->report.out);
    free(p->text);
}

static bool has(const struct printed *p, const char *text)
{
    fflush(p->report.out);
    return strstr(p->text, text);
}

/* A cell of a speed fits into 11 columns. An interval as wide as the median is not shown in
 * percent. */
static void test_speed(void **state)
{
    static const struct gcb_table_column columns[] = {{.title = "enc GB/s"}};
    struct printed p;

    begin(&p);
    for (size_t v = 0; v < VALUES; v++)
        for (size_t s = 0; s < SECONDS; s++) {
            const struct gcb_times times = {
                .seconds = seconds[s], .low = seconds[s], .high = seconds[s] * (1.0 + values[v])};
            struct gcb_table *table = gcb_table_create(columns, 1);

            out_speed(table, values[v], &times);
            gcb_table_print(table, p.report.out, 11, false);
            gcb_table_destroy(table);
        }
    assert_false(has(&p, "too long"));
    end(&p);
    for (int wide = 0; wide < 2; wide++) {
        const struct gcb_times times = {.seconds = 1.0, .low = 1.0, .high = wide ? 83.86 : 1.5};
        struct gcb_table *table = gcb_table_create(columns, 1);

        begin(&p);
        out_speed(table, 2.0, &times);
        out_table(&p.report, table);
        assert_true(has(&p, wide ? "2.00 ±?" : "2.00 ±25%"));
        end(&p);
    }
}

/* Tables with speeds warn of a busy machine. */
static void test_load(void **state)
{
    for (int load = 1; load <= 3; load++) {
        struct printed p;

        machine = (struct gcb_host){.cpus = 2, .load1 = load};
        begin(&p);
        heading_note_load(p.report.out, 0);
        assert_int_equal(has(&p, "note: load 3.0 on 2 cpus: speeds may be low\n"), load == 3);
        assert_int_equal(has(&p, "load"), load == 3);
        end(&p);
    }
    for (unsigned repeat = 0; repeat < 12; repeat++) {
        struct printed p;

        begin(&p);
        heading_note_load(p.report.out, repeat);
        assert_int_equal(has(&p, "--repeat 9"), repeat > 0 && repeat < 9);
        end(&p);
    }
    machine = (struct gcb_host){.cpus = -1, .load1 = -1.0};
}

/* Numbers fit into their column; digits are dropped first. */
static void test_numbers(void **state)
{
    static const struct {
        double value;
        int digits;
        size_t width;
        const char *text;
    } known[] = {
        {1.2345, 3, 6, "1.23"},       {123456.0, 3, 6, "123456"}, {1234567.0, 3, 6, "1e+06"},
        {1234567.0, 3, 7, "1234567"}, {1.5e12, 3, 7, "1.5e+12"},  {1e300, 3, 6, "1e+300"},
        {-1e300, 3, 6, "?"},          {-1e300, 3, 7, "-1e+300"},  {NAN, 3, 1, "-"},
        {0.000123, 3, 6, "1e-04"},    {0.12345, 4, 5, "0.123"},
    };
    char text[32];

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_string_equal(
            gcb_number_within(text, known[i].value, known[i].digits, known[i].width),
            known[i].text);
    for (size_t v = 0; v < VALUES; v++)
        for (size_t width = 1; width < 12; width++) {
            assert_true(strlen(gcb_number_within(text, values[v], 3, width)) <= width);
            assert_true(width < 7 || text[0] != '?');
        }
    assert_string_equal(gcb_percent(text, 41.432), "4143.2 %");
    assert_string_equal(gcb_percent(text, 1e300), "1.0e+302 %");
}

/* Text is cut first. A column of numbers that has no room is left out, with a note. Titles are
 * never cut. */
static void test_table(void **state)
{
    static const struct gcb_table_column columns[] = {
        {.title = "method", .elastic = true}, {.title = "ratio"}, {.title = "end", .text = true}};
    struct gcb_table *table;
    struct printed p;

    begin(&p);
    table = gcb_table_create(columns, 3);
    gcb_table_cell(table, "a.long.name");
    gcb_table_cell(table, "12.5");
    gcb_table_cell(table, "time");
    gcb_table_cell(table, "b");
    gcb_table_cell(table, "12345678901234");
    gcb_table_cell(table, "maximum");
    gcb_table_print(table, p.report.out, 23, false);
    gcb_table_destroy(table);
    fflush(p.report.out);
    assert_string_equal(p.text, "method    ratio  end\n"
                                "a.long.name\n"
                                "           12.5  time\n"
                                "b             ?  ma..um\n"
                                "?: too long for the table; --format json shows it\n");
    end(&p);
}

RUN_TESTS(cmocka_unit_test(test_numbers), cmocka_unit_test(test_table),
          cmocka_unit_test(test_speed), cmocka_unit_test(test_load))
