#ifndef CLI_BASE_TABLE_OPTIONS_H
#define CLI_BASE_TABLE_OPTIONS_H

#include "cli/base/options.h"
#include "src/tool/trial/groups.h"

/* Options about what a table of methods says beside its totals. */

/* Its lines: `compress` and `sweep`. */
struct opt_lines {
    const char *sort; /* NULL: in the order of what was given */
    bool no_baselines;
};
extern const struct opt_row opt_lines_rows[];
/* *out: the figure of --sort, or NULL. GCB_E_INVALID for a field that there is not. */
int opt_lines_sort(gcb_tally_figure_fn **out, const struct opt_lines *in, struct gcb_diag *diag);

/* Rows of shapes, which no table shows: `compress` and `bench`. */
struct opt_shapes {
    bool histogram, spectrum;
};
extern const struct opt_row opt_shapes_rows[];
/* GCB_E_INVALID where nothing takes the rows. */
int opt_shapes_check(const struct opt_shapes *in, const struct opt_show *show,
                     const struct opt_save *save, struct gcb_diag *diag);

#endif
