#ifndef SRC_TOOL_TRIAL_GROUPS_H
#define SRC_TOOL_TRIAL_GROUPS_H

#include "src/tool/rows/fields.h"
#include "src/tool/run/run.h"

/* Tallies for each message, tensor, step or worker, for the tables of --per. */
enum gcb_per { GCB_PER_MESSAGE, GCB_PER_TENSOR, GCB_PER_STEP, GCB_PER_WORKER };

struct gcb_group {
    char *name;    /* name of the first message, without its worker; not escaped */
    uint64_t step; /* step of the first message */
    uint32_t worker;
    struct gcb_tally *tallies; /* one for each method */
    double key;                /* for sorting */
    size_t place;              /* place before sorting */
};

struct gcb_groups {
    enum gcb_per per;
    size_t methods;
    struct gcb_group *items; /* in the order in which they were added */
    size_t count, cap;
    size_t next; /* where the next search begins */
};

void gcb_groups_init(struct gcb_groups *g, enum gcb_per per, size_t methods);
void gcb_groups_fini(struct gcb_groups *g); /* zeroed is fine */
int gcb_groups_add(struct gcb_groups *g, const struct gcb_run_trial *trial, struct gcb_diag *diag);

/* Sorts groups by a figure of method 0, largest first, groups without the figure last. Equal groups keep their order. */
void gcb_groups_sort(struct gcb_groups *g, enum gcb_field figure);

/* Writes the order of the totals, sorted by the same rule, as method_count indices. */
void gcb_totals_order(size_t *order, const struct gcb_run_result *result, enum gcb_field figure);

#endif
