#ifndef SRC_TOOL_VERIFY_ERROR_RULES_H
#define SRC_TOOL_VERIFY_ERROR_RULES_H

#include "src/tool/run/promises.h"

/*
 * Error rules: how far each decoded element may be from the element that was encoded. A codec that rounds every
 * element by itself names its rule in `.error_rule` or `.error_rule_of` (src/lib/codec/codec.h). Each row of the table in
 * error_rules.c
 * is a rule. `gcbench verify`, the contract tests and the tests of the rules get everything from that row.
 *
 * A rule follows from the tensor and from the method's parameters. Only `range` reads its format from the message.
 */

/* The error that one element may have. */
struct gcb_element_error {
    double most; /* |error| is at most this, whatever is drawn */
    /* For drawn rules: with probability `up` the element is rounded up, by step * (1 - up); otherwise down, by step *
     * up. If step is 0, nothing is drawn, and the error is exactly `most`. */
    double step, up;
};
typedef void gcb_element_fn(void *ctx, uint64_t i, const struct gcb_element_error *e);

struct gcb_rule_input {
    const struct gcb_method *method;
    const float *x; /* count elements */
    uint64_t count;
    const void *message; /* length bytes; drawn rules do not read it */
    size_t length;
};

struct gcb_error_rule {
    const char *name;           /* as a codec names it */
    struct gcb_promise promise; /* binds (applies to) the methods that name this rule */
    bool drawn;                 /* every element is rounded stochastically */
    /* Calls `each` for every element in order. False: the message has no scale. */
    bool (*visit)(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx);
    /* For drawn rules: the largest mean of the squared error that the method's paper allows. NULL: the paper gives the
     * mean itself, which follows from `visit`. */
    double (*largest_mean)(const struct gcb_rule_input *in);
};

/* The rows in order; NULL past the end. */
const struct gcb_error_rule *gcb_error_rule_at(size_t i);
/* The rule that the method's codec names for these values, or NULL. */
const struct gcb_error_rule *gcb_error_rule_of(const struct gcb_method *m);

/* What float32 arithmetic may add to the error of element x of a drawn rule. */
double gcb_element_slack(float x, const struct gcb_element_error *e);

#endif
