#ifndef SRC_REPORT_PLOTS_H
#define SRC_REPORT_PLOTS_H

#include "src/report/plot.h"

/* Every plot there is; plot.c lists them. */
extern const struct gcb_plot gcb_plot_rate_distortion; /* src/report/plot_rate.c */
extern const struct gcb_plot gcb_plot_rate_cosine;     /* src/report/plot_rate.c */
extern const struct gcb_plot gcb_plot_ratio_error;     /* src/report/plot_rate.c */
extern const struct gcb_plot gcb_plot_pareto;          /* src/report/plot_rate.c */

#endif
