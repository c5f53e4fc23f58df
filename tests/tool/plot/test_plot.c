/* Plots without drawing: the rows that are kept, how curves are found and named, and how texts are escaped. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/method.h"
#include "src/tool/plot/plot_bins.h"
#include "src/tool/plot/plot_labels.h"
#include "src/tool/plot/plot_page.h"
#include "src/tool/plot/plot_rows.h"
#include "src/tool/plot/plot_series.h"
#include "src/tool/plot/plots.h"

static struct gcb_plot_data *read_rows(const char *text)
{
    char path[] = "/tmp/gcbench-plot-XXXXXX";
    const int fd = mkstemp(path);
    struct gcb_plot_data *data;
    struct gcb_diag diag = {0};

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    assert_int_equal(gcb_plot_data_create(&data, &diag), 0);
    assert_int_equal(gcb_plot_data_read(data, path, &diag), 0);
    unlink(path);
    return data;
}

#define ROW(record, rest) "{\"record\":\"" record "\",\"schema\":1," rest "}\n"
#define CASE(method, spec, bits, error) \
    ROW("summary", \
        "\"file\":\"d/a.h5\",\"scope\":\"tensor\",\"status\":\"ok\",\"method\":\"" method \
        "\",\"spec\":\"" spec "\",\"bits_per_element\":" bits ",\"rel_l2\":" error)

static void test_rows(void **state)
{
    struct gcb_plot_data *data =
        read_rows(ROW("environment", "\"cpu_model\":\"X\",\"input_xxh3\":[{\"file\":\"in.h5\"}]")
                      CASE("topk", "topk:theta=0.9", "3", "0.5") ROW("nobody", "\"x\":1")
                          CASE("topk", "topk:theta=0.8", "null", "0.25"));
    const struct gcb_plot_record *c = data->kinds[GCB_RECORD_SUMMARY].items;

    (void)state;
    assert_int_equal(data->kinds[GCB_RECORD_SUMMARY].count, 2);
    assert_ptr_equal(c[0].method, c[1].method); /* interned */
    assert_ptr_not_equal(c[0].spec, c[1].spec);
    assert_true(c[0].bits == 3.0 && isnan(c[1].bits) && isnan(c[0].cosine));
    assert_string_equal(c[0].device, "");
    assert_string_equal(gcb_plot_env_of(data, c[0].env)->file, "in.h5");
    assert_string_equal(gcb_plot_env_of(data, 0)->cpu_model, "");
    assert_int_equal(gcb_plot_pages(&gcb_plot_rate_distortion, data), 1);
    assert_int_equal(gcb_plot_pages(&gcb_plot_throughput, data), 0);
    gcb_plot_data_destroy(data);
}

/* An escaped text stays as it is; another is escaped. */
static void test_texts_are_safe(void **state)
{
    struct gcb_plot_data *data;

    (void)state;
    assert_int_equal(gcb_plot_data_create(&data, NULL), 0);
    assert_string_equal(gcb_plot_intern(data, "a\\x0ab"), "a\\x0ab");
    assert_string_equal(gcb_plot_intern(data, "a\x1b[31m\nb"), "a\\x1b[31m\\x0ab");
    assert_string_equal(gcb_plot_intern(data, NULL), "");
    gcb_plot_data_destroy(data);
}

static void test_quoting(void **state)
{
    const char *const columns[] = {"a", GCB_PLOT_FIELD(RATIO), NULL};
    const double value = 0.1;
    struct gcb_plot_page page;

    (void)state;
    assert_int_equal(gcb_plot_page_open(&page, NULL), 0);
    gcb_plot_var_text(&page, "t", "it's `x` \"$(y)\" \\n\n");
    gcb_plot_var_real(&page, "r", -INFINITY);
    gcb_plot_array_begin(&page, "none", 0);
    gcb_plot_block(&page, columns);
    gcb_plot_row(&page, &value, 1, "q\"w\\e\tr");
    gcb_plot_block(&page, columns);
    assert_int_equal(gcb_plot_page_close(&page, NULL), 0);
    assert_string_equal(page.vars_text,
                        "t = 'it''s `x` \"$(y)\" \\n?'\nr = NaN\narray none[1] = [1]\n");
    assert_string_equal(page.data_text, "a ratio\n0.1 \"q''w\\\\e?r\"\n\n\na ratio\n");
    gcb_plot_page_fini(&page);
}

/* Writes the tics of a range, without the quotes around them; `units` may be NULL. */
static void check_units(double low, double high, const struct gcb_plot_unit *units, size_t most,
                        const char *tics)
{
    const struct gcb_plot_range range = {low, high};
    char line[256];
    struct gcb_plot_page page;

    snprintf(line, sizeof(line), "\nr_tics = '%s'\n", tics);
    assert_int_equal(gcb_plot_page_open(&page, NULL), 0);
    if (units)
        gcb_plot_var_units(&page, "r", &range, units, most);
    else
        gcb_plot_var_range(&page, "r", &range);
    assert_int_equal(gcb_plot_page_close(&page, NULL), 0);
    assert_non_null(strstr(page.vars_text, line));
    gcb_plot_page_fini(&page);
}

static void check_tics(double low, double high, const char *tics)
{
    check_units(low, high, NULL, 0, tics);
}

static void test_tics(void **state)
{
    (void)state;
    check_tics(0.9, 1100.0, "1, 3, 10, 30, 100, 300, 1000");
    check_tics(1.5, 60.0, "2, 5, 10, 20, 50");
    check_tics(2.0, 9.0, "2, 3, 5, 7");
    check_tics(1.1, 1.6, "1.1, 1.2, 1.3, 1.4, 1.5, 1.6");
    check_tics(1e-30, 1e30, "1e-30, 1e-20, 1e-10, 1, 1e+10, 1e+20, 1e+30");
    /* values so near to each other that steps between them vanish */
    check_tics(1.0, nextafter(1.0, 2.0), "1");
    check_tics(-1.0, 5.0, "-1");
    check_tics(INFINITY, -INFINITY, "1");
}

static void test_units(void **state)
{
    static const struct gcb_plot_unit seconds[] = {
        {1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {0.0, NULL}};

    (void)state;
    check_units(0.009, 40.0, seconds, 9, "\"10 ms\" 0.01, \"100 ms\" 0.1, \"1 s\" 1, \"10 s\" 10");
    check_units(0.0009, 0.05, seconds, 9,
                "\"1 ms\" 0.001, \"2 ms\" 0.002, \"5 ms\" 0.005, \"10 ms\" 0.01, \"20 ms\" 0.02, "
                "\"50 ms\" 0.05");
    check_units(0.0009, 0.05, seconds, 5,
                "\"1 ms\" 0.001, \"3 ms\" 0.003, \"10 ms\" 0.01, \"30 ms\" 0.03");
    /* an axis from 0 is linear */
    check_units(0.0, 1.3, seconds, 5, "0, \"500 ms\" 0.5, \"1 s\" 1");
    /* the smallest unit has no lower end */
    check_units(1e-7, 3e-7, seconds, 9, "\"0.1 us\" 1e-07, \"0.2 us\" 2e-07, \"0.3 us\" 3e-07");
}

static bool same_style(struct gcb_plot_style a, struct gcb_plot_style b)
{
    return strcmp(a.colour, b.colour) == 0 && a.point == b.point && a.dash == b.dash;
}

/* `variant` says how many earlier series of the set have the same method. */
static void check_series(const struct gcb_plot_set *set, size_t i, const char *label, size_t count,
                         const char *method, unsigned variant)
{
    assert_string_equal(set->items[i].label, label);
    assert_int_equal(set->items[i].count, count);
    assert_true(same_style(set->items[i].style, gcb_plot_style_of(method, variant)));
}

/* One parameter runs along a curve, in the order of bits; a second parameter makes further curves. */
static void test_curves(void **state)
{
    struct gcb_plot_data *data = read_rows(
        CASE("fft", "fft:theta=0.5,bits=8", "4", "0.2")
            CASE("fft", "fft:theta=0.9,bits=8", "1", "0.6") CASE("fp16", "fp16", "16", "0.0001")
                CASE("fft", "fft:theta=0.7,bits=8", "2", "0.4")
                    CASE("fft", "fft:theta=0.5,bits=4", "2", "0.3")
                        CASE("fft", "fft:theta=0.5,bits=4", "9", "0.9")
                            CASE("qsgd", "qsgd:bits=4", "4", "0.2"));
    struct gcb_plot_set set = {.items = NULL};
    struct gcb_diag diag = {0};
    const struct gcb_plot_record *first;

    (void)state;
    first = gcb_plot_split_first(&gcb_plot_cases_by_error, data, 0, NULL);
    assert_non_null(first);
    assert_int_equal(gcb_plot_set_collect(&set, data, &gcb_plot_cases_by_error, first, false, NULL),
                     0);
    assert_int_equal(set.cases.count, 6); /* the repeated spec once */
    assert_int_equal(set.count, 4);
    check_series(&set, 0, "fft bits=8, theta 0.5 to 0.9", 3, "fft", 0);
    check_series(&set, 1, "fft bits=4", 1, "fft", 1);
    check_series(&set, 2, "qsgd", 1, "qsgd", 0);
    check_series(&set, 3, "fp16 (baseline)", 1, "fp16", 0);
    assert_true(set.cases.items[0]->bits == 1.0 && set.cases.items[1]->bits == 2.0 &&
                set.cases.items[2]->bits == 4.0);
    assert_true(set.cases.items[set.items[1].first]->rel_l2 == 0.3); /* the first of the two rows */
    gcb_plot_set_fini(&set);
    assert_int_equal(gcb_plot_set_collect(&set, data, &gcb_plot_cases_by_error, first, true, NULL),
                     0);
    assert_int_equal(set.count, 6);
    gcb_plot_set_fini(&set);
    assert_null(gcb_plot_split_first(&gcb_plot_cases_by_error, data, 1, &diag));
    assert_int_equal(diag.status, GCB_E_INVALID);
    gcb_plot_data_destroy(data);
}

/* A label leaves its range out if that is too long for the legend, which must show what distinguishes the curves. */
static void test_long_labels(void **state)
{
    struct gcb_plot_data *data =
        read_rows(CASE("sparse", "sparse:theta=0.73444,transform=none,chunk=0", "4", "0.2")
                      CASE("sparse", "sparse:theta=0.99923907,transform=none,chunk=0", "1", "0.6")
                          CASE("sparse", "sparse:theta=0.5,transform=dct,chunk=8", "3", "0.3")
                              CASE("sparse", "sparse:theta=0.9,transform=dct,chunk=8", "2", "0.4"));
    struct gcb_plot_set set = {.items = NULL};

    (void)state;
    assert_int_equal(
        gcb_plot_set_collect(&set, data, &gcb_plot_cases_by_error,
                             gcb_plot_split_first(&gcb_plot_cases_by_error, data, 0, NULL), false,
                             NULL),
        0);
    assert_int_equal(set.count, 2);
    check_series(&set, 0, "sparse transform=none chunk=0", 2, "sparse", 0);
    check_series(&set, 1, "sparse transform=dct chunk=8, theta 0.5 to 0.9", 2, "sparse", 1);
    gcb_plot_set_fini(&set);
    gcb_plot_data_destroy(data);
}

#define BIN(tensor, of, low, high, count) \
    ROW("histogram", \
        "\"tensor\":\"" tensor "\"," of "\"low\":" low ",\"high\":" high ",\"count\":" count)
#define DECODED "\"of\":\"decoded\",\"method\":\"m\",\"spec\":\"m:a=1\","

static void test_histograms(void **state)
{
    struct gcb_plot_data *data = read_rows(
        BIN("a", "", "-2", "-1", "3") BIN("a", "", "0", "0", "2") BIN("a", "", "1", "2", "4")
            BIN("b", "", "1", "2", "1") BIN("a", DECODED, "0", "0", "10"));
    struct gcb_plot_histograms h;

    (void)state;
    assert_int_equal(gcb_plot_pages(&gcb_plot_histogram, data), 1);
    assert_int_equal(gcb_plot_pages(&gcb_plot_error_cdf, data), 0);
    assert_int_equal(gcb_plot_histograms_of(&h, data, 0, "decoded", NULL), 0);
    assert_int_equal(h.input.count, 3); /* tensors are joined */
    assert_true(h.input.total == 10.0 && h.input.zeros == 2.0);
    assert_int_equal(h.set.count, 1);
    assert_true(h.items[0].zeros == 10.0);
    assert_true(gcb_plot_histogram_share(&h.input, 1.0, 1.5) == 0.25);
    assert_true(gcb_plot_histogram_share(&h.input, -9.0, 9.0) == 0.8);
    assert_true(gcb_plot_histogram_quantile(&h.input, 0.5) == 2.0);
    assert_true(gcb_plot_histogram_quantile(&h.items[0], 0.5) == 0.0);
    gcb_plot_histograms_fini(&h);
    gcb_plot_data_destroy(data);
}

static void test_spec_values(void **state)
{
    char text[32];

    (void)state;
    assert_true(gcb_plot_spec_real("fft:theta=0.85,bits=10", "bits") == 10.0);
    assert_true(isnan(gcb_plot_spec_real("fft:theta=0.85,bits=10", "bit")));
    assert_string_equal(gcb_plot_spec_text(text, "x:transform=fft", "transform"), "fft");
    assert_string_equal(gcb_plot_spec_text(text, "x", "transform"), "");
    assert_true(isnan(gcb_plot_spec_real(":=,,=", "a")));
}

/* A setting with a memory is not called like the same setting without. */
static void test_memories(void **state)
{
    struct gcb_plot_data *data = read_rows(CASE("topk", "topk:theta=0.9", "4", "0.2") CASE(
        "topk", "topk:theta=0.9,memory=ef,decay=1", "4", "0.3"));
    struct gcb_plot_set set = {.items = NULL};

    (void)state;
    assert_int_equal(gcb_plot_set_collect(
                         &set, data, &gcb_plot_cases_by_error,
                         gcb_plot_split_first(&gcb_plot_cases_by_error, data, 0, NULL), true, NULL),
                     0);
    check_series(&set, 0, "topk:theta=0.9", 1, "topk", 0);
    check_series(&set, 1, "topk:theta=0.9,memory=ef", 1, "topk", 1);
    gcb_plot_set_fini(&set);
    gcb_plot_data_destroy(data);
}

/* Each built-in method has its own colour and mark, and baselines are black. The looks of a few methods are fixed here,
 * because people compare plots that were made at different times. */
static void test_styles(void **state)
{
    struct gcb_method a, b;

    (void)state;
    for (size_t i = 0; gcb_method_at(&a, i); i++) {
        const struct gcb_plot_style style = gcb_plot_style_of(a.name, 0);

        assert_true((gcb_plot_baseline(a.name) != 0) == (strcmp(style.colour, "#000000") == 0));
        for (size_t k = 0; k < i && gcb_method_at(&b, k); k++)
            assert_false(same_style(style, gcb_plot_style_of(b.name, 0)));
        /* a method that is not built in looks like no built-in method */
        assert_false(same_style(style, gcb_plot_style_of("mymethod", 0)));
    }
    assert_true(
        same_style(gcb_plot_style_of("topk", 0), (struct gcb_plot_style){"#0072B2", "", 7, 1}));
    assert_true(
        same_style(gcb_plot_style_of("fft", 0), (struct gcb_plot_style){"#D55E00", "", 5, 1}));
    assert_true(
        same_style(gcb_plot_style_of("fft", 2), (struct gcb_plot_style){"#D55E00", "", 4, 3}));
    assert_true(same_style(gcb_plot_style_of("identity", 0), gcb_plot_style_of("fp32", 0)));
    assert_int_not_equal(gcb_plot_style_of("identity", 1).point,
                         gcb_plot_style_of("fp32", 0).point);
}

/* Methods of one picture have different colours, also if their own are the same, and settings of one method the same. */
static void test_colours(void **state)
{
    static const char *const methods[] = {"topk", "sbc", "powersgd", "topk",   "fft",
                                          "fp16", "qgz", "sbc",      "natural"};
    struct gcb_plot_set set = {.items = NULL};

    (void)state;
    for (size_t i = 0; i < 9; i++)
        assert_non_null(gcb_plot_set_name(&set, methods[i], methods[i]));
    for (size_t i = 0; i < 9; i++)
        for (size_t k = 0; k < i; k++)
            assert_true((strcmp(set.items[i].style.colour, set.items[k].style.colour) == 0) ==
                        (strcmp(methods[i], methods[k]) == 0));
    for (size_t i = 0; i < 9; i++) /* the marks stay */
        assert_int_equal(set.items[i].style.point,
                         gcb_plot_style_of(methods[i], i == 3 || i == 7).point);
    assert_string_equal(set.items[0].style.colour, gcb_plot_style_of("topk", 0).colour);
    assert_string_equal(set.items[4].style.colour, gcb_plot_style_of("fft", 0).colour);
    gcb_plot_set_fini(&set);
}

static bool overlap(double a, double b, double sizes)
{
    return fabs(a - b) < sizes / 2.0 - 1e-9;
}

/* Marks close together, and one at the edge: no text covers another text or a mark, or leaves the picture. */
static void test_places(void **state)
{
    struct gcb_plot_scene scene = {.width = 300.0, .height = 200.0};
    double x[6], y[6];
    struct gcb_plot_text t[6];

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        x[i] = i < 5 ? 100.0 + 3.0 * (double)i : 300.0;
        y[i] = i < 5 ? 100.0 : 200.0;
        assert_int_equal(gcb_plot_scene_add(&scene, x[i], y[i], 6.0), 0);
    }
    for (size_t i = 0; i < 6; i++) {
        t[i] = (struct gcb_plot_text){
            .x = &x[i], .y = &y[i], .points = 1, .width = 14.0, .height = 11.0};
        gcb_plot_scene_place(&t[i], &scene);
        assert_true(t[i].covered == 0.0 && t[i].anchor_x == x[i]);
        assert_int_equal(gcb_plot_scene_add_text(&scene, &t[i]), 0);
    }
    for (size_t i = 0; i < 6; i++) {
        assert_true(t[i].text_x >= 7.0 && t[i].text_x <= 293.0);
        assert_true(t[i].text_y >= 5.5 && t[i].text_y <= 194.5);
        for (size_t k = 0; k < 6; k++) {
            assert_false(overlap(t[i].text_x, x[k], 26.0) && overlap(t[i].text_y, y[k], 23.0));
            assert_false(k != i && overlap(t[i].text_x, t[k].text_x, 28.0) &&
                         overlap(t[i].text_y, t[k].text_y, 22.0));
        }
    }
    gcb_plot_scene_fini(&scene);
}

/* Labels at the ends of curves keep their order and do not overlap; a label that has room does not move. */
static void test_spread(void **state)
{
    double h[] = {50.0, 100.0, 50.5, 99.0, -3.0, 20.0};

    (void)state;
    gcb_plot_spread(h, 6, 10.0, 100.0);
    assert_true(h[4] == 0.0 && h[5] == 20.0);
    assert_true(fabs(h[0] - 45.25) < 1e-9 && fabs(h[2] - 55.25) < 1e-9);
    assert_true(h[3] == 90.0 && h[1] == 100.0);
}

/* A plot along an axis has no page for rows that all lie at one place of it. */
static void test_axes_of_pages(void **state)
{
#define EXCHANGE(workers, bandwidth) \
    ROW("payoff", "\"model\":\"exchange\",\"spec\":\"a\",\"label\":\"a\",\"seconds\":1," \
                  "\"speedup_bar\":1,\"workers\":" workers ",\"bandwidth_gbit\":" bandwidth)
    struct gcb_plot_data *data =
        read_rows(EXCHANGE("2", "1") EXCHANGE("4", "1") EXCHANGE("8", "1"));

    (void)state;
    assert_int_equal(gcb_plot_pages(&gcb_plot_scaling, data), 1);
    assert_int_equal(gcb_plot_pages(&gcb_plot_break_even, data), 0);
    gcb_plot_data_destroy(data);
    data = read_rows(EXCHANGE("2", "1") EXCHANGE("2", "5") EXCHANGE("8", "1"));
    assert_int_equal(gcb_plot_pages(&gcb_plot_scaling, data), 1);
    assert_int_equal(gcb_plot_pages(&gcb_plot_break_even, data), 1);
    gcb_plot_data_destroy(data);
}

static void test_names(void **state)
{
    struct gcb_diag diag = {0};

    (void)state;
    for (size_t i = 0; gcb_plot_at(i); i++)
        assert_ptr_equal(gcb_plot_find(gcb_plot_at(i)->name, strlen(gcb_plot_at(i)->name), &diag),
                         gcb_plot_at(i));
    assert_null(gcb_plot_find("heatmop,", 7, &diag));
    assert_non_null(strstr(diag.text, "did you mean 'heatmap'"));
    assert_null(gcb_plot_find("\x1b", 1, &diag));
    assert_non_null(strstr(diag.text, "\\x1b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),          cmocka_unit_test(test_texts_are_safe),
        cmocka_unit_test(test_quoting),       cmocka_unit_test(test_curves),
        cmocka_unit_test(test_long_labels),   cmocka_unit_test(test_histograms),
        cmocka_unit_test(test_spec_values),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_places),        cmocka_unit_test(test_memories),
        cmocka_unit_test(test_styles),        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_axes_of_pages), cmocka_unit_test(test_tics),
        cmocka_unit_test(test_units),         cmocka_unit_test(test_colours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
