#ifndef CLI_SWEEP_SWEEP_TABLE_H
#define CLI_SWEEP_SWEEP_TABLE_H

#include "cli/base/output.h"
#include "cli/sweep/sweep_options.h"

/* What the table of `sweep` shows below its heading. */
struct sweep_view {
    const struct sweep_plan *plan;
    const struct gcb_run_result *result; /* the results of plan->methods */
    const bool *pareto;                  /* one for each of plan->methods */
    unsigned repeat;                     /* timed runs of each message */
};

int sweep_show(const struct sweep_view *view, const struct out_report *report,
               struct gcb_diag *diag);
/* Writes the answer of a search that was not interrupted, cut to `size`; returns out. */
char *sweep_answer(char *out, size_t size, const struct sweep_view *view);

#endif
