#ifndef SRC_LIB_EXCHANGE_LOCAL_H
#define SRC_LIB_EXCHANGE_LOCAL_H

#include "src/lib/exchange/exchange.h"

/*
 * Exchanges between workers that are all in this process, for replays and tests. The caller zeroes
 * the struct, sets `workers` and the callbacks, and calls gcb_local_fini in the end.
 */
struct gcb_local {
    unsigned workers;
    /*
     * Called after each round; may be NULL. sent[w] is what worker w sent. link_bytes is the number
     * of bytes that n workers would send over a network by the best known algorithm: an all-gather
     * sends each worker's bytes n - 1 times, an all-to-all and a shift send each part once, an
     * all-reduce of b bytes per worker sends 2 (n - 1) b.
     */
    void (*observe)(void *ctx, unsigned round, const struct gcb_round *sent, uint64_t link_bytes);
    /* Combines all workers' values in an all-reduce. `values` has those of worker 0 and takes the
     * result. NULL: values are combined in the order of the workers. */
    void (*combine)(void *ctx, unsigned round, const struct gcb_round *sent, void *values);
    void *ctx; /* passed to `observe` and `combine` */
    /* Returns the time in seconds. NULL: nothing is timed, and `times` is not used. */
    double (*clock)(void);
    /* the caller's array: seconds that worker 0 takes, in each of the first time_count rounds */
    struct gcb_local_times {
        double send, receive; /* in gcb_exchange_next; in all calls of gcb_exchange_receive */
        double combine; /* GCB_ROUND_REDUCE: to combine two workers' values, on average; else 0 */
    } * times;
    unsigned time_count;

    /* private */
    struct gcb_round *sent; /* what each worker sends in the current round; `data` is in `bytes` */
    uint8_t *bytes;         /* copies; a worker's own data is valid only until its first receive */
    size_t capacity;        /* bytes allocated for `bytes` */
};

/* Runs all rounds of a step; e[w] is worker w. The caller has called gcb_exchange_begin for all
 * workers, and ends the step itself (gcb_exchange_finish). Returns 0, GCB_E_NOMEM, GCB_E_INTERNAL
 * if the workers' rounds differ, or the first error of a worker. */
int gcb_local_run(struct gcb_local *l, struct gcb_exchange *const *e, struct gcb_diag *diag);
/* Returns the bytes of a SCATTER or GATHER that travel between nodes. sent[w] is what worker w
 * sent, as in `observe`; node i has the `node` workers from i * node on. */
uint64_t gcb_local_between(const struct gcb_round *sent, unsigned workers, unsigned node);
/* Frees the memory and zeroes the struct. */
void gcb_local_fini(struct gcb_local *l);

#endif
