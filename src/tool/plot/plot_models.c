/* Plots the cost models of two papers, from the rows of `payoff --stage-gbps` and `payoff --density`: the FFT paper's
 * k_min, and RedSync's T_sparse and T_dense. */
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/plot/plots.h"

/* ---- k_min ---- */

static bool is_fft(const struct gcb_plot_record *x)
{
    return strcmp(x->model, "fft") == 0 && x->bandwidth > 0.0;
}

static double bandwidth_of(const struct gcb_plot_record *x)
{
    return x->bandwidth;
}

static const struct gcb_plot_split by_bandwidth = {GCB_RECORD_PAYOFF, is_fft, gcb_plot_same_env,
                                                   bandwidth_of};

#define MOST_STAGES 8

/* Methods that pay on the fastest links come first. */
static int pays_higher(const void *a, const void *b)
{
    const double x = ((const struct gcb_plot_bar *)a)->item->pays_below,
                 y = ((const struct gcb_plot_bar *)b)->item->pays_below;

    return (x < y) - (x > y);
}

/* Writes the rows of a method. */
static void put_stages(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                       const struct gcb_plot_record *of, struct gcb_plot_range *bandwidth,
                       struct gcb_plot_range *ratio)
{
    const struct gcb_plot_record *x = NULL;

    gcb_plot_range_add_positive(ratio, of->ratio_vs_fp32);
    GCB_PLOT_BLOCK(out, GCB_PLOT_FIELD(BANDWIDTH_GBIT), GCB_PLOT_FIELD(LEAST_RATIO),
                   GCB_PLOT_FIELD(RATIO_VS_FP32), GCB_PLOT_FIELD(PAYS_BELOW_GBIT));
    while ((x = gcb_plot_split_next(&by_bandwidth, data, of, x)) != NULL) {
        if (x->spec != of->spec)
            continue;
        gcb_plot_range_add_positive(bandwidth, x->bandwidth);
        gcb_plot_range_add_positive(ratio, x->least_ratio);
        GCB_PLOT_ROW(out, NULL, x->bandwidth, x->least_ratio, x->ratio_vs_fp32, x->pays_below);
    }
}

static int fill_k_min(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                      struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_range bandwidth = GCB_PLOT_RANGE_EMPTY, ratio = {1.0, 2.0};
    struct gcb_plot_set set = {.items = NULL}; /* the methods that are shown */
    const size_t all = out->set.count;
    struct gcb_plot_bar *bars;
    size_t shown;
    int err = gcb_plot_bars(&bars, &shown, out, pays_higher, diag);

    if (err)
        return err;
    gcb_plot_heading_of(out, "Least ratio that pays (k_min of the FFT paper)",
                        *first->results ? first->results : "given throughputs", "",
                        gcb_plot_env_of(data, first->env));
    for (size_t i = 0; !err && i < shown && i < MOST_STAGES; i++) {
        const char *label = *bars[i].label ? bars[i].label : "given throughputs";

        if (!gcb_plot_set_name(&set, label, *bars[i].item->method ? bars[i].item->method : "fft"))
            err = gcb_diag_nomem(diag, 0, "a plot");
        put_stages(out, data, bars[i].item, &bandwidth, &ratio);
    }
    ratio.high = fmin(ratio.high, 1e4); /* k_min has no limit near the bandwidth at which it ends */
    gcb_plot_var_range(out, "bandwidth", &bandwidth);
    gcb_plot_var_range(out, "ratio", &ratio);
    gcb_plot_var_real(out, "left_out", (double)(all - set.count));
    gcb_plot_one_panel(out, gcb_plot_legend(out, &set) + 70.0); /* for ", reached" */
    gcb_plot_array_begin(out, "has_ratio", set.count);
    for (size_t i = 0; i < set.count; i++)
        gcb_plot_array_real(out, bars[i].item->ratio_vs_fp32 > 0.0);
    gcb_plot_set_fini(&set);
    gcb_free(bars);
    return err;
}

/* ---- T_sparse ---- */

static bool is_redsync(const struct gcb_plot_record *x)
{
    return strcmp(x->model, "redsync") == 0 && x->workers > 0.0 && x->bandwidth_ratio > 0.0;
}

static double workers_of(const struct gcb_plot_record *x)
{
    return x->workers;
}

static bool same_gradient(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return a->env == b->env && gcb_plot_equal(a->gradient_bytes, b->gradient_bytes) &&
           gcb_plot_equal(a->latency, b->latency) && gcb_plot_equal(a->words, b->words);
}

static const struct gcb_plot_split by_workers = {GCB_RECORD_PAYOFF, is_redsync, same_gradient,
                                                 workers_of};

static bool same_link(const struct gcb_plot_record *a, const struct gcb_plot_record *b)
{
    return gcb_plot_equal(a->bandwidth, b->bandwidth) && gcb_plot_equal(a->density, b->density);
}

/* Collects the first row of each curve. */
static int collect(struct gcb_plot_cases *curves, const struct gcb_plot_data *data,
                   const struct gcb_plot_record *first)
{
    const struct gcb_plot_record *x = NULL;

    while ((x = gcb_plot_split_next(&by_workers, data, first, x)) != NULL) {
        size_t i = 0;

        while (i < curves->count && !same_link(curves->items[i], x))
            i++;
        if (i < curves->count)
            continue;
        if (gcb_grow(&curves->items, &curves->cap, curves->count, sizeof(*curves->items)))
            return GCB_E_NOMEM;
        curves->items[curves->count++] = x;
    }
    return 0;
}

static int put_times(struct gcb_plot_page *out, const struct gcb_plot_data *data,
                     const struct gcb_plot_record *first, const struct gcb_plot_cases *curves)
{
    struct gcb_plot_range workers = GCB_PLOT_RANGE_EMPTY, ms = workers, bytes = {1.0, 1.0};
    char text[GCB_PLOT_LABEL];

    for (unsigned i = 0; i < curves->count; i++) {
        const struct gcb_plot_record *of = curves->items[i], *x = NULL;
        struct gcb_plot_series *s;

        snprintf(text, sizeof(text), "density %.4g, %.4g Gbit/s", of->density, of->bandwidth);
        s = gcb_plot_set_name(&out->set, text, "redsync");
        if (!s)
            return GCB_E_NOMEM;
        s->style = gcb_plot_style_at(i);
        GCB_PLOT_BLOCK(out, GCB_PLOT_FIELD(WORKERS), GCB_PLOT_FIELD(SPARSE_SECONDS),
                       GCB_PLOT_FIELD(DENSE_SECONDS), GCB_PLOT_FIELD(BANDWIDTH_RATIO));
        while ((x = gcb_plot_split_next(&by_workers, data, first, x)) != NULL) {
            if (!same_link(x, of))
                continue;
            s->count++;
            gcb_plot_range_add_positive(&workers, x->workers);
            gcb_plot_range_add_positive(&ms, 1e3 * x->sparse_seconds);
            gcb_plot_range_add_positive(&ms, 1e3 * x->dense_seconds);
            gcb_plot_range_add_positive(&bytes, x->bandwidth_ratio);
            GCB_PLOT_ROW(out, NULL, x->workers, x->sparse_seconds, x->dense_seconds,
                         x->bandwidth_ratio);
        }
    }
    gcb_plot_var_real(out, "has_times", ms.low <= ms.high);
    gcb_plot_var_range(out, "workers", &workers);
    gcb_plot_var_range(out, "ms", &ms);
    gcb_plot_var_range(out, "bytes", &bytes);
    return 0;
}

static int fill_t_sparse(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                         struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_cases curves = {.items = NULL};
    int err = collect(&curves, data, first);
    char text[96], size[48] = "";

    if (isfinite(first->gradient_bytes))
        snprintf(size, sizeof(size), "%.4g MB, ", 1e-6 * first->gradient_bytes);
    snprintf(text, sizeof(text), "%s%.3g us latency, %.3g word%s for each kept element", size,
             1e6 * first->latency, first->words, first->words == 1.0 ? "" : "s");
    gcb_plot_heading_of(out, "Sparse and dense exchanges (T_sparse and T_dense of RedSync)", text,
                        "", gcb_plot_env_of(data, first->env));
    if (!err)
        err = put_times(out, data, first, &curves);
    if (!err)
        gcb_plot_two_panels(out, gcb_plot_legend(out, &out->set));
    gcb_free(curves.items);
    return err ? gcb_diag_nomem(diag, 0, "a plot") : 0;
}

const struct gcb_plot gcb_plot_k_min = {
    .name = "k-min",
    .title = "the FFT paper's least ratio that pays, by bandwidth",
    .needs = "rows of the FFT paper's model: `payoff --stage-gbps LIST --bandwidth 1Gb..100Gb/20 "
             "--results FILE`",
    .from = "payoff --stage-gbps",
    .split = &by_bandwidth,
    .series = GCB_PLOT_APART,
    .fill = fill_k_min,
};

const struct gcb_plot gcb_plot_t_sparse = {
    .name = "t-sparse",
    .title = "RedSync's times of sparse and dense exchanges, by number of workers",
    .needs = "rows of RedSync's model: `payoff --density D --model-bytes SIZE --workers 2..128 "
             "--results FILE`",
    .from = "payoff --density",
    .split = &by_workers,
    .fill = fill_t_sparse,
};
