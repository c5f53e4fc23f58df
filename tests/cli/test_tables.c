/* Every table that shows measured numbers stays within 80 columns, whatever was measured, and says
 * whether the machine was busy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/replay.h"
#include "src/lib/base/alloc.h"
#include "src/tool/base/host.h"
#include "src/tool/rows/number.h"
#include "tests/cli/printed.h"
#include "tests/support/test.h"

static const double seconds[] = {1e-300, 1e-12, 1e-6, 1.0, 12345.6, 1e12, 1e300, NAN};
#define SECONDS (sizeof(seconds) / sizeof(seconds[0]))

static const char *specs[] = {"identity", "topk", "fft", "qsgd"};
static struct gcb_method methods[4];

/* The machine that notes are about. */
static struct gcb_host machine;

void __wrap_gcb_host_read(struct gcb_host *out);

void __wrap_gcb_host_read(struct gcb_host *out)
{
    *out = machine;
}

static int parse(void **state)
{
    int err = 0;

    for (size_t i = 0; !err && i < 4; i++)
        err = gcb_method_parse(&methods[i], specs[i], NULL);
    return err;
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
        assert_int_equal(out_table(&p.report, table, NULL), 0);
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

/* Only an input of zeros, or one near the largest float, has a note. */
static void test_values(void **state)
{
    static const double squares[] = {1.0, 0.0, 4e76, INFINITY, NAN};

    for (size_t i = 0; i < sizeof(squares) / sizeof(squares[0]); i++) {
        struct printed p;

        begin(&p);
        out_note_values(p.report.out, squares[i]);
        assert_int_equal(has(&p, "note: "), i > 0);
        end(&p);
    }
}

/* The columns of compress and merge, and as many as a table of bench has, with speeds, or of its
 * kernels. */
static void show_methods(double v, double w)
{
    static const struct gcb_table_column bench[] = {{.title = "method", .elastic = true},
                                                    {.title = "ratio"},
                                                    {.title = "rel L2"},
                                                    {.title = "enc GB/s"},
                                                    {.title = "dec GB/s"},
                                                    {.title = "sum GB/s"},
                                                    {.title = "% of mem"},
                                                    {.title = "end", .text = true}};
    struct gcb_tally tally = {.messages = 1,
                              .elements = UINT64_MAX,
                              .input_bytes = UINT64_MAX,
                              .wire_bytes = v < 0.0 ? UINT64_MAX : 1};
    struct gcb_table *tables[] = {gcb_table_create(out_columns, OUT_COLUMNS),
                                  gcb_table_create(bench, 8)};
    struct printed p;
    char text[64];

    tally.encode = tally.decode = (struct gcb_times){.seconds = w, .low = w, .high = v};
    tally.fidelity.dd = fabs(v);
    tally.fidelity.xx = fabs(w);
    tally.fidelity.xy = w;
    begin(&p);
    for (int i = 0; i < 2; i++)
        gcb_table_cell(tables[i], "sparse:transform=dct,chunk=4096,values=range,bits=5 *");
    out_figures(tables[0], out_columns, OUT_COLUMNS, &tally, 8);
    out_cell(tables[1], GCB_FIELD_RATIO, v, 7);
    out_cell(tables[1], GCB_FIELD_REL_L2, w, 0);
    for (int i = 0; i < 3; i++)
        out_speed(tables[1], i == 1 ? w : v, &tally.encode);
    gcb_table_cell(tables[1], gcb_percent(text, v));
    gcb_table_cell(tables[1], "time");
    for (int i = 0; i < 2; i++)
        assert_int_equal(out_table(&p.report, tables[i], NULL), 0);
    end(&p);
}

static void test_methods(void **state)
{
    for (size_t i = 0; i < VALUES; i++)
        for (size_t j = 0; j < VALUES; j++)
            show_methods(values[i], values[j]);
}

static struct gcb_replay_figures replay_figures(double v, double w)
{
    return (struct gcb_replay_figures){
        .sent = {.tally = {.messages = 1, .wire_bytes = UINT64_MAX},
                 .rounds = GCB_REPLAY_ROUNDS,
                 .link_bytes = UINT64_MAX},
        .ratio = v,
        .density = w,
        .union_density = v,
        .alpha = v,
        .cosine = w,
        .second_error = w,
        .dropped = v,
        .cumulative_error = v,
        .residual_norm = w,
        .staleness_median = UINT64_MAX,
        .staleness_p99 = UINT64_MAX,
        .clamped_share = v,
    };
}

static struct gcb_replay_total replay_total(double v, double w)
{
    return (struct gcb_replay_total){
        .steps = 1,
        .figures = replay_figures(w, v),
        .unsent_steps = UINT64_MAX,
        .contraction_min = w,
        .contraction_mean = w,
        .bound_ratio = v,
        .feedback = true,
    };
}

static void show_replay(double v, double w)
{
    const struct gcb_replay_step step = {
        .step = UINT64_MAX, .figures = replay_figures(v, w), .theta = v};
    const struct gcb_replay_plan plan = {.workers = 1, .sources = 1};
    struct gcb_label *labels = gcb_label_methods(methods, sizeof(*methods), 4);
    struct gcb_replay_total all[4];
    struct gcb_table *table;
    struct printed p;

    assert_non_null(labels);
    begin(&p);
    for (int scheduled = 0; scheduled < 2; scheduled++) {
        table = replay_steps_create(scheduled);
        replay_steps_add(table, &step, scheduled);
        assert_int_equal(out_table(&p.report, table, NULL), 0);
    }
    for (size_t i = 0; i < 4; i++)
        all[i] = replay_total(v, w);
    assert_int_equal(replay_show_totals(&p.report, methods, labels, &plan, all, 4, NULL), 0);
    replay_show_notes(p.report.out, &methods[1], &all[1], "topk");
    end(&p);
    gcb_free(labels);
}

static void test_replay(void **state)
{
    for (size_t i = 0; i < VALUES; i++)
        for (size_t j = 0; j < VALUES; j++)
            show_replay(values[i], values[j]);
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

RUN_TESTS_BETWEEN(parse, NULL, cmocka_unit_test(test_numbers), cmocka_unit_test(test_table),
                  cmocka_unit_test(test_speed), cmocka_unit_test(test_replay),
                  cmocka_unit_test(test_load), cmocka_unit_test(test_methods),
                  cmocka_unit_test(test_values))
