#ifndef SRC_TOOL_PAYOFF_PAYOFF_ROWS_H
#define SRC_TOOL_PAYOFF_PAYOFF_ROWS_H

#include "src/tool/payoff/payoff_verdict.h"
#include "src/tool/rows/row.h"

/* Rows of `payoff` (docs/rows.md). Infinite break-evens become null, as all infinities in rows do. */
void gcb_payoff_row(struct gcb_row *row, const struct gcb_payoff_point *p);

/* The FFT paper's model. `c` NULL: the throughputs were given, not measured. */
void gcb_payoff_fft_row(struct gcb_row *row, const struct gcb_payoff_case *c,
                        const struct gcb_fft_stages *stages, double bandwidth);
/* RedSync's model. */
void gcb_payoff_redsync_row(struct gcb_row *row, const struct gcb_redsync *in,
                            const struct gcb_redsync_times *out);

#endif
