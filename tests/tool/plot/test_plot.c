/* Plots without drawing: the rows that are kept, how curves are found and named, and how texts are
 * escaped. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/method.h"
#include "src/tool/plot/plot_page.h"
#include "tests/support/test.h"

static struct gcb_plot_data *read_rows(const char *text)
{
    char path[] = "/tmp/gcbench-plot-XXXXXX";
    const int fd = mkstemp(path);
    struct gcb_plot_data *data;
    struct gcb_diag diag = {0};

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    data = gcb_plot_data_create();
    assert_int_equal(gcb_plot_data_read(data, path, &diag), 0);
    unlink(path);
    return data;
}

static const struct gcb_plot *plot_of(const char *name)
{
    const struct gcb_plot *plot = gcb_plot_find(name, strlen(name), NULL);

    assert_non_null(plot);
    return plot;
}

#define ROW(record, rest) "{\"record\":\"" record "\",\"schema\":1," rest "}\n"
#define CASE(method, spec, bits, error) \
    ROW("summary", \
        "\"file\":\"d/a.h5\",\"scope\":\"tensor\",\"status\":\"ok\",\"method\":\"" method \
        "\",\"spec\":\"" spec "\",\"ratio\":4,\"bits_per_element\":" bits ",\"rel_l2\":" error)

static void test_rows(void **state)
{
    struct gcb_plot_data *data =
        read_rows(ROW("environment", "\"cpu_model\":\"X\",\"input_xxh3\":[{\"file\":\"in.h5\"}]")
                      CASE("topk", "topk:theta=0.9", "3", "0.5") ROW("nobody", "\"x\":1")
                          CASE("topk", "topk:theta=0.8", "null", "0.25"));
    const struct gcb_plot_record *c = data->kinds[GCB_RECORD_SUMMARY].items;

    assert_int_equal(data->kinds[GCB_RECORD_SUMMARY].count, 2);
    assert_ptr_equal(c[0].method, c[1].method); /* interned */
    assert_ptr_not_equal(c[0].spec, c[1].spec);
    assert_true(c[0].bits == 3.0 && isnan(c[1].bits) && isnan(c[0].cosine));
    assert_string_equal(c[0].device, "");
    assert_string_equal(gcb_plot_env_of(data, c[0].env)->file, "in.h5");
    assert_string_equal(gcb_plot_env_of(data, 0)->cpu_model, "");
    assert_int_equal(gcb_plot_pages(plot_of("rate-distortion"), data), 1);
    assert_int_equal(gcb_plot_pages(plot_of("throughput"), data), 0);
    gcb_plot_data_destroy(data);
}

/* An escaped text stays as it is; another is escaped. */
static void test_texts_are_safe(void **state)
{
    struct gcb_plot_data *data;

    data = gcb_plot_data_create();
    assert_string_equal(gcb_plot_intern(data, "a\\x0ab"), "a\\x0ab");
    assert_string_equal(gcb_plot_intern(data, "a\x1b[31m\nb"), "a\\x1b[31m\\x0ab");
    assert_string_equal(gcb_plot_intern(data, NULL), "");
    gcb_plot_data_destroy(data);
}

static void test_quoting(void **state)
{
    struct gcb_plot_page page = {.script = NULL};

    gcb_plot_page_open(&page);
    gcb_plot_var_text(&page, "t", "it's `x` \"$(y)\" \\n\n");
    gcb_plot_var_real(&page, "r", -INFINITY);
    GCB_PLOT_COLUMNS(&page, "a", "b", "c");
    GCB_PLOT_ROW(&page, "q\"w\\e\tr", 0.1, NAN);
    GCB_PLOT_ROW(&page, NULL, 1.0, 2.0, 3.0);
    gcb_plot_page_close(&page);
    assert_string_equal(page.script_text, "t = 'it''s `x` \"$(y)\" \\n?'\nr = NaN\n");
    assert_string_equal(page.csv_text, "a,b,c\n\"q''w\\\\e?r\",0.1,NaN\n1,2,3\n");
    gcb_plot_page_fini(&page);
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

/* Collects the cases of a plot's first page. */
static void collect(struct gcb_plot_set *set, const struct gcb_plot_data *data, const char *name)
{
    *set = (struct gcb_plot_set){.items = NULL};
    gcb_plot_set_collect(set, data, plot_of(name), gcb_plot_first(plot_of(name), data, 0));
}

/* One parameter runs along a curve, in the order of bits; a second parameter makes further
 * curves. */
static void test_curves(void **state)
{
    struct gcb_plot_data *data = read_rows(
        CASE("fft", "fft:theta=0.5,bits=8", "4", "0.2")
            CASE("fft", "fft:theta=0.9,bits=8", "1", "0.6") CASE("fp16", "fp16", "16", "0.0001")
                CASE("fft", "fft:theta=0.7,bits=8", "2", "0.4")
                    CASE("fft", "fft:theta=0.5,bits=4", "2", "0.3")
                        CASE("fft", "fft:theta=0.5,bits=4", "9", "0.9")
                            CASE("qsgd", "qsgd:bits=4", "4", "0.2"));
    struct gcb_plot_set set;

    collect(&set, data, "rate-distortion");
    assert_int_equal(set.cases.count, 6); /* the repeated spec once */
    assert_int_equal(set.count, 4);
    check_series(&set, 0, "fft:bits=8, theta 0.5 to 0.9", 3, "fft", 0);
    check_series(&set, 1, "fp16 (baseline)", 1, "fp16", 0);
    check_series(&set, 2, "fft:bits=4", 1, "fft", 1);
    check_series(&set, 3, "qsgd:bits=4", 1, "qsgd", 0);
    assert_true(set.cases.items[0]->bits == 1.0 && set.cases.items[1]->bits == 2.0 &&
                set.cases.items[2]->bits == 4.0);
    assert_true(set.cases.items[set.items[2].first]->rel_l2 == 0.3); /* the first of the two rows */
    gcb_plot_set_fini(&set);
    assert_null(gcb_plot_first(plot_of("rate-distortion"), data, 1));
    gcb_plot_data_destroy(data);
}

static void test_spec_values(void **state)
{
    char text[32];

    assert_string_equal(gcb_plot_spec_text(text, "fft:theta=0.85,bits=10", "bits"), "10");
    assert_string_equal(gcb_plot_spec_text(text, "fft:theta=0.85,bits=10", "bit"), "");
    assert_string_equal(gcb_plot_spec_text(text, "x", "transform"), "");
    assert_string_equal(gcb_plot_spec_text(text, ":=,,=", "a"), "");
}

/* A setting with a memory is not called like the same setting without. */
static void test_memories(void **state)
{
    struct gcb_plot_data *data = read_rows(CASE("topk", "topk:theta=0.9", "4", "0.2") CASE(
        "topk", "topk:theta=0.9,memory=ef,decay=1", "4", "0.3"));
    struct gcb_plot_set set = {.items = NULL};

    for (size_t i = 0; i < data->kinds[GCB_RECORD_SUMMARY].count; i++)
        gcb_plot_set_add(&set, &data->kinds[GCB_RECORD_SUMMARY].items[i]);
    gcb_plot_set_divide(&set, true);
    check_series(&set, 0, "topk:theta=0.9", 1, "topk", 0);
    check_series(&set, 1, "topk:theta=0.9,memory=ef", 1, "topk", 1);
    gcb_plot_set_fini(&set);
    gcb_plot_data_destroy(data);
}

/* All 42 looks differ, plug-ins have several of them, and baselines are black. The looks of a few
 * methods are fixed here, because people compare plots that were made at different times. */
static void test_styles(void **state)
{
    for (unsigned i = 0; i < 42; i++)
        for (unsigned k = 0; k < i; k++)
            assert_false(same_style(gcb_plot_style_at(i), gcb_plot_style_at(k)));
    assert_false(same_style(gcb_plot_style_of("mine", 0), gcb_plot_style_of("yours", 0)));
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

/* No two methods of one picture have one colour, also if their own are the same; settings of one
 * method have. At most twelve entries are in the legend: the baselines, the methods of the lowest
 * ranks, and one that counts the rest. */
static void test_colours(void **state)
{
    struct gcb_plot_set set = {.items = NULL};
    struct gcb_method method;

    assert_non_null(gcb_plot_set_name(&set, "fp16", "fp16"));
    assert_non_null(gcb_plot_set_name(&set, "bf16", "bf16"));
    for (size_t i = 0; gcb_method_at(&method, i); i++)
        assert_non_null(gcb_plot_set_name(&set, method.name, method.name));
    assert_non_null(gcb_plot_set_name(&set, "topk again", "topk"));
    assert_true(set.count > 20);
    for (size_t i = 0; i < set.count; i++)
        set.items[i].rank = -(double)i; /* the last one is the best */
    gcb_plot_set_choose(&set, GCB_PLOT_NAMED);
    assert_int_equal(set.named, 11);
    assert_string_equal(set.items[0].label, "topk again");
    assert_string_equal(set.items[10].label, "fp16");
    for (size_t i = 0; i < set.named; i++)
        for (size_t k = 0; k < i; k++)
            assert_true((strcmp(set.items[i].style.colour, set.items[k].style.colour) == 0) ==
                        (strcmp(set.items[i].method, set.items[k].method) == 0));
    assert_false(set.items[11].named);
    assert_string_equal(set.items[11].style.colour, GCB_PLOT_NO_STYLE.colour);
    gcb_plot_set_fini(&set);
}

/* The error of the mean limits the error, so methods are compared by their bits. */
static void test_match_of_the_mean(void **state)
{
#define MATCH(method, spec, bits, error) \
    ROW("summary", \
        "\"status\":\"ok\",\"method\":\"" method "\",\"spec\":\"" spec \
        "\",\"ratio\":4,\"bits_per_element\":" bits ",\"rel_l2\":" error \
        ",\"match_field\":\"error_of_mean\",\"match_target\":0.2,\"match_reached\":true")
    struct gcb_plot_data *data = read_rows(MATCH("qsgd", "qsgd:bits=4", "4", "0.1")
                                               MATCH("topk", "topk:theta=0.9", "2", "0.5"));
    struct gcb_plot_set set;

    collect(&set, data, "match");
    assert_int_equal(set.count, 2);
    assert_string_equal(set.items[0].method, "topk");
    gcb_plot_set_fini(&set);
    gcb_plot_data_destroy(data);
}

/* A plot along an axis has no page for rows that all lie at one place of it. */
static void test_axes_of_pages(void **state)
{
#define EXCHANGE(workers, bandwidth) \
    ROW("payoff", "\"model\":\"exchange\",\"spec\":\"a\",\"label\":\"a\",\"seconds\":1," \
                  "\"speedup_bar\":1,\"workers\":" workers ",\"bandwidth_gbit\":" bandwidth)
    struct gcb_plot_data *data =
        read_rows(EXCHANGE("2", "1") EXCHANGE("4", "1") EXCHANGE("8", "1"));

    assert_int_equal(gcb_plot_pages(plot_of("scaling"), data), 1);
    assert_int_equal(gcb_plot_pages(plot_of("break-even"), data), 0);
    gcb_plot_data_destroy(data);
    data = read_rows(EXCHANGE("2", "1") EXCHANGE("2", "5") EXCHANGE("8", "1"));
    assert_int_equal(gcb_plot_pages(plot_of("scaling"), data), 1);
    assert_int_equal(gcb_plot_pages(plot_of("break-even"), data), 1);
    gcb_plot_data_destroy(data);
}

static void test_names(void **state)
{
    struct gcb_diag diag = {0};

    for (size_t i = 0; gcb_plot_at(i); i++)
        assert_ptr_equal(gcb_plot_find(gcb_plot_at(i)->name, strlen(gcb_plot_at(i)->name), &diag),
                         gcb_plot_at(i));
    assert_null(gcb_plot_find("pareton,", 7, &diag));
    assert_non_null(strstr(diag.text, "did you mean 'pareto'"));
    assert_null(gcb_plot_find("\x1b", 1, &diag));
    assert_non_null(strstr(diag.text, "\\x1b"));
}

RUN_TESTS(cmocka_unit_test(test_rows), cmocka_unit_test(test_texts_are_safe),
          cmocka_unit_test(test_quoting), cmocka_unit_test(test_curves),
          cmocka_unit_test(test_spec_values), cmocka_unit_test(test_names),
          cmocka_unit_test(test_memories), cmocka_unit_test(test_styles),
          cmocka_unit_test(test_colours), cmocka_unit_test(test_match_of_the_mean),
          cmocka_unit_test(test_axes_of_pages))
