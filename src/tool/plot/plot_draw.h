#ifndef SRC_TOOL_PLOT_PLOT_DRAW_H
#define SRC_TOOL_PLOT_PLOT_DRAW_H

#include "src/tool/plot/plot.h"

/* Draws a page and hands over the image as it is, ended by a NUL; gcb_free. The folder is for temporary files, `force`
 * has no meaning. Fails as gcb_plot_make does. */
int gcb_plot_draw(char **out, const struct gcb_plot_job *job, struct gcb_diag *diag);

#endif
