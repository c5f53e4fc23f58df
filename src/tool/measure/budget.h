#ifndef SRC_TOOL_MEASURE_BUDGET_H
#define SRC_TOOL_MEASURE_BUDGET_H

/*
 * Divides a time limit among pieces of work that run one after the other. A piece has a share of the time left by its
 * weight, but most pieces need much less. So a piece may take up to three times its share, as long as all later pieces
 * keep half of their initial share. Time that a piece does not use goes to later pieces. Work that cannot be cut short
 * may exceed the limit.
 */
struct gcb_budget {
    double deadline; /* by gcb_clock */
    double weight;   /* weight of all work that is left */
    double fair;     /* at the start: the seconds that work of weight 1 gets */
};

/* Starts the clock. `weight` is the weight of all work together. */
void gcb_budget_start(struct gcb_budget *b, double seconds, double weight);

/* Returns the seconds for the next piece, which has this weight: more than 0 even if no time is left. */
double gcb_budget_take(struct gcb_budget *b, double weight);

#endif
