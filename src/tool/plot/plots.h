#ifndef SRC_TOOL_PLOT_PLOTS_H
#define SRC_TOOL_PLOT_PLOTS_H

#include "src/tool/plot/plot.h"

/* Every plot there is; plot.c lists them. */
extern const struct gcb_plot gcb_plot_rate_distortion; /* src/tool/plot/plot_rate.c */
extern const struct gcb_plot gcb_plot_rate_cosine;     /* src/tool/plot/plot_rate.c */
extern const struct gcb_plot gcb_plot_ratio_error;     /* src/tool/plot/plot_rate.c */
extern const struct gcb_plot gcb_plot_throughput;      /* src/tool/plot/plot_speed.c */
extern const struct gcb_plot gcb_plot_pareto;          /* src/tool/plot/plot_pareto.c */
extern const struct gcb_plot gcb_plot_alpha;           /* src/tool/plot/plot_replay.c */
extern const struct gcb_plot gcb_plot_staleness;       /* src/tool/plot/plot_replay.c */
extern const struct gcb_plot gcb_plot_match;           /* src/tool/plot/plot_match.c */
extern const struct gcb_plot gcb_plot_heatmap;         /* src/tool/plot/plot_heat.c */
extern const struct gcb_plot gcb_plot_kernels;         /* src/tool/plot/plot_kernels.c */
extern const struct gcb_plot gcb_plot_forest;          /* src/tool/plot/plot_forest.c */
extern const struct gcb_plot gcb_plot_histogram;       /* src/tool/plot/plot_histogram.c */
extern const struct gcb_plot gcb_plot_histogram_log;   /* src/tool/plot/plot_histogram.c */
extern const struct gcb_plot gcb_plot_error_cdf;       /* src/tool/plot/plot_histogram.c */
extern const struct gcb_plot gcb_plot_spectrum;        /* src/tool/plot/plot_spectrum.c */
extern const struct gcb_plot gcb_plot_range_codes;     /* src/tool/plot/plot_range.c */
extern const struct gcb_plot gcb_plot_break_even;      /* src/tool/plot/plot_payoff.c */

#define GCB_PLOT_NEEDS_SUMMARY "summary rows: `bench`, `sweep` or `compress`, with --results FILE"

#endif
