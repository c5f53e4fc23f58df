/* Plots how fast methods encode and decode. */
#include <math.h>

#include "src/tool/plot/plots.h"

/* Returns the speed in GB/s if the case takes this many seconds. */
static double speed_of(const struct gcb_plot_record *c, double seconds)
{
    return c->input_bytes / seconds / 1e9;
}

static int faster(const void *a, const void *b)
{
    const double x = ((const struct gcb_plot_bar *)a)->item->encode_gbps,
                 y = ((const struct gcb_plot_bar *)b)->item->encode_gbps;

    return (x < y) - (x > y);
}

/* Writes how often times were measured. A row with a deviation had at least 2 runs; a row with an interval had at
 * least 6. */
static void put_runs(struct gcb_plot_page *out, const struct gcb_plot_bar *bars, size_t count)
{
    char text[64] = "";
    size_t once = 0, intervals = 0;

    for (size_t i = 0; i < count; i++) {
        once += isnan(bars[i].item->encode_mad);
        intervals += !isnan(bars[i].item->encode_low);
    }
    if (once > 0 && once == count)
        snprintf(text, sizeof(text), "one run each");
    else if (once > 0)
        snprintf(text, sizeof(text), "one run of %zu method%s", once, once == 1 ? "" : "s");
    else if (intervals == 0)
        snprintf(text, sizeof(text), "medians of 2 to 5 runs");
    else
        snprintf(text, sizeof(text), "medians and 95 %% intervals");
    gcb_plot_var_text(out, "runs", text);
}

/* Labels the bars with the error of one message: a method that loses more is not simply better because it is faster. */
static void put_labels(struct gcb_plot_page *out, const struct gcb_plot_bar *bars, size_t count)
{
    gcb_plot_array_begin(out, "label", count);
    for (size_t i = 0; i < count; i++) {
        const bool known = bars[i].item->rel_l2 >= 0.0;
        char text[GCB_PLOT_LABEL + 32], error[GCB_PLOT_ERROR];

        snprintf(text, sizeof(text), "%s%s%s", bars[i].label, known ? ", error " : "",
                 known ? gcb_plot_error(error, bars[i].item->rel_l2) : "");
        gcb_plot_array_text(out, text, 60);
    }
}

static void put_bars(struct gcb_plot_page *out, const struct gcb_plot_bar *bars, size_t count)
{
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;

    put_runs(out, bars, count);
    put_labels(out, bars, count);
    GCB_PLOT_BLOCK(out, "row", "encode", "encode_low", "encode_high", "decode", "decode_low",
                   "decode_high", GCB_PLOT_FIELD(SPEC));
    for (size_t i = 0; i < count; i++) {
        const struct gcb_plot_record *c = bars[i].item;
        const double cells[] = {(double)i + 1,
                                c->encode_gbps,
                                speed_of(c, c->encode_high),
                                speed_of(c, c->encode_low),
                                c->decode_gbps,
                                speed_of(c, c->decode_high),
                                speed_of(c, c->decode_low)};

        gcb_plot_range_add_positive(&range, cells[1]);
        gcb_plot_range_add_positive(&range, cells[3]);
        gcb_plot_range_add_positive(&range, cells[4]);
        gcb_plot_range_add_positive(&range, cells[6]);
        /* leave no room on the axis for a whisker that ends below half of its bar */
        gcb_plot_range_add_positive(&range, fmax(cells[2], cells[1] / 2.0));
        gcb_plot_row(out, cells, 7, c->spec);
    }
    gcb_plot_var_range(out, "speed", &range);
}

static int fill(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                struct gcb_plot_page *out, struct gcb_diag *diag)
{
    const struct gcb_plot_record *env = gcb_plot_env_of(data, first->env);

    gcb_plot_heading(out, "Throughput", data, first, GCB_PLOT_BY_TIME);
    gcb_plot_var_real(out, GCB_PLOT_FIELD(READ_GBPS), env->read_gbps);
    gcb_plot_var_real(out, GCB_PLOT_FIELD(FILL_GBPS), env->fill_gbps);
    gcb_plot_var_real(out, "memcpy_gbps", out->set.memcpy_gbps);
    return gcb_plot_bar_rows(out, 216.0, 22.0, faster, put_bars, diag);
}

const struct gcb_plot gcb_plot_throughput = {
    .name = "throughput",
    .title = "encoding and decoding speed, compared with the bandwidth of memory",
    .needs = GCB_PLOT_NEEDS_SUMMARY,
    .from = "bench",
    .split = &gcb_plot_cases_by_time,
    .series = GCB_PLOT_APART,
    .fill = fill,
};
