#ifndef SRC_REPORT_PLOTS_H
#define SRC_REPORT_PLOTS_H

#include "src/report/plot.h"

/* Every plot there is; plot.c lists them. */
extern const struct gcb_plot gcb_plot_rate_distortion; /* src/report/plot_rate.c */
extern const struct gcb_plot gcb_plot_rate_cosine;     /* src/report/plot_rate.c */
extern const struct gcb_plot gcb_plot_ratio_error;     /* src/report/plot_rate.c */
extern const struct gcb_plot gcb_plot_throughput;      /* src/report/plot_speed.c */
extern const struct gcb_plot gcb_plot_pareto;          /* src/report/plot_pareto.c */
extern const struct gcb_plot gcb_plot_alpha;           /* src/report/plot_replay.c */
extern const struct gcb_plot gcb_plot_staleness;       /* src/report/plot_replay.c */
extern const struct gcb_plot gcb_plot_match;           /* src/report/plot_match.c */
extern const struct gcb_plot gcb_plot_heatmap;         /* src/report/plot_heat.c */
extern const struct gcb_plot gcb_plot_kernels;         /* src/report/plot_kernels.c */
extern const struct gcb_plot gcb_plot_forest;          /* src/report/plot_forest.c */
extern const struct gcb_plot gcb_plot_histogram;       /* src/report/plot_histogram.c */
extern const struct gcb_plot gcb_plot_histogram_log;   /* src/report/plot_histogram.c */
extern const struct gcb_plot gcb_plot_error_cdf;       /* src/report/plot_histogram.c */
extern const struct gcb_plot gcb_plot_spectrum;        /* src/report/plot_spectrum.c */
extern const struct gcb_plot gcb_plot_range_codes;     /* src/report/plot_range.c */
extern const struct gcb_plot gcb_plot_break_even;      /* src/report/plot_payoff.c */

#define GCB_PLOT_NEEDS_SUMMARY "summary rows: `bench`, `sweep` or `compress`, with --results FILE"

#endif
