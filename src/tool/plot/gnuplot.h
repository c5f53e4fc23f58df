#ifndef SRC_TOOL_PLOT_GNUPLOT_H
#define SRC_TOOL_PLOT_GNUPLOT_H

#include "src/tool/plot/plot_page.h"

/*
 * Writes a whole gnuplot script for a page: the page's variables, the settings that all plots share
 * (plots/style.gp), and the plot's own script (plots/NAME.gp). The script reads STEM.dat and writes STEM.<type>
 * in the folder where it is run. GCB_E_IO: the scripts were not found.
 */
int gcb_gnuplot_write(FILE *out, const char *plot, const char *stem, const char *type,
                      const struct gcb_plot_page *page, struct gcb_diag *diag);

/*
 * Runs `gnuplot -d SCRIPT` in a folder and waits for it. No shell is involved, its input and output are
 * /dev/null, and the user's own gnuplot settings are not read.
 * GCB_E_UNSUPPORTED: gnuplot is not installed; the words say what to install. GCB_E_IO: it failed; the words have
 * the first line of its complaint.
 */
int gcb_gnuplot_run(const char *folder, const char *script, struct gcb_diag *diag);

#endif
