#ifndef SRC_TOOL_TIMING_BUDGET_H
#define SRC_TOOL_TIMING_BUDGET_H

/*
 * Divides a time limit among pieces of work, one after the other. Most pieces need much less than their share of the time
 * left, by weight. So a piece may take up to three times its share, as long as all later ones keep half of their initial
 * share. Time that a piece leaves over goes to later ones. The limit can be exceeded: work that cannot be cut short takes
 * longer.
 */
struct gcb_budget {
    double deadline; /* by gcb_clock */
    double weight;   /* of all work that is left */
    double fair;     /* seconds for a weight of 1 at the start */
};

/* Starts the clock. `weight` is that of all work together. */
void gcb_budget_start(struct gcb_budget *b, double seconds, double weight);

/* Seconds for the next piece, of this weight: more than 0 even if no time is left. */
double gcb_budget_take(struct gcb_budget *b, double weight);

#endif
