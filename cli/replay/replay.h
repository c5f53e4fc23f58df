#ifndef CLI_REPLAY_REPLAY_H
#define CLI_REPLAY_REPLAY_H

#include "cli/base/output.h"
#include "cli/base/session.h"
#include "src/tool/replay/replay.h"
#include "src/tool/rows/labels.h"

/* Says which gradients the workers have, if they are not simply those of the dump. */
void replay_show_workers(FILE *out, const struct gcb_replay_plan *plan);

/* Tables and notes that `replay` prints: a table of a method's steps, a table of all methods,
 * and notes. */
struct gcb_table *replay_steps_create(bool scheduled);
void replay_steps_add(struct gcb_table *table, const struct gcb_replay_step *step, bool scheduled);

/* `labels` of the methods (gcb_label_methods); the table has a column for their collectives. */
int replay_show_totals(const struct out_report *report, const struct gcb_method *methods,
                       const struct gcb_label *labels, const struct gcb_replay_plan *plan,
                       const struct gcb_replay_total *totals, size_t count, struct gcb_diag *diag);
/* Prints what was sent and lost in all steps, after `name` (NULL: there is only one method). */
void replay_show_notes(FILE *out, const struct gcb_method *method,
                       const struct gcb_replay_total *total, const char *name);
/* Gives the answer: by the error of the mean, or for a method with a memory by that of the sum
 * of all updates. */
int replay_answer(struct out_report *report, const struct gcb_method *methods,
                  const struct gcb_label *labels, const struct gcb_replay_plan *plan,
                  const struct gcb_replay_total *totals, size_t count, struct gcb_diag *diag);

#endif
