#ifndef SRC_TOOL_SEARCH_PARETO_H
#define SRC_TOOL_SEARCH_PARETO_H

#include <stdbool.h>
#include <stddef.h>

#include "src/tool/run/breakdown.h"

/*
 * Marks the entries that no other entry beats. An entry beats another if it is at least as good in every figure and
 * better in at least one. `cost` has `figures` values for each entry, and less is better. An entry with a NAN is not
 * marked and beats nothing. Equal entries are all marked.
 */
void gcb_pareto_mark(bool *mark, const double *cost, size_t count, size_t figures);

/* A field of a summary for which either more or less is better. */
struct gcb_pareto_field {
    enum gcb_field field;
    bool more; /* true: more is better; false: less is better */
};
#define GCB_PARETO_FIELDS 4

/* Parses "rel_l2,bits_per_element": two to GCB_PARETO_FIELDS different fields. GCB_E_INVALID with a message. */
int gcb_pareto_parse(struct gcb_pareto_field out[GCB_PARETO_FIELDS], size_t *count,
                     const char *text, struct gcb_diag *diag);
/* Marks the totals of a run. A total that failed, or whose entry of `left_out` is true, is not marked and beats nothing. 0
 * or GCB_E_NOMEM. */
int gcb_pareto_totals(bool *mark, const struct gcb_run_result *result, const bool *left_out,
                      const struct gcb_pareto_field *fields, size_t count, struct gcb_diag *diag);

#endif
