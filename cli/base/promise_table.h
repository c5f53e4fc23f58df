#ifndef CLI_BASE_PROMISE_TABLE_H
#define CLI_BASE_PROMISE_TABLE_H

#include "cli/base/output.h"
#include "src/tool/rows/labels.h"
#include "src/tool/run/promises.h"

/* What `verify` prints of its checks, and `merge` of the checks of all shards. */

/* The number of checks of a method, by outcome. */
struct promise_counts {
    uint64_t of[GCB_PROMISE_STATUSES];
};

/* Counts a row of record `promise`. For a table, prints it: several lines if the promise is broken, or one line if `report` is
 * verbose. */
void promise_take(struct promise_counts *counts, const struct out_report *report, const char *label,
                  const struct gcb_row *row);

/* Prints a table of the checks of each method, by outcome, and the line of their sum. */
int promise_show_counts(const struct out_report *report, const struct gcb_label *labels,
                        size_t count, const struct promise_counts *counts, uint64_t messages,
                        struct gcb_diag *diag);

/* Prints how to read the counts if some checks had nothing to say. */
void promise_note_idle(FILE *out, const struct promise_counts *counts, size_t count);

/* The number of checks of all methods with this outcome. */
uint64_t promise_sum(const struct promise_counts *counts, size_t count,
                     enum gcb_promise_status status);

#endif
