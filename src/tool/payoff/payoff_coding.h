#ifndef SRC_TOOL_PAYOFF_PAYOFF_CODING_H
#define SRC_TOOL_PAYOFF_PAYOFF_CODING_H

#include "src/tool/payoff/payoff_load.h"

/* The times of coding in an exchange, from the times of a case of `bench`. */

/* What a worker computes in an exchange, at the bounds of the case's times; INFINITY: unknown. */
struct gcb_payoff_coding {
    double encode[GCB_BOUNDS]; /* seconds in which it encodes its messages */
    double sum[GCB_BOUNDS];    /* seconds in which it decodes what arrives, and adds up messages */
    double add[GCB_BOUNDS];    /* seconds in which it adds the values of an all-reduce */
};

/* An exchange: its gradient has `bytes` bytes as fp32, in `messages` messages. */
struct gcb_payoff_exchanged {
    struct gcb_method method;
    const char *algorithm; /* "library", "ring" or "doubling" */
    unsigned workers;
    double bytes, messages;
};

/* Have the methods the same codec and parameters of the codec? Memory and collective may differ. */
bool gcb_payoff_same_codec(const struct gcb_method *a, const struct gcb_method *b);

/* Computes the times by payoff's model of the collective and the algorithm (docs/payoff.md). `c` has the codec of the
 * method, and is one of `cases`. */
void gcb_payoff_coding(struct gcb_payoff_coding *out, const struct gcb_payoff_cases *cases,
                       const struct gcb_payoff_case *c, const struct gcb_payoff_exchanged *x);

#endif
