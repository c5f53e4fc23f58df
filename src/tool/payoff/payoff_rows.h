#ifndef SRC_TOOL_PAYOFF_PAYOFF_ROWS_H
#define SRC_TOOL_PAYOFF_PAYOFF_ROWS_H

#include "src/tool/payoff/payoff_verdict.h"
#include "src/tool/rows/row.h"

/* Starts a `payoff` row (docs/rows.md). An infinite break-even bandwidth becomes null, like all infinities in rows. */
void gcb_payoff_row(struct gcb_row *row, const struct gcb_payoff_point *p);

/* Starts a row for the FFT paper's model. `c` is NULL if the throughputs were given and not measured. */
void gcb_payoff_fft_row(struct gcb_row *row, const struct gcb_payoff_case *c,
                        const struct gcb_fft_stages *stages, double bandwidth);
/* Starts a row for RedSync's model. */
void gcb_payoff_redsync_row(struct gcb_row *row, const struct gcb_redsync *in,
                            const struct gcb_redsync_times *out);

#endif
