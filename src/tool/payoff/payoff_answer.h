#ifndef SRC_TOOL_PAYOFF_PAYOFF_ANSWER_H
#define SRC_TOOL_PAYOFF_PAYOFF_ANSWER_H

#include "src/tool/payoff/payoff_verdict.h"

/*
 * One sentence that answers whether compression pays. A place is a group of cases, a number of workers and a bandwidth.
 * Methods that are doubtful or miss the target of a search do not count. Compression pays at a place if any method
 * certainly pays there; it is undecided if only the intervals of some method leave it open.
 *
 * One of the methods that certainly pay is named: the fastest if their errors are about equal, or if all were searched
 * for one target; otherwise the most accurate. If none pays, it is the fastest of those that are undecided.
 */
struct gcb_payoff_place {
    size_t group;
    unsigned workers;
    double bandwidth;
    enum gcb_payoff_answer answer;
    size_t methods,
        candidates; /* methods that count; those of them that have the answer (but not GCB_PAYOFF_NO) */
    bool fastest; /* the fastest candidate is named; otherwise the most accurate */
    enum gcb_baseline bar;
    /* the method that is named; not with GCB_PAYOFF_NO */
    const char *label; /* borrowed from the case */
    double speedup, low, high, rel_l2;
    bool enlarged; /* it travels by a collective that makes the error larger than rel_l2 */
};

#define GCB_PAYOFF_EQUAL \
    1.5 /* errors are about equal if the largest is at most so many times the smallest */

/* Judges one place from its points, of which baselines are left out. `stride` is the distance between two methods. */
void gcb_payoff_place(struct gcb_payoff_place *out, const struct gcb_payoff_point *points,
                      size_t methods, size_t stride);

/* Writes the answer for all places, which are in the order of groups, workers and bandwidths. Cut to `size`; returns out. */
char *gcb_payoff_answer(char *out, size_t size, const struct gcb_payoff_place *places,
                        size_t count);

#endif
