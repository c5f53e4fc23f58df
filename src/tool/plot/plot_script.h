#ifndef SRC_TOOL_PLOT_PLOT_SCRIPT_H
#define SRC_TOOL_PLOT_PLOT_SCRIPT_H

#include "src/tool/plot/plot_page.h"

/*
 * A whole gnuplot script for a page: what gcbench says about it, the settings that all plots share
 * (plots/style.gp), and the plot's own (plots/NAME.gp). It reads and writes STEM.dat and STEM.<type>, in
 * the folder where it is run. GCB_E_IO where the scripts were not found.
 */
int gcb_plot_script_write(FILE *out, const char *plot, const char *stem, const char *type,
                          const struct gcb_plot_page *page, struct gcb_diag *diag);

#endif
