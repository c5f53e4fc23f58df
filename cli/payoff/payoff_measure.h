#ifndef CLI_PAYOFF_PAYOFF_MEASURE_H
#define CLI_PAYOFF_PAYOFF_MEASURE_H

#include "cli/base/output.h"
#include "cli/base/progress.h"
#include "cli/payoff/payoff_options.h"

/* Where `payoff` measures, if it does. Starts zeroed. */
struct payoff_machine {
    struct opt_backend backend;     /* resolved by the caller */
    struct gcb_bandwidth bandwidth; /* measured where times are */
    struct progress progress;
};

/* Measures the methods of the options (all, if none is named) on synthetic tensors, and the machine's bandwidth, into the
 * reader. GCB_E_BACKEND on a device. */
int payoff_measure(struct gcb_payoff_reader *reader, const struct payoff_options *o,
                   struct payoff_machine *machine, const struct cmd_context *ctx);

#endif
