#ifndef SRC_TOOL_VERIFY_PROMISES_DRAWS_H
#define SRC_TOOL_VERIFY_PROMISES_DRAWS_H

#include "src/tool/verify/promises.h"

/*
 * What a method that rounds stochastically may do to each element, from the tensor and the method's parameters alone: QSGD's
 * levels (GCB_BOUND_LEVELS) and TernGrad's (GCB_BOUND_TERNARY), worked out apart from the codecs.
 */

/* Rounded up by h (1 - p) with probability p, else down by h p; with h = 0 the error is `sure`. */
struct gcb_draw {
    double h, p, sure;
};
typedef void gcb_draw_fn(void *ctx, uint64_t i, const struct gcb_draw *d);

/* Calls `each` for every element of the job, in order. Its codec has one of the two bounds. */
void gcb_draws_each(const struct gcb_promise_job *job, gcb_draw_fn *each, void *ctx);

double gcb_draws_number(const struct gcb_method *m, const char *key); /* a parameter; 0: has none */
double gcb_draws_levels(const struct gcb_method *m);                  /* s: levels above zero */
bool gcb_draws_by_norm(const struct gcb_method *m); /* the L2 norm, not the largest magnitude */

#endif
