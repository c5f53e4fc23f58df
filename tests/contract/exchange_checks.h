#ifndef TESTS_CONTRACT_EXCHANGE_CHECKS_H
#define TESTS_CONTRACT_EXCHANGE_CHECKS_H

#include "tests/contract/team.h"

/* What the contract asks of exchanges, as a list of named checks. */

enum exchange_cost {
    EXCHANGE_ALWAYS, /* for all tensors, even those whose sums overflow */
    EXCHANGE_USUAL,  /* for tensors whose sums can be compared */
    EXCHANGE_SLOW,   /* the same, but many steps: for a few tensors only */
};

struct exchange_check {
    const char *name;
    bool (*holds)(const struct team_case *c);
    enum exchange_cost cost;
};

extern const struct exchange_check exchange_checks[]; /* a row without a name ends them */

#endif
