#ifndef CLI_PAYOFF_PAYOFF_SHOW_H
#define CLI_PAYOFF_PAYOFF_SHOW_H

#include "cli/base/output.h"
#include "cli/payoff/payoff_options.h"
#include "src/tool/payoff/payoff_answer.h"
#include "src/tool/payoff/payoff_rows.h"
#include "src/tool/payoff/truth.h"

/*
 * Prints the results for people. Each group of cases and number of workers has a table. With one bandwidth, the table
 * has the terms of an exchange; with several, the time at each bandwidth (at most PAYOFF_SHOWN). Below it are the
 * verdicts, in full with -v.
 */

/* The points of one group of cases and one number of workers. */
struct payoff_view {
    const struct gcb_payoff_point
        *points; /* methods x bandwidths points, those of the baselines first */
    size_t methods, bandwidths;
};
#define PAYOFF_SHOWN 4 /* largest number of bandwidths in a table */
int payoff_show(const struct out_report *report, const struct payoff_view *view,
                struct gcb_diag *diag);
/* Prints a note on each assumption that a reader might not expect. */
void payoff_show_notes(const struct out_report *report, const struct payoff_view *view,
                       bool halves_measured);
/* Prints which methods were left out and why; "": none. */
void payoff_show_left_out(const struct out_report *report, const char *left_out);
/* Prints the FFT paper's condition with the measured stages of a case. */
void payoff_show_stages(const struct out_report *report, const struct gcb_payoff_case *c,
                        const struct gcb_fft_stages *stages,
                        const struct gcb_payoff_grid *bandwidths);
/* Explains the symbols of the FFT paper's condition. */
void payoff_show_symbols(const struct out_report *report);

/* Prints a table of measured exchanges and their predictions for each group, and what they say together. */
int payoff_show_truths(const struct out_report *report, const struct gcb_truths *truths,
                       const struct gcb_link *link, struct gcb_diag *diag);

/* Print the papers' own models for the numbers that the options give. */
int payoff_show_fft(const struct out_report *report, const struct gcb_fft_stages *stages,
                    const struct gcb_payoff_grid *bandwidths, struct gcb_diag *diag);
int payoff_show_redsync(const struct out_report *report, const struct payoff_plan *plan,
                        struct gcb_diag *diag);

#endif
