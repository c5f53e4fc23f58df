#ifndef SRC_TOOL_EXCHANGE_CHECK_H
#define SRC_TOOL_EXCHANGE_CHECK_H

#include "src/lib/exchange/local.h"
#include "src/tool/exchange/net.h"

/*
 * Compares an exchange over a network with a serial one: rank 0 runs the exchanges of all workers
 * in its own process. The updates must have the same bits.
 *
 * All-reduces of floats are an exception, because their algorithm chooses the order of the
 * additions. The values that arrived must lie within the rounding errors of any order:
 * |arrived - sum| <= 2 (n - 1) u sum|v| for the values v of n workers, where u is half the distance
 * from 1 to the next number (Higham: "Accuracy and stability of numerical algorithms", 2002,
 * section 4.2). If they do, the serial exchange uses the values that arrived in place of its own
 * sum. If not, it uses its own sum, so that the updates differ.
 */
struct gcb_check {
    struct gcb_check_round {
        void *combined; /* copy of the values of a GCB_ROUND_REDUCE; NULL in other rounds */
        size_t bytes;
    } * rounds; /* the recorded rounds of an exchange, in order */
    size_t count, cap;
    unsigned workers;
};

/* Appends a round. Copies `arrived` if the round is a GCB_ROUND_REDUCE. */
void gcb_check_record(struct gcb_check *c, const struct gcb_round *round,
                      const struct gcb_arrival *arrived);
/* Removes all recorded rounds, so that the next exchange can be recorded. */
void gcb_check_clear(struct gcb_check *c);
void gcb_check_fini(struct gcb_check *c);

/* Runs all rounds of `exchanges`, one exchange for each of c->workers workers. The exchanges must
 * have begun (gcb_exchange_begin). Returns 0, or the error of an exchange. */
int gcb_check_serial(struct gcb_check *c, struct gcb_exchange *const *exchanges,
                     struct gcb_diag *diag);

#endif
