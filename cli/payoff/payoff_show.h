#ifndef CLI_PAYOFF_PAYOFF_SHOW_H
#define CLI_PAYOFF_PAYOFF_SHOW_H

#include "cli/base/output.h"
#include "cli/payoff/payoff_options.h"
#include "src/tool/payoff/payoff_rows.h"

/*
 * What people see. A group of cases at one number of workers is a table: with one bandwidth it has the terms of an exchange,
 * with several the time at each of them (at most PAYOFF_SHOWN). The verdicts follow, in full with -v.
 */

/* The points of one group and number of workers. */
struct payoff_view {
    const struct gcb_payoff_point *points; /* methods x bandwidths; first the baselines */
    size_t methods, bandwidths;
};
#define PAYOFF_SHOWN 5 /* bandwidths in a table */
int payoff_show(const struct out_report *report, const struct payoff_view *view,
                struct gcb_diag *diag);
/* One note for each assumption that a reader might not expect. */
void payoff_show_notes(const struct out_report *report, const struct payoff_view *view,
                       bool fp16_measured);
/* The FFT paper's condition with the measured stages of a case. */
void payoff_show_stages(const struct out_report *report, const struct gcb_payoff_case *c,
                        const struct gcb_fft_stages *stages,
                        const struct gcb_payoff_grid *bandwidths);
/* What its symbols mean. */
void payoff_show_symbols(const struct out_report *report);

/* The papers' own models, on given numbers. */
int payoff_show_fft(const struct out_report *report, const struct gcb_fft_stages *stages,
                    const struct gcb_payoff_grid *bandwidths, struct gcb_diag *diag);
int payoff_show_redsync(const struct out_report *report, const struct payoff_plan *plan,
                        struct gcb_diag *diag);

#endif
