#ifndef TESTS_CONTRACT_LAX_EXCHANGE_H
#define TESTS_CONTRACT_LAX_EXCHANGE_H

#include "tests/contract/team.h"

/*
 * Exchanges with one of the defects that an exchange may have. They show that the checks of exchanges catch each defect.
 * Some defects are in a method, others in the functions of an exchange.
 */

/* Methods that the library does not have, by name: each can use allreduce. NULL: no such method. */
bool lax_method(struct gcb_method *out, const char *name);

enum lax_exchange_defect {
    LAX_EXCHANGE_NONE,
    LAX_EXCHANGE_UPDATE,  /* worker 1 gets another update */
    LAX_EXCHANGE_THREADS, /* the update depends on the number of threads */
    LAX_EXCHANGE_SUM,     /* adds up in another way, with other rounding */
    LAX_EXCHANGE_OWN,     /* says that everything arrived */
    LAX_EXCHANGE_MEMORY,  /* the memory takes the tensor twice */
    LAX_EXCHANGE_NAN,     /* a NaN counts as 0 */
    LAX_EXCHANGE_LEFT,    /* a step that was left goes on instead of a new one */
    LAX_EXCHANGE_DAMAGE,  /* after damage no step works */
};

/* The next exchanges that lax_exchange opens have this defect. */
extern enum lax_exchange_defect lax_exchange_defect;
extern const struct exchange_fns lax_exchange;

#endif
