#ifndef SRC_TOOL_PAYOFF_PAYOFF_MEASURE_H
#define SRC_TOOL_PAYOFF_PAYOFF_MEASURE_H

#include "src/tool/payoff/payoff_cases.h"
#include "src/tool/trial/rows.h"

/*
 * Measures times for payoff if the user gives no results. Runs every method on synthetic tensors of several sizes, so
 * that lines can be fitted. The values have a Laplace distribution, because of all synthetic distributions it is most
 * like gradients. If the size of a method's messages depends on the data, it is also measured on these tensors.
 */
#define GCB_PAYOFF_SMALLEST 4096 /* elements of the smallest tensor; the next has 4 times as many */
#define GCB_PAYOFF_SIZES 6       /* the largest tensor has 16 MiB */

struct gcb_payoff_measure {
    const struct gcb_method *methods;
    size_t method_count;
    struct gcb_trial_config trial; /* trial.timing.stop ends the measurement early */
    const struct gcb_rows_setting *setting;
    void (*progress)(void *ctx, double done); /* may be NULL */
    void *ctx;
};

/* Adds a result row for each size and method to the reader. Ends early and returns 0 if timing.stop returns true. */
int gcb_payoff_measure(struct gcb_payoff_reader *reader, const struct gcb_payoff_measure *m,
                       struct gcb_diag *diag);

#endif
