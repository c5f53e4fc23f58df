#ifndef SRC_LIB_EXCHANGE_LOCAL_H
#define SRC_LIB_EXCHANGE_LOCAL_H

#include "src/lib/exchange/exchange.h"

/*
 * Exchanges between workers that are all in this process: replays and tests. Zero-initialise, set
 * `workers` and the callbacks, and release with gcb_local_fini.
 */
struct gcb_local {
    unsigned workers;
    /*
     * Called after each round; may be NULL. link_bytes: bytes that all workers together put on
     * their links, if the messages travel in the best known way: an all-gather sends each worker's
     * bytes n - 1 times, an all-to-all sends each part once, an all-reduce of b bytes per worker
     * sends 2 (n - 1) b.
     */
    void (*observe)(void *ctx, unsigned round, const struct gcb_round *sent, uint64_t link_bytes);
    /* Combines the workers' values in an all-reduce, into those of worker 0. NULL: in the order of
     * workers. */
    void (*combine)(void *ctx, unsigned round, const struct gcb_round *sent, void *values);
    void *ctx;
    /* If not NULL: a clock in seconds, with which the rounds of worker 0 are timed; `times` has
     * room for time_count rounds. Later rounds are not timed. */
    double (*clock)(void);
    struct gcb_local_times {
        double send, receive; /* gcb_exchange_next, and all calls of gcb_exchange_receive */
        double combine; /* of a GCB_ROUND_REDUCE: to combine one worker's values with another's */
    } * times;
    unsigned time_count;
    struct gcb_round *sent; /* of each worker in the current round */
    /* what they send, copied: a worker's own is valid until its first receive only */
    uint8_t *bytes;
    size_t capacity;
};

/* Runs all rounds of a step; e[i] is worker i. Call it after gcb_exchange_begin and before
 * gcb_exchange_conclude of all workers. */
int gcb_local_run(struct gcb_local *l, struct gcb_exchange *const *e, struct gcb_diag *diag);
void gcb_local_fini(struct gcb_local *l);

#endif
