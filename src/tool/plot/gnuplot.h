#ifndef SRC_TOOL_PLOT_GNUPLOT_H
#define SRC_TOOL_PLOT_GNUPLOT_H

#include "src/lib/base/diag.h"

/*
 * Runs `gnuplot -d SCRIPT` in a folder and waits for it. No shell is involved, its input and output are
 * /dev/null, and the user's own settings of gnuplot are not read.
 * GCB_E_UNSUPPORTED: there is no gnuplot to start; the words say what to install. GCB_E_IO: it failed, with the
 * first line that it complained about.
 */
int gcb_gnuplot_run(const char *folder, const char *script, struct gcb_diag *diag);

#endif
