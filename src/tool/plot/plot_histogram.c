/* Plots histograms of gradients before and after compression, and of the errors. */
#include <math.h>

#include "src/lib/base/alloc.h"
#include "src/tool/plot/plot_bins.h"
#include "src/tool/plot/plots.h"

#define BINS 121 /* columns in the linear picture; odd, so that zero is in the middle of a column */
#define DECADE 4 /* columns for each power of ten in the logarithmic picture */
#define MAX_DECADES 12
#define MAX_PANELS 30
#define NOTHING 1e-30 /* stands for 0 on a logarithmic axis; lies far below the picture */

static size_t count_of(const struct gcb_plot_histograms *h)
{
    return h->set.cases.count < MAX_PANELS ? h->set.cases.count : MAX_PANELS;
}

/* Arranges the panels in rows and columns, a little wider than high. Without methods, one panel shows the input. */
static void put_panels(struct gcb_plot_page *out, const struct gcb_plot_histograms *h)
{
    const size_t n = count_of(h), panels = n ? n : 1;
    const double columns = fmin((double)panels, ceil(sqrt((double)panels * 1.2)));
    const double rows = ceil((double)panels / columns);

    gcb_plot_legend(out, &h->set);
    gcb_plot_var_real(out, "panels", (double)panels);
    gcb_plot_var_real(out, "panel_columns", columns);
    gcb_plot_var_real(out, "panel_rows", rows);
    gcb_plot_var_real(out, "plot_width", fmax(620.0, 90.0 + 250.0 * columns));
    gcb_plot_var_real(out, "plot_height", 150.0 + 190.0 * rows);
    gcb_plot_var_real(out, "methods", (double)n);
    gcb_plot_var_real(out, "input_zeros", h->input.zeros / h->input.total);
    gcb_plot_array_begin(out, "zeros", n);
    for (size_t i = 0; i < n; i++)
        gcb_plot_array_real(out, h->items[i].zeros / h->items[i].total);
}

/* Writes the shares of values in BINS equal columns between -limit and limit. Returns the largest share. */
static double put_linear(struct gcb_plot_page *out, const struct gcb_plot_histogram *h,
                         double limit)
{
    const double width = 2.0 * limit / BINS;
    double most = 0.0;

    GCB_PLOT_BLOCK(out, "value", GCB_PLOT_FIELD(SHARE));
    for (int i = 0; i < BINS; i++) {
        const double low = -limit + i * width,
                     share = gcb_plot_histogram_share(h, low, low + width);

        GCB_PLOT_ROW(out, NULL, low + width / 2.0, share);
        most = fmax(most, share);
    }
    return most;
}

static int fill_linear(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                       struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_histograms h;
    const int err = gcb_plot_histograms_of(&h, data, first->env, "decoded", diag);
    double limit, most;

    if (err)
        goto out;
    limit = gcb_plot_histogram_quantile(&h.input, 0.995);
    if (limit == 0.0) /* the input has only zeros */
        limit = 1.0;
    gcb_plot_heading_of(out, "Values before and after", h.env->file, "", h.env);
    put_panels(out, &h);
    gcb_plot_var_real(out, "limit", limit);
    most = put_linear(out, &h.input, limit);
    gcb_plot_var_real(out, "most", most > 0.0 ? most : 1.0);
    for (size_t i = 0; i < count_of(&h); i++)
        put_linear(out, &h.items[i], limit);
out:
    gcb_plot_histograms_fini(&h);
    return err;
}

/* Writes the columns of one sign, from the magnitude 10^floor upwards. The first column includes all smaller
 * magnitudes. */
static void put_side(struct gcb_plot_page *out, const struct gcb_plot_histogram *h, double floor,
                     int columns, double sign)
{
    for (int k = 0; k < columns; k++) {
        const double near = k ? pow(10.0, floor + (double)k / DECADE) : 0.0,
                     far = pow(10.0, floor + (k + 1.0) / DECADE);
        const double share = sign < 0.0 ? gcb_plot_histogram_share(h, -far, -near)
                                        : gcb_plot_histogram_share(h, near, far);

        GCB_PLOT_ROW(out, NULL, sign * (0.5 + (k + 0.5) / DECADE), fmax(share, NOTHING), NAN,
                     sign * far);
    }
}

static void put_logarithmic(struct gcb_plot_page *out, const struct gcb_plot_histogram *h,
                            double floor, int columns)
{
    GCB_PLOT_BLOCK(out, "position", GCB_PLOT_FIELD(SHARE), "zeros", "to");
    put_side(out, h, floor, columns, -1.0);
    GCB_PLOT_ROW(out, NULL, 0.0, NOTHING, h->zeros / h->total, 0.0);
    put_side(out, h, floor, columns, 1.0);
}

static int fill_logarithmic(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                            struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_histograms h;
    const int err = gcb_plot_histograms_of(&h, data, first->env, "decoded", diag);
    double least, top;
    int columns;

    if (err)
        goto out;
    least = floor(log10(fmax(gcb_plot_histogram_quantile(&h.input, 0.002), 1e-300)));
    top = ceil(log10(fmax(gcb_plot_histogram_quantile(&h.input, 1.0), 1e-300)));
    columns = (int)(fmin(fmax(top - least, 1.0), MAX_DECADES) * DECADE);
    gcb_plot_heading_of(out, "Magnitudes before and after", h.env->file, "", h.env);
    put_panels(out, &h);
    gcb_plot_var_real(out, "floor_decade", top - (double)columns / DECADE);
    gcb_plot_var_real(out, "decades", (double)columns / DECADE);
    gcb_plot_var_real(out, "column", 1.0 / DECADE);
    put_logarithmic(out, &h.input, top - (double)columns / DECADE, columns);
    for (size_t i = 0; i < count_of(&h); i++)
        put_logarithmic(out, &h.items[i], top - (double)columns / DECADE, columns);
out:
    gcb_plot_histograms_fini(&h);
    return err;
}

/* Writes, for each magnitude in ascending order, the share of values up to it. Returns false if memory runs out. */
static bool put_cumulative(struct gcb_plot_page *out, const struct gcb_plot_histogram *h)
{
    size_t count;
    struct gcb_plot_magnitude *m = gcb_plot_histogram_magnitudes(&count, h);
    double sum = h->zeros;

    GCB_PLOT_BLOCK(out, "magnitude", GCB_PLOT_FIELD(SHARE));
    /*
     * The curve begins with a horizontal line at the share of zeros. If all errors are 0, the curve is only this line.
     */
    if (h->total > 0.0) {
        GCB_PLOT_ROW(out, NULL, NOTHING, sum / h->total);
        GCB_PLOT_ROW(out, NULL, m && count ? m[0].at / 1.25 : 1.0 / NOTHING, sum / h->total);
    }
    for (size_t i = 0; i < count; i++) {
        sum += m[i].count;
        GCB_PLOT_ROW(out, NULL, m[i].at, sum / h->total);
    }
    gcb_free(m);
    return m != NULL;
}

static int fill_errors(const struct gcb_plot_data *data, const struct gcb_plot_record *first,
                       struct gcb_plot_page *out, struct gcb_diag *diag)
{
    struct gcb_plot_range range = GCB_PLOT_RANGE_EMPTY;
    struct gcb_plot_histograms h;
    int err = gcb_plot_histograms_of(&h, data, first->env, "error", diag);
    bool complete;

    if (err)
        goto out;
    gcb_plot_range_add_positive(&range, gcb_plot_histogram_quantile(&h.input, 1.0));
    gcb_plot_range_add_positive(&range, gcb_plot_histogram_quantile(&h.input, 0.001));
    gcb_plot_heading_of(out, "Distribution of |error|", h.env->file, "", h.env);
    gcb_plot_one_panel(out, gcb_plot_legend(out, &h.set));
    gcb_plot_var_real(out, "has_input", h.input.count > 0);
    complete = put_cumulative(out, &h.input);
    for (size_t i = 0; i < h.set.cases.count; i++) {
        gcb_plot_range_add_positive(&range, gcb_plot_histogram_quantile(&h.items[i], 1.0));
        gcb_plot_range_add_positive(&range, gcb_plot_histogram_quantile(&h.items[i], 0.02));
        complete &= put_cumulative(out, &h.items[i]);
    }
    gcb_plot_var_range(out, "error", &range);
    if (!complete)
        err = gcb_diag_nomem(diag, 0, "a plot");
out:
    gcb_plot_histograms_fini(&h);
    return err;
}

#define NEEDS \
    "histogram rows: `compress --histogram --results FILE`, or `inspect` for the input only"

const struct gcb_plot gcb_plot_histogram = {
    .name = "histogram",
    .title = "values before and after each method, linear axes",
    .needs = NEEDS,
    .from = "compress --histogram",
    .split = &gcb_plot_bins_of_inputs,
    .fill = fill_linear,
};

const struct gcb_plot gcb_plot_histogram_log = {
    .name = "histogram-log",
    .title = "magnitudes of both signs before and after each method, logarithmic axes",
    .needs = NEEDS,
    .from = "compress --histogram",
    .split = &gcb_plot_bins_of_inputs,
    .fill = fill_logarithmic,
};

const struct gcb_plot gcb_plot_error_cdf = {
    .name = "error-cdf",
    .title = "share of elements with at most a given error",
    .needs = "histograms of the errors, which `compress --histogram --results FILE` writes",
    .from = "compress --histogram",
    .split = &gcb_plot_bins_of_errors,
    .fill = fill_errors,
};
