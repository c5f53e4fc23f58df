#ifndef CLI_PAYOFF_PAYOFF_TABLE_H
#define CLI_PAYOFF_PAYOFF_TABLE_H

#include "cli/base/output.h"
#include "cli/payoff/payoff_options.h"
#include "src/tool/payoff/measured.h"

/* What `payoff` prints for people: for one place a table of ways, for several a line each; then the answer. */

/* What is known of the ways: of what size and on what they were measured. */
void payoff_show_origin(const struct out_report *report, const struct gcb_ways *ways,
                        const char *from, const char *coding);
/* Prints the network and the gradient; of `several` places what they have in common. */
void payoff_show_setting(const struct out_report *report, const struct payoff_plan *plan,
                         const struct gcb_setting *s, bool several);
/* With -v: all ways. */
int payoff_show_ways(const struct out_report *report, const struct gcb_judgement *j,
                     const struct gcb_setting *s, struct gcb_diag *diag);

/* Notes of one line: what is left out, and what the errors and times are not. */
void payoff_show_notes(const struct out_report *report, const struct gcb_ways *ways,
                       const struct gcb_judgement *j, const struct gcb_setting *s);

/* A line for each of several places. */
struct payoff_place {
    struct gcb_setting setting;
    struct gcb_judgement judgement;
};
int payoff_show_places(const struct out_report *report, const struct payoff_place *places,
                       size_t count, struct gcb_diag *diag);

/* Measured exchanges and their predictions: a table, and what they say together. */
int payoff_show_measured(const struct out_report *report, const struct gcb_measureds *all,
                         const struct gcb_network *network, struct gcb_diag *diag);

/* Writes the answer for one place. `on_cpu`: the times of coding are those of a CPU. Returns out. */
#define PAYOFF_ANSWER 1200
char *payoff_answer(char out[PAYOFF_ANSWER], const struct payoff_place *place, bool on_cpu);

#endif
