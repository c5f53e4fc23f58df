#ifndef SRC_TOOL_PAYOFF_PAYOFF_ROWS_H
#define SRC_TOOL_PAYOFF_PAYOFF_ROWS_H

#include "src/tool/payoff/payoff_cases.h"
#include "src/tool/payoff/payoff_verdict.h"
#include "src/tool/rows/sink.h"

/* Rows of `payoff` (docs/rows.md). Infinite break-evens are null, as every row's infinities are. */

/* One method at one link. `c` NULL: the baseline whose name is `baseline`. */
struct gcb_payoff_point {
    const struct gcb_payoff_case *c;
    const struct gcb_payoff_case *of; /* the group: the case itself, or any of the baseline's */
    const char *baseline;
    double rel_l2; /* 0 of fp32; NAN: not known */
    struct gcb_link link;
    struct gcb_payoff_scale scale;
    struct gcb_payoff_contest contest;
    struct gcb_payoff_verdict verdict;
};
/* Fills rel_l2, link, scale, contest and verdict. `c` and `of` and `baseline` are set. */
void gcb_payoff_point(struct gcb_payoff_point *p, const struct gcb_payoff_cases *cases,
                      const struct gcb_link *link, const struct gcb_payoff_model *model);
void gcb_payoff_row(struct gcb_row *row, const struct gcb_payoff_point *p);

/* The FFT paper's model. `c` NULL: throughputs were given, not measured. */
void gcb_payoff_fft_row(struct gcb_row *row, const struct gcb_payoff_case *c,
                        const struct gcb_fft_stages *stages, double bandwidth);
/* RedSync's. */
void gcb_payoff_redsync_row(struct gcb_row *row, const struct gcb_redsync *in,
                            const struct gcb_redsync_times *out);

#endif
