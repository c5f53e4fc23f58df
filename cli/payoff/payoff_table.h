#ifndef CLI_PAYOFF_PAYOFF_TABLE_H
#define CLI_PAYOFF_PAYOFF_TABLE_H

#include "cli/base/output.h"
#include "cli/payoff/payoff_options.h"
#include "src/tool/payoff/payoff_rows.h"

/*
 * What a model comes to, for people. The table of a group of cases at one number of workers: with one bandwidth the
 * terms of an exchange, with several its time at each (PAYOFF_SHOWN at most); the verdicts below, with -v in full.
 */

/* Points of one group and number of workers: for each of `methods` (the baselines first) those of all bandwidths. */
struct payoff_view {
    const struct gcb_payoff_point *points; /* methods x bandwidths */
    size_t methods, bandwidths;
};
#define PAYOFF_SHOWN 5 /* bandwidths in a table */
int payoff_show(const struct out_report *report, const struct payoff_view *view,
                struct gcb_diag *diag);
/* What the numbers rest on (payoff_notes.c): one note for each assumption that a reader might not expect. */
void payoff_show_notes(const struct out_report *report, const struct payoff_view *view,
                       bool half_measured);
/* The FFT paper's condition with a case's measured stages, at the plan's bandwidths. */
void payoff_show_stages(const struct out_report *report, const struct gcb_payoff_case *c,
                        const struct gcb_fft_stages *stages,
                        const struct gcb_payoff_grid *bandwidths);
/* What its letters stand for: once, below all of them. */
void payoff_show_symbols(const struct out_report *report);

/* The papers' own models, on given numbers. */
int payoff_show_fft(const struct out_report *report, const struct gcb_fft_stages *stages,
                    const struct gcb_payoff_grid *bandwidths, struct gcb_diag *diag);
int payoff_show_redsync(const struct out_report *report, const struct payoff_plan *plan,
                        struct gcb_diag *diag);

#endif
