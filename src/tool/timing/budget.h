#ifndef SRC_TOOL_TIMING_BUDGET_H
#define SRC_TOOL_TIMING_BUDGET_H

/*
 * Time shared out among pieces of work as they come. Most need much less than their share, by weight, of what
 * is left; so each is offered up to three times that, as long as those that follow keep half of what would have
 * been theirs. What one leaves over goes to those that follow. Nothing is taken by force: work that cannot be
 * cut short runs over.
 */
struct gcb_budget {
    double deadline; /* by gcb_clock */
    double weight;   /* of the work to come */
    double fair;     /* seconds for a weight of 1, to begin with */
};

/* `weight`: of all work together. Starts the clock. */
void gcb_budget_start(struct gcb_budget *b, double seconds, double weight);

/* Seconds for a piece of this weight, which is on its way then: more than 0, also when nothing is left. */
double gcb_budget_take(struct gcb_budget *b, double weight);

#endif
