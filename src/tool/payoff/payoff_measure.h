#ifndef SRC_TOOL_PAYOFF_PAYOFF_MEASURE_H
#define SRC_TOOL_PAYOFF_PAYOFF_MEASURE_H

#include "src/tool/payoff/payoff_cases.h"
#include "src/tool/trial/rows.h"

/*
 * Times for payoff where there are no results: every method on synthetic tensors (Laplace, what gradients are nearest to) of
 * a few sizes, so that lines can be fitted. The bytes of methods that depend on the data are these tensors' too.
 */
#define GCB_PAYOFF_SMALLEST 4096 /* elements; each further size is four times as large */
#define GCB_PAYOFF_SIZES 6       /* the last is 16 MiB */

struct gcb_payoff_measure {
    const struct gcb_method *methods; /* method_count of them */
    size_t method_count;
    struct gcb_trial_config trial; /* timing.stop and stop_ctx too */
    const struct gcb_rows_setting *setting;
    void (*progress)(void *ctx, double done); /* may be NULL */
    void *ctx;
};

/* Adds a result row for every size and method to the reader. Ends early, with 0, once timing.stop says so. */
int gcb_payoff_measure(struct gcb_payoff_reader *reader, const struct gcb_payoff_measure *m,
                       struct gcb_diag *diag);

#endif
