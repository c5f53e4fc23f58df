#ifndef SRC_TOOL_PLOT_PLOT_BINS_H
#define SRC_TOOL_PLOT_PLOT_BINS_H

#include "src/tool/plot/plot_series.h"

/* Each result file with histograms of the input, or of errors, is a page. */
extern const struct gcb_plot_split gcb_plot_bins_of_inputs, gcb_plot_bins_of_errors;

/*
 * A histogram of a result file, summed over its tensors. Bins are the same for each tensor (docs/rows.md), four to
 * a power of two.
 */
struct gcb_plot_bin {
    double low, high, count;
};
struct gcb_plot_histogram {
    struct gcb_plot_bin *bins; /* in rising order, each once, none empty; owned */
    size_t count;
    double total; /* values in all bins */
    double zeros; /* exact zeros among them */
};

/* The input, and what each method made of it ("decoded") or lost ("error"). */
struct gcb_plot_histograms {
    struct gcb_plot_histogram input;  /* may be empty */
    struct gcb_plot_histogram *items; /* of series i */
    struct gcb_plot_set set;
    const struct gcb_plot_record *env;
};

/* The histograms of the result file whose environment has this number. `of`: "decoded", "error", or a word that no row
 * has, for the input only. Release with gcb_plot_histograms_fini, also on failure. */
int gcb_plot_histograms_of(struct gcb_plot_histograms *out, const struct gcb_plot_data *data,
                           size_t env, const char *of, struct gcb_diag *diag);
void gcb_plot_histograms_fini(struct gcb_plot_histograms *h);

/* Counts by magnitude in rising order, both signs together, zeros left out: how many values are at most `at` and
 * more than the `at` before. Release with gcb_free; NULL: no memory, and *count is 0 then. */
struct gcb_plot_magnitude {
    double at, count;
};
struct gcb_plot_magnitude *gcb_plot_histogram_magnitudes(size_t *count,
                                                         const struct gcb_plot_histogram *h);

/* The magnitude below which this share of the values that are not zero lies; 0 for an empty histogram. */
double gcb_plot_histogram_quantile(const struct gcb_plot_histogram *h, double share);

/* The share of all values that lies in [low, high), zeros left out. Values of a bin are spread evenly over it. */
double gcb_plot_histogram_share(const struct gcb_plot_histogram *h, double low, double high);

#endif
