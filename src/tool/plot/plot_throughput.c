/* How fast methods are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/columns.h"
#include "src/tool/plot/plots.h"

#define MAX_BARS 60

/* GB/s of this many seconds. */
static double speed(const struct gcb_plot_case *c, double seconds)
{
    return c->input_bytes / seconds / 1e9;
}

struct bar {
    const struct gcb_plot_case *item;
    const char *label;
};

static int faster(const void *a, const void *b)
{
    const double x = ((const struct bar *)a)->item->encode_gbps,
                 y = ((const struct bar *)b)->item->encode_gbps;

    return (x < y) - (x > y);
}

static void put_bars(struct gcb_plot_page *out, const struct bar *bars, size_t count)
{
    static const char *const columns[] = {"row",         "encode", "encode_low",
                                          "encode_high", "decode", "decode_low",
                                          "decode_high", "spec",   NULL};
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;
    char text[GCB_PLOT_LABEL];

    gcb_plot_array_begin(out, "label", count);
    for (size_t i = 0; i < count; i++)
        gcb_plot_array_text(out, gcb_text_shorten(text, sizeof(text), bars[i].label, 40));
    gcb_plot_array_end(out);
    gcb_plot_block(out, columns);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_case *c = bars[i].item;

        gcb_plot_range_add_positive(&range, c->encode_gbps);
        gcb_plot_range_add_positive(&range, c->decode_gbps);
        gcb_plot_range_add_positive(&range, speed(c, c->encode_low));
        gcb_plot_range_add_positive(&range, speed(c, c->decode_low));
        /* a whisker that is longer than the bar leaves the picture */
        gcb_plot_range_add_positive(&range, fmax(speed(c, c->encode_high), c->encode_gbps / 2.0));
        gcb_plot_cell(out, (double)i + 1);
        gcb_plot_cell(out, c->encode_gbps);
        gcb_plot_cell(out, speed(c, c->encode_high));
        gcb_plot_cell(out, speed(c, c->encode_low));
        gcb_plot_cell(out, c->decode_gbps);
        gcb_plot_cell(out, speed(c, c->decode_high));
        gcb_plot_cell(out, speed(c, c->decode_low));
        gcb_plot_cell_text(out, c->spec);
        gcb_plot_end_row(out);
    }
    gcb_plot_var_range(out, "speed", &range);
}

/* How often the times were taken, which rows tell by what they have: a deviation from 2 runs on, an interval from 6. */
static void put_runs(struct gcb_plot_page *out, const struct bar *bars, size_t count)
{
    char text[64] = "";
    size_t once = 0, intervals = 0;

    for (size_t i = 0; i < count; i++) {
        once += isnan(bars[i].item->encode_mad);
        intervals += !isnan(bars[i].item->encode_low);
    }
    if (once > 0 && once == count)
        snprintf(text, sizeof(text), "; one run each");
    else if (once > 0)
        snprintf(text, sizeof(text), "; one run of %zu method%s", once, once == 1 ? "" : "s");
    else if (intervals == 0)
        snprintf(text, sizeof(text), "; medians of 2 to 5 runs");
    else
        snprintf(text, sizeof(text), "; medians and 95 %% intervals");
    gcb_plot_var_text(out, "runs", text);
}

static int fill_throughput(const struct gcb_plot_data *data, const void *first,
                           struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_set set = {.items = NULL};
    struct gcb_plot_cases cases;
    struct bar bars[MAX_BARS];
    const struct gcb_plot_env *env;
    double copy;
    size_t count;
    int err = gcb_plot_cases_of(&cases, data, &gcb_plot_cases_by_time, first, diag);

    if (err)
        goto out;
    env = gcb_plot_env_of(data, cases.items[0]->env);
    gcb_plot_heading(out, "Throughput", data, cases.items[0], GCB_PLOT_BY_TIME);
    copy = gcb_plot_cases_take_memcpy(&cases);
    err = gcb_plot_set_of(&set, &cases, true, diag);
    if (err)
        goto out;
    count = cases.count < MAX_BARS ? cases.count : MAX_BARS;
    for (size_t i = 0; i < count; i++)
        bars[i] = (struct bar){cases.items[i], set.items[i].label};
    qsort(bars, count, sizeof(bars[0]), faster);
    gcb_plot_var_real(out, "rows", (double)count);
    gcb_plot_var_real(out, "rows_left_out", (double)(cases.count - count));
    gcb_plot_var_real(out, "read_gbps", env->read_gbps);
    gcb_plot_var_real(out, "fill_gbps", env->fill_gbps);
    gcb_plot_var_real(out, "memcpy_gbps", copy);
    gcb_plot_var_real(out, "plot_height", 200.0 + 38.0 * (double)count);
    put_runs(out, bars, count);
    put_bars(out, bars, count);
out:
    gcb_plot_set_fini(&set);
    gcb_plot_cases_fini(&cases);
    return err;
}

const struct gcb_plot gcb_plot_throughput = {
    .name = "throughput",
    .title = "encoding and decoding speed, beside what memory can do",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .split = &gcb_plot_cases_by_time,
    .fill = fill_throughput,
};
