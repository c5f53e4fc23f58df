#ifndef CLI_REPLAY_REPLAY_H
#define CLI_REPLAY_REPLAY_H

#include "cli/base/output.h"
#include "cli/base/session.h"
#include "src/tool/replay/replay.h"
#include "src/tool/rows/labels.h"

/* Prints a line that says which gradients the workers have, unless each has those of one worker of
 * the dump, and none is left out. */
void replay_show_workers(FILE *out, const struct gcb_replay_plan *plan);

/* Makes a table for the steps of a method. `scheduled`: theta changes from step to step, and has a
 * column. out_table releases the table. */
struct gcb_table *replay_steps_create(bool scheduled);
/* Adds a line for a step. */
void replay_steps_add(struct gcb_table *table, const struct gcb_replay_step *step, bool scheduled);

/* Prints a table of `count` methods. `labels`: of the methods (gcb_label_methods). */
void replay_show_totals(const struct out_report *report, const struct gcb_method *methods,
                        const struct gcb_label *labels, const struct gcb_replay_plan *plan,
                        const struct gcb_replay_total *totals, size_t count);
/* Prints what a method sent and lost in all steps. The text begins with `name`; NULL: there is only
 * one method. */
void replay_show_notes(FILE *out, const struct gcb_method *method,
                       const struct gcb_replay_total *total, const char *name);
/* Prints the answer and sends its row. Methods are compared by the error of the mean, and those
 * with a memory by the error of the sum of all updates. */
int replay_answer(struct out_report *report, const struct gcb_method *methods,
                  const struct gcb_label *labels, const struct gcb_replay_plan *plan,
                  const struct gcb_replay_total *totals, size_t count, struct gcb_diag *diag);

#endif
