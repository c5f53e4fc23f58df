#ifndef SRC_TOOL_PLOT_PLOTS_H
#define SRC_TOOL_PLOT_PLOTS_H

#include "src/tool/plot/plot_page.h"

/*
 * The functions that struct gcb_plot calls `add`, of plots whose data are not simply columns of rows. They return
 * GCB_E_NOMEM if memory runs out.
 */
int gcb_plot_add_errors(struct gcb_plot_page *page, struct gcb_diag *diag);   /* plot_values.c */
int gcb_plot_add_spectrum(struct gcb_plot_page *page, struct gcb_diag *diag); /* plot_values.c */
int gcb_plot_add_ways(struct gcb_plot_page *page, struct gcb_diag *diag);     /* plot_ways.c */
int gcb_plot_add_history(struct gcb_plot_page *page, struct gcb_diag *diag);  /* plot_runs.c */
int gcb_plot_add_training(struct gcb_plot_page *page, struct gcb_diag *diag); /* plot_runs.c */

/* Returns the date of a run as a number, which grows with time; NAN: no date. */
double gcb_plot_date(const struct gcb_plot_record *row);

/* True if the number is positive and neither so large nor so small that gnuplot fails. */
bool gcb_plot_is_sane(double value);

#endif
