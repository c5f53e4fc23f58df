#ifndef SRC_TOOL_PAYOFF_PAYOFF_MEASURE_H
#define SRC_TOOL_PAYOFF_PAYOFF_MEASURE_H

#include "src/tool/payoff/payoff_cases.h"
#include "src/tool/trial/rows.h"

/*
 * Times for payoff if there are no results: runs every method on synthetic tensors of a few sizes, so that lines can be fitted.
 * Their values have a Laplace distribution, which is the nearest to gradients. If the bytes of a method depend on the data, they
 * are those of these tensors too.
 */
#define GCB_PAYOFF_SMALLEST 4096 /* elements; each further size is four times as large */
#define GCB_PAYOFF_SIZES 6       /* the last is 16 MiB */

struct gcb_payoff_measure {
    const struct gcb_method *methods;
    size_t method_count;
    struct gcb_trial_config trial; /* with timing.stop and stop_ctx */
    const struct gcb_rows_setting *setting;
    void (*progress)(void *ctx, double done); /* may be NULL */
    void *ctx;
};

/* Adds a result row for every size and method to the reader. Ends early, with 0, if timing.stop says so. */
int gcb_payoff_measure(struct gcb_payoff_reader *reader, const struct gcb_payoff_measure *m,
                       struct gcb_diag *diag);

#endif
