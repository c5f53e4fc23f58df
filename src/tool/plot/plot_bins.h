#ifndef SRC_TOOL_PLOT_PLOT_BINS_H
#define SRC_TOOL_PLOT_PLOT_BINS_H

#include "src/tool/plot/plot_series.h"

/* Make a page for each result file that has histograms of the input, or of the errors. */
extern const struct gcb_plot_split gcb_plot_bins_of_inputs, gcb_plot_bins_of_errors;

/*
 * A histogram of a result file, summed over its tensors. All tensors have the same bins (docs/rows.md), four for each
 * power of two.
 */
struct gcb_plot_bin {
    double low, high, count;
};
struct gcb_plot_histogram {
    struct gcb_plot_bin *bins; /* different bins in rising order, without empty bins; owned */
    size_t count;
    double total; /* number of values in all bins */
    double zeros; /* number of exact zeros among these values */
};

/* Histograms of the input, and of the decoded values or the errors of each method. */
struct gcb_plot_histograms {
    struct gcb_plot_histogram input;  /* histogram of the input; may be empty */
    struct gcb_plot_histogram *items; /* items[i] belongs to series i of the set */
    struct gcb_plot_set set;
    const struct gcb_plot_record *env;
};

/* Collects the histograms of the result file whose environment has the number `env`. `of` is "decoded" or "error"; any
 * other word collects only the histogram of the input. Release *out with gcb_plot_histograms_fini, also on failure. */
int gcb_plot_histograms_of(struct gcb_plot_histograms *out, const struct gcb_plot_data *data,
                           size_t env, const char *of, struct gcb_diag *diag);
void gcb_plot_histograms_fini(struct gcb_plot_histograms *h);

/*
 * Counts values by magnitude, both signs together, without zeros. `count` values have a magnitude of at most `at` and
 * more than the `at` before. The result is in rising order; release it with gcb_free. If memory runs out, returns NULL
 * and sets *count to 0.
 */
struct gcb_plot_magnitude {
    double at, count;
};
struct gcb_plot_magnitude *gcb_plot_histogram_magnitudes(size_t *count,
                                                         const struct gcb_plot_histogram *h);

/* Returns the magnitude below which this share of the nonzero values lies; 0 for an empty histogram. */
double gcb_plot_histogram_quantile(const struct gcb_plot_histogram *h, double share);

/* Returns the share of all values that are nonzero and in [low, high). Assumes that the values of a bin are spread
 * evenly over the bin. */
double gcb_plot_histogram_share(const struct gcb_plot_histogram *h, double low, double high);

#endif
