#ifndef SRC_BENCH_BUDGET_H
#define SRC_BENCH_BUDGET_H

/*
 * Time shared out among pieces of work as they come: each is offered three times its share of what is left, by
 * weight, for most need much less than theirs, and what one leaves over goes to those that follow. Nothing is
 * taken by force, so work that cannot be cut short runs over.
 */
struct gcb_budget {
    double deadline; /* by gcb_clock */
    double weight;   /* of the work to come */
};

/* `weight`: of all work together. Starts the clock. */
void gcb_budget_start(struct gcb_budget *b, double seconds, double weight);

/* Seconds for a piece of this weight, which is on its way then: more than 0, also when nothing is left. */
double gcb_budget_take(struct gcb_budget *b, double weight);

#endif
