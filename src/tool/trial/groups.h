#ifndef SRC_TOOL_TRIAL_GROUPS_H
#define SRC_TOOL_TRIAL_GROUPS_H

#include "src/tool/rows/fields.h"
#include "src/tool/trial/run.h"

/* Tallies of messages that have something in common, for the tables of --per. */
enum gcb_per { GCB_PER_MESSAGE, GCB_PER_TENSOR, GCB_PER_STEP, GCB_PER_WORKER };

struct gcb_group {
    const char *name; /* of the message below its worker, owned by the groups; escape it */
    uint64_t step;    /* only what `per` keeps apart is of all its messages */
    uint32_t worker;
    struct gcb_tally *tallies; /* by method */
    double key;                /* for sorting */
    size_t place;
};

struct gcb_groups {
    enum gcb_per per;
    size_t methods;
    struct gcb_group *items; /* in the order they came */
    size_t count, cap;
    size_t next;
};

void gcb_groups_init(struct gcb_groups *g, enum gcb_per per, size_t methods);
void gcb_groups_fini(struct gcb_groups *g); /* zeroed is fine */
int gcb_groups_add(struct gcb_groups *g, const struct gcb_run_trial *trial, struct gcb_diag *diag);

/* Sorts groups by a figure of method 0, largest first; those without one last. Equal ones stay in order. */
void gcb_groups_sort(struct gcb_groups *g, enum gcb_field figure);

/* The order of the totals (method_count indices) by the same rule. */
void gcb_totals_order(size_t *order, const struct gcb_run_result *result, enum gcb_field figure);

#endif
