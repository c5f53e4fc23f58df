#ifndef SRC_TOOL_PLOT_PLOTS_H
#define SRC_TOOL_PLOT_PLOTS_H

#include "src/tool/plot/plot_page.h"

/* All plots, grouped by the file that defines them. plot.c lists them in order. */
extern const struct gcb_plot gcb_plot_rate_distortion, gcb_plot_rate_cosine,
    gcb_plot_ratio_error; /* plot_rate.c */
extern const struct gcb_plot gcb_plot_histogram, gcb_plot_histogram_log,
    gcb_plot_error_cdf;                                          /* plot_histogram.c */
extern const struct gcb_plot gcb_plot_alpha, gcb_plot_staleness; /* plot_replay.c */
/* each of these is in its own plot_NAME.c */
extern const struct gcb_plot gcb_plot_throughput, gcb_plot_pareto, gcb_plot_match, gcb_plot_heatmap,
    gcb_plot_kernels, gcb_plot_forest, gcb_plot_spectrum, gcb_plot_range_codes, gcb_plot_history;
extern const struct gcb_plot gcb_plot_break_even, gcb_plot_scaling; /* plot_exchange.c */
extern const struct gcb_plot gcb_plot_exchange;                     /* plot_measured.c */

extern const struct gcb_plot gcb_plot_accuracy_steps, gcb_plot_accuracy_bytes,
    gcb_plot_accuracy_time; /* plot_training.c */

#define GCB_PLOT_NEEDS_SUMMARY "summary rows: `bench`, `sweep` or `compress`, with --results FILE"

#endif
